// Idle makes 10,000 blocks that nothing needs and 1,000 that are kept, and waits for the end of its standard
// input: no goroutine runs before. Nothing calls runtime.GC, which the linker leaves out. It is compiled by
// Go 1.18 and later.
package main

import (
	"fmt"
	"os"
)

type node struct {
	next *node
	pad  [12]int
}

//go:noinline
func litter(n int) (first *node) {
	for i := 0; i < n; i++ {
		first = &node{next: first}
	}
	return first
}

//go:noinline
func sum(n *node) (count int) {
	for ; n != nil; n = n.next {
		count++
	}
	return count
}

func main() {
	kept := litter(1000)
	litter(10_000)
	fmt.Fprintln(os.Stderr, "waits")
	os.Stdin.Read(make([]byte, 1))
	fmt.Println("done", sum(kept))
}
