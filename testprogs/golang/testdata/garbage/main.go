// Garbage makes 10,000 blocks that nothing needs and calls mark, again and again, until its standard
// input ends. It collects none by itself. With IDLE=1 it makes them once, and waits for the end. It is compiled by Go 1.18 and later.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

type node struct {
	next *node
	pad  [12]int
}

var (
	ended int32
	marks int
)

//go:noinline
func litter(n int) (first *node) {
	for i := 0; i < n; i++ {
		first = &node{next: first}
	}
	return first
}

//go:noinline
func mark() { marks++ }

//go:noinline
func sum(n *node) (count int) {
	for ; n != nil; n = n.next {
		count++
	}
	return count
}

func main() {
	if os.Getenv("IDLE") != "" {
		kept := litter(1000)
		litter(10_000)
		fmt.Fprintln(os.Stderr, "waits")
		os.Stdin.Read(make([]byte, 1))
		fmt.Println("done", sum(kept))
		return
	}
	debug.SetGCPercent(-1)
	go func() {
		os.Stdin.Read(make([]byte, 1))
		atomic.StoreInt32(&ended, 1)
	}()
	kept := litter(1000)
	for i := 0; atomic.LoadInt32(&ended) == 0; i++ {
		if i < 1000 { // at most a gigabyte
			litter(10_000)
		}
		mark()
		time.Sleep(50 * time.Millisecond) // a program that does little, as a server does
	}
	if marks < 0 {
		runtime.GC() // else the linker leaves it out
	}
	fmt.Println("done", sum(kept))
}
