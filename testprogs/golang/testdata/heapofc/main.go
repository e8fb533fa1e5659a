// Heapofc has blocks of C that blocks of Go hold, and the other way round, and says how each is held.
package main

/*
#include <stdlib.h>
#include <string.h>

void **cell;

static void keep(void *p) { cell = malloc(64); cell[1] = p; }
static void *made(int n) { return malloc(n); }
static void *lost(void) { return memset(malloc(1000), 1, 1000); }
*/
import "C"

import (
	"runtime/debug"
	"syscall"
	"unsafe"
)

type node struct {
	n [4]int
	p *[4]int
}

type holder struct {
	c unsafe.Pointer
	u uintptr
}

var held *holder

//go:noinline
func newHolder(c unsafe.Pointer, u uintptr) *holder { return &holder{c, u} }

func say(name string, p unsafe.Pointer, how string) { println("block", name, p, how, 0) }

func build() {
	n := &node{p: new([4]int)}
	C.keep(unsafe.Pointer(uintptr(unsafe.Pointer(n))))
	say("of C alone", unsafe.Pointer(n), "held-by-C-alone")
	say("behind it", unsafe.Pointer(n.p), "held-by-C-alone")
	held = newHolder(C.made(100), uintptr(C.made(200)))
	say("by a pointer", held.c, "still-reachable")
	say("by a number", unsafe.Pointer(held.u), "still-reachable")
	say("by garbage", newHolder(C.made(300), 0).c, "still-reachable")
	say("lost", C.lost(), "definitely-lost")
}

func main() {
	debug.SetGCPercent(-1)
	done := make(chan bool)
	go func() { build(); done <- true }()
	<-done
	println("live", 0, 0)
	syscall.Read(0, make([]byte, 1))
}
