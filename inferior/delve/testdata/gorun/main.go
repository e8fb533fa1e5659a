// Command gorun has goroutines to look at.
package main

import "os"

//go:noinline
func leaf(n int) int {
	n++
	n *= 2
	return n
}

//go:noinline
func middle(n int) int {
	return leaf(n) + 1
}

func main() {
	block := make(chan int)
	for range 5 {
		go func() { <-block }()
	}
	done := make(chan int)
	go func() { done <- middle(3) }()
	if <-done != 9 {
		os.Exit(1)
	}
	os.Exit(7)
}
