// Heap makes blocks of all kinds, and tells of each how it is held, how many words point to it,
// and which block or variable one of these is in. It is compiled by Go 1.18 and later.
//
// Lines of what it says, on standard error: "block NAME ADDRESS HELD WORDS", "edge FROM TO" with
// addresses, "global VARIABLE TO", "member ADDRESS NAME TYPE", and at last "live BLOCKS BYTES" as the runtime counts.
package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"unsafe"
)

type leaf struct {
	n    int
	name *int
}

type node struct {
	next  *node
	leaf  *leaf
	pad   [3]int
	bytes []byte
}

type wide struct { // with a header before it since Go 1.22
	pad  [100]int
	last *leaf
}

type flat [8]byte

type pair struct {
	n int
	p *leaf
}

type shape interface{ area() int }

func (l *leaf) area() int { return l.n }

var (
	chain    *node
	table    map[int]*leaf
	pointers []*leaf // 800 bytes
	pairs    []pair  // 64 KiB, alone in a span
	one      shape
	closure  func() int
	channel  chan *leaf
	unsafely unsafe.Pointer
	text     string
	tiny     [64]*flat
	broad    *wide
	inside   *int // into a leaf
	hidden   uintptr
	number   []uintptr // without pointers
	due      = make(chan bool)
	stats    runtime.MemStats
	array    [3]struct {
		n int
		p *leaf
	}
)

//go:noinline
func say(name string, p unsafe.Pointer, held string, words int) {
	println("block", name, p, held, words)
}

//go:noinline
func edge(from, to unsafe.Pointer) { println("edge", from, to) }

//go:noinline
func global(name string, to unsafe.Pointer) { println("global", name, to) }

// member says that a block is pointed to by a member of another one, and of which type it is.
//
//go:noinline
func member(to unsafe.Pointer, name, typ string) { println("member", to, name, typ) }

//go:noinline
func newLeaf(n int) *leaf { return &leaf{n: n, name: new(int)} }

//go:noinline
func newNode(next *node, l *leaf) *node { return &node{next: next, leaf: l} }

//go:noinline
func newWide(l *leaf) *wide { return &wide{last: l} }

func at(l *leaf) unsafe.Pointer { return unsafe.Pointer(l) }

// build makes what is held; its stack is gone when it is looked at.
func build() {
	for i := 0; i < 12; i++ {
		chain = &node{next: chain, leaf: newLeaf(i), bytes: make([]byte, 2000)}
	}
	say("chain", unsafe.Pointer(chain), "reachable", 1)
	global("main.chain", unsafe.Pointer(chain))
	for n := chain; n.next != nil; n = n.next {
		say("node", unsafe.Pointer(n.next), "reachable", 1)
		edge(unsafe.Pointer(n), unsafe.Pointer(n.next))
		edge(unsafe.Pointer(n), at(n.leaf))
		edge(unsafe.Pointer(n), unsafe.Pointer(&n.bytes[0]))
		edge(at(n.leaf), unsafe.Pointer(n.leaf.name))
	}
	member(unsafe.Pointer(chain), "-", "main.node")
	member(unsafe.Pointer(chain.next), ".next", "main.node")
	member(at(chain.leaf), ".leaf", "main.leaf")
	member(unsafe.Pointer(&chain.bytes[0]), ".bytes", "[]uint8")
	table = map[int]*leaf{}
	for i := 0; i < 1000; i++ {
		table[i] = newLeaf(i)
	}
	for i := 0; i < 1000; i += 100 {
		say("mapped", at(table[i]), "reachable", 0) // tables that it had before point there, too
	}
	pointers = make([]*leaf, 100)
	for i := range pointers {
		pointers[i] = newLeaf(i)
		if i%20 > 0 {
			continue
		}
		say("pointed", at(pointers[i]), "reachable", 1)
		edge(unsafe.Pointer(&pointers[0]), at(pointers[i]))
	}
	member(unsafe.Pointer(&pointers[0]), "-", "[]*main.leaf")
	member(at(pointers[20]), "[20]", "main.leaf")
	global("main.pointers", unsafe.Pointer(&pointers[0]))
	pairs = make([]pair, 4096)
	for i := 0; i < len(pairs); i += 500 {
		pairs[i].p = newLeaf(i)
		say("paired", at(pairs[i].p), "reachable", 1)
		edge(unsafe.Pointer(&pairs[0]), at(pairs[i].p))
	}
	member(unsafe.Pointer(&pairs[0]), "-", "[]main.pair")
	member(at(pairs[500].p), "[500].p", "main.leaf")
	l := newLeaf(1)
	one = l
	say("interface", at(l), "reachable", 1)
	global("main.one", at(l))
	member(at(l), "-", "main.leaf")
	l = newLeaf(2)
	captured := l
	closure = func() int { captured = captured.next(); return captured.n }
	say("captured", at(l), "reachable", 1)
	channel = make(chan *leaf, 4)
	l = newLeaf(3)
	channel <- l
	say("sent", at(l), "reachable", 1)
	l = newLeaf(4)
	unsafely = at(l)
	say("unsafe", at(l), "reachable", 1)
	global("main.unsafely", at(l))
	b := make([]byte, 3000)
	for i := range b {
		b[i] = 'x'
	}
	text = string(b)
	global("main.text", *(*unsafe.Pointer)(unsafe.Pointer(&text)))
	for i := range tiny {
		tiny[i] = new(flat)
	}
	say("tiny", unsafe.Pointer(tiny[10]), "reachable", 0)
	broad = newWide(newLeaf(5))
	say("broad", unsafe.Pointer(broad), "reachable", 1)
	say("last", at(broad.last), "reachable", 1)
	edge(unsafe.Pointer(broad), at(broad.last))
	member(unsafe.Pointer(broad), "-", "main.wide")
	member(at(broad.last), ".last", "main.leaf")
	l = newLeaf(6)
	inside = &l.n
	inside = (*int)(unsafe.Pointer(&l.name)) // into it
	say("inside", at(l), "reachable", 1)
	array[1].p = newLeaf(7)
	say("array", at(array[1].p), "reachable", 1)
	global("main.array", at(array[1].p))
	f := &node{leaf: newLeaf(8)}
	say("finalized", unsafe.Pointer(f), "reachable", 1)
	say("of finalized", at(f.leaf), "reachable", 1)
	runtime.SetFinalizer(f, func(*node) { due <- true })
}

func (l *leaf) next() *leaf { return l }

// lose makes what nothing holds.
func lose() {
	n := newNode(newNode(nil, newLeaf(9)), nil)
	say("lost", unsafe.Pointer(n), "garbage", 0)
	say("next to it", unsafe.Pointer(n.next), "garbage", 1)
	edge(unsafe.Pointer(n), unsafe.Pointer(n.next))
	l := newLeaf(10)
	hidden = uintptr(at(l))
	say("hidden in a number", at(l), "garbage", 0)
	number = make([]uintptr, 10)
	l = newLeaf(11)
	number[3] = uintptr(at(l))
	say("hidden in numbers", at(l), "garbage", 0)
	w := newWide(newLeaf(12))
	w.pad[7] = int(uintptr(at(newLeaf(13))))
	say("lost and wide", unsafe.Pointer(w), "garbage", 0)
	say("in wide", at(w.last), "garbage", 1)
	say("in a number of wide", unsafe.Pointer(uintptr(w.pad[7])), "garbage", 0)
}

//go:noinline
func wait(ready chan bool) {
	l := newLeaf(14)
	println("stack", at(l))
	ready <- true
	<-due
	println(l.n)
}

// start has the runtime start threads. While main waits for its input the runtime may want another one,
// for which it allocates; it takes one of these.
func start(done chan bool) {
	const threads = 8
	for i := 0; i < threads; i++ {
		go func() {
			syscall.Nanosleep(&syscall.Timespec{Nsec: 20e6}, nil)
			done <- true
		}()
	}
	for i := 0; i < threads; i++ {
		<-done
	}
}

func main() {
	debug.SetGCPercent(-1)
	done := make(chan bool)
	start(done)
	runtime.GC()
	go func() { build(); done <- true }()
	<-done
	go wait(done)
	<-done
	go func() { lose(); done <- true }()
	<-done
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/frees:objects"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/frees:bytes"}}
	b := make([]byte, 1)
	metrics.Read(s)              // the first time it allocates
	runtime.ReadMemStats(&stats) // which has what is allocated since counted
	metrics.Read(s)
	println("live", s[0].Value.Uint64()-s[1].Value.Uint64(), s[2].Value.Uint64()-s[3].Value.Uint64())
	syscall.Read(0, b)
}
