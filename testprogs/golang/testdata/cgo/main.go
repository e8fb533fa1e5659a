// Calls of Go and C in many orders, also on threads that C has made, each of which ends in an
// allocation of C or of Go. Then it says of each, by its size, which functions led there, from
// the innermost on.
//
//	cgo [ROUNDS]
//
// With ROUNDS it does so again and again in several goroutines, while garbage is collected,
// stacks move and signals arrive, and says only how many allocations there were of C and of Go.
package main

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "chain.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	first  = 100000 // the size of the first chain's block
	chains = 60
)

var (
	names = [...]*C.char{C.CString("main.go_one"), C.CString("main.go_two"), C.CString("main.inner"), C.CString("main.work"), C.CString("go_one"), C.CString("go_two")}
	sink  atomic.Value
)

//export go_one
//go:noinline
func go_one(c *C.struct_chain) {
	called(c, 4)
	next(c, 0)
}

//export go_two
//go:noinline
func go_two(c *C.struct_chain) {
	called(c, 5)
	grow(int(c.size) % 20) // the stack moves, and with it the callers' frames
	next(c, 1)
}

// called notes the function of C that calls an exported function of that name.
func called(c *C.struct_chain, name int) {
	c.names[c.count] = names[name]
	c.count++
}

//go:noinline
func inner(c *C.struct_chain) {
	next(c, 2)
}

// next calls the function that comes next, or allocates.
func next(c *C.struct_chain, name int) {
	c.names[c.count] = names[name]
	c.count++
	c.left--
	if c.left < 0 {
		sink.Store(make([]byte, c.size))
		return
	}
	way := c.path & 3
	c.path >>= 2
	switch way {
	case 0:
		C.c_one(c)
	case 1:
		C.c_two(c)
	default:
		inner(c)
	}
}

//go:noinline
func grow(n int) byte {
	var room [2048]byte
	if n == 0 {
		return room[0]
	}
	room[n] = grow(n - 1)
	return room[n] + room[0]
}

// chain makes one in a goroutine of its own, or on a thread of C's.
func work(c *C.struct_chain, done chan<- bool) {
	next(c, 3)
	done <- true
}

func play(n int) *C.struct_chain {
	c := (*C.struct_chain)(C.calloc(1, C.size_t(unsafe.Sizeof(C.struct_chain{}))))
	c.size = C.int(first + n)
	c.left = C.int(1 + n%9)
	c.path = C.uint64_t(uint64(n) * 0x9e3779b97f4a7c15 >> 7)
	if n%5 == 4 {
		C.c_thread(c)
		return c
	}
	done := make(chan bool)
	go work(c, done)
	<-done
	return c
}

func main() {
	if len(os.Args) > 1 {
		rounds, _ := strconv.Atoi(os.Args[1])
		stress(rounds)
		return
	}
	go_main()
}

// go_main is main of the program as a library.
//
//export go_main
func go_main() {
	for n := 0; n < chains; n++ {
		c := play(n)
		var all []string
		for i := int(c.count) - 1; i >= 0; i-- {
			all = append(all, C.GoString(c.names[i]))
		}
		fmt.Println(c.size, strings.Join(all, " "))
		C.free(unsafe.Pointer(c))
	}
}

func stress(rounds int) {
	if f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		pprof.StartCPUProfile(f) // SIGPROF
		defer pprof.StopCPUProfile()
	}
	var stop, inC, inGo int32
	go func() {
		for atomic.LoadInt32(&stop) == 0 {
			runtime.GC()
		}
	}()
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for r := 0; r < rounds; r++ {
				for n := 0; n < chains; n++ {
					c := play(n)
					if last := C.GoString(c.names[c.count-1]); strings.HasPrefix(last, "c_") {
						atomic.AddInt32(&inC, 1)
					} else {
						atomic.AddInt32(&inGo, 1)
					}
					C.free(unsafe.Pointer(c))
				}
			}
		}()
	}
	all.Wait()
	atomic.StoreInt32(&stop, 1)
	fmt.Println("c", inC, "go", inGo)
}
