// goalloc allocates N blocks of 56 bytes, with 8 frames on the stack, and prints what one
// costs: thread_ns is the CPU time of its thread, in the best of ten parts. Then it collects a heap of a
// million blocks, of which every other one is dead each time, and prints the CPU time of
// the process for one collection, gc_us.
//
// MEMPROFILERATE is that of its own heap profile, 0 without one.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

type node struct {
	next  *node
	words [6]int
}

var (
	kept  *node
	table = make([]*node, 1<<20)
)

//go:noinline
func deep(frames, n int) {
	if frames > 0 {
		deep(frames-1, n)
		return
	}
	for i := 0; i < n; i++ {
		kept = &node{}
	}
}

// cpu is the CPU time that RUSAGE_SELF or RUSAGE_THREAD has used, in ns.
func cpu(of int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(of, &u); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	runtime.MemProfileRate, _ = strconv.Atoi(os.Getenv("MEMPROFILERATE"))
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.LockOSThread()
	const thread = 1 // RUSAGE_THREAD
	best := math.Inf(1)
	for i := 0; i < 10; i++ {
		begin := cpu(thread)
		deep(4, n/10) // newobject, five of deep, main, runtime.main
		best = math.Min(best, (cpu(thread)-begin)/float64(n/10))
	}
	fmt.Printf("thread_ns %.2f\n", best)
	best = math.Inf(1)
	for i := 0; i < 5 && n >= 1e6; i++ {
		for k := range table {
			if k%2 == i%2 || i == 0 {
				table[k] = &node{}
			}
		}
		begin := cpu(syscall.RUSAGE_SELF)
		runtime.GC()
		best = math.Min(best, cpu(syscall.RUSAGE_SELF)-begin)
	}
	fmt.Printf("gc_us %.1f\n", best/1000)
	runtime.MemProfile(nil, true) // without a call of it the linker takes the profile out
}
