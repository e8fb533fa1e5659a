// A library for C whose function makes blocks that the collector frees.
package main

import "C"

var kept [][]byte

//export Work
func Work(n int) int {
	for range make([]struct{}, n) {
		if kept = append(kept, make([]byte, 5000)); len(kept) > 100 {
			kept = nil
		}
	}
	return len(kept)
}

func main() {}
