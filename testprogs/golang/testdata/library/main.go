// A library for C, or a plugin, whose function makes blocks that the collector frees.
package main

import "C"

import "runtime"

var kept [][]byte

//export Work
func Work(n int) int {
	for range make([]struct{}, n) {
		if kept = append(kept, make([]byte, 5000)); len(kept) > 100 {
			kept = nil
		}
	}
	runtime.GC()
	runtime.GC() // the first one's garbage is swept
	return len(kept)
}

func main() {}
