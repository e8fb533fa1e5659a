// A Go program: .debug_frame by another producer.
package main

func main() { println("hello") }
