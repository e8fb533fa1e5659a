// A library for C, or a plugin, whose function makes blocks that the collector frees.
package main

import "C"

import "runtime"

// A Plugged has the runtime's descriptor of its type in the library.
type Plugged struct {
	next *Plugged
	pad  [7]int
}

var (
	kept    [][]byte
	plugged *Plugged
)

//export Work
func Work(n int) int {
	for range make([]struct{}, n) {
		if kept = append(kept, make([]byte, 5000)); len(kept) > 100 {
			kept = nil
		}
	}
	for range [10]int{} {
		plugged = &Plugged{next: plugged}
	}
	runtime.GC()
	runtime.GC() // the first one's garbage is swept
	return len(kept)
}

func main() {}
