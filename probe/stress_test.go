package probe

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"

	"golang.org/x/sys/unix"
)

// A mill is code that calls malloc and free by turns, on a thread and a stack of
// its own.
type mill struct {
	run func()
	at  addr.Run
}

// ground is where mills have what they share.
type ground struct {
	*lab
	malloc, free addr.Run
}

// What calls a mill: frames of one size, the outermost with code in the first bytes of
// its module.
const (
	millDepth = 16
	millFrame = 48
	rootSize  = 64
)

// newGround gives malloc and free originals that do their work: each block is
// one that never was.
func newGround(t testing.TB, request Request) *ground {
	l := newLab(t, request)
	g := &ground{lab: l}
	const room = 64
	code := labAt + labIsland + islandSize - 2*room
	next := addr.Run(labAt + labStacks) // not beside code, or each store would stall the processor
	w := &writer{at: code}
	w.bytes(0xb8, 16, 0, 0, 0)            // mov $16,%eax
	w.bytes(0xf0, 0x48, 0x0f, 0xc1, 0x05) // lock xadd %rax,next(%rip)
	w.rel32(next)
	w.bytes(0xc3)
	copy(l.at(code), w.code)
	l.poke(next, 0x5000)
	l.at(code + room)[0] = 0xc3
	l.site("malloc").relocated, l.site("free").relocated = code, code+room
	l.restart(request)
	g.malloc, g.free = l.entry[l.site("malloc").index], l.entry[l.site("free").index]
	low := addr.Run(labAt + labCore - moduleSize)
	p, err := l.tables.place(&cfi.Table{Low: addr.File(low), Offs: []uint32{0, rootSize},
		IDs: []uint16{l.tables.rules.ID(cfi.Rule(cfi.Root)), l.tables.rules.ID(cfi.NewRule(cfi.SP, millFrame, 0, 0, 0))}}, addr.File(labAt+labCore))
	if err != nil {
		t.Fatal(err)
	}
	l.tables.mods = append(l.tables.mods, tableOf{module: inferior.Module{Low: low, High: labAt + labCore}, placed: p})
	l.publish()
	return g
}

// onlyKey is the key of the only thread that has made calls.
func (g *ground) onlyKey() (key uint64) {
	for _, slot := range g.shared.slots() {
		key |= binary.LittleEndian.Uint64(slot[slKey:])
	}
	return key
}

// newMill makes one that does n pairs each time it runs. It is the i-th.
func (g *ground) newMill(i int, n uint32) *mill {
	const size = 256
	at := labAt + labCore - addr.Run(i+1)*size
	sp := labAt + labFar - addr.Run(i+1)*stackSize - (millDepth+1)*millFrame
	for k := range addr.Run(millDepth) {
		g.poke(sp+(k+1)*millFrame-8, uint64(labAt+labCore-moduleSize+rootSize+16*k))
	}
	g.poke(sp+millDepth*millFrame-8, uint64(labAt+labCore-moduleSize+1))
	w := &writer{at: at}
	w.bytes(0x55, 0x53, 0x41, 0x56, 0x41, 0x57) // push %rbp, %rbx, %r14, %r15
	w.bytes(0x49, 0x89, 0xe7)                   // mov %rsp,%r15
	w.bytes(0x48, 0xbc)                         // mov $sp,%rsp
	w.imm64(uint64(sp))
	w.bytes(0x31, 0xed, 0xbb) // xor %ebp,%ebp; mov $n,%ebx
	w.imm32(n)
	again := w.here()
	w.bytes(0xbf, 24, 0, 0, 0) // mov $24,%edi
	w.call(g.malloc)
	w.bytes(0x48, 0x89, 0xc7) // mov %rax,%rdi
	w.call(g.free)
	w.bytes(0xff, 0xcb, 0x0f, 0x85) // dec %ebx; jnz again
	w.rel32(again)
	w.bytes(0x4c, 0x89, 0xfc)                         // mov %r15,%rsp
	w.bytes(0x41, 0x5f, 0x41, 0x5e, 0x5b, 0x5d, 0xc3) // pop them; ret
	if w.errs != nil || len(w.code) > size {
		g.t.Fatal(len(w.code), w.errs)
	}
	copy(g.at(at), w.code)
	m := &mill{at: at}
	closure := &m.at // a func value points to a word with the address of its code
	m.run = *(*func())(unsafe.Pointer(&closure))
	return m
}

// work runs mills, each on an OS thread of its own, and tells the TIDs. No
// thread ends before all have done their work, because nobody notices here. A
// mill that waits for the consumer keeps its processor from Go, so that there
// have to be more of them.
func (g *ground) work(threads, rounds int, pairs uint32) []int {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads + 2))
	var all, done sync.WaitGroup
	tids := make([]int, threads)
	done.Add(threads)
	for i := range threads {
		m := g.newMill(i, pairs)
		all.Go(func() {
			runtime.LockOSThread()
			tids[i] = unix.Gettid()
			for range rounds {
				m.run()
			}
			done.Done()
			done.Wait()
		})
	}
	all.Wait()
	return tids
}

// A counter is a Sink that checks what each thread's mill does.
type counter struct {
	threads map[int32]*millCount
	live    uint64
	stacks  int
	wrong   int
}

type millCount struct {
	events, last uint64
	noStack      uint64
}

func (c *counter) Stack(capture.Stack) capture.StackID {
	c.stacks++
	return capture.StackID(c.stacks)
}

func (c *counter) Python([]PythonCall, bool) PythonID { return 0 }

func (c *counter) PythonCode(uint64, []PythonPiece) bool { return false }

func (c *counter) WithPython(of capture.StackID, _ PythonID) capture.StackID { return of }

func (c *counter) Batch(events []capture.Event, _ []*breakpoints.Function) {
	for i := range events {
		c.event(&events[i])
	}
}

func (c *counter) event(e *capture.Event) {
	th := c.threads[e.TID]
	if th == nil {
		th = &millCount{}
		c.threads[e.TID] = th
	}
	free := th.events%2 == 1
	if free != (e.Kind == capture.Free) || free && e.Addr != th.last || !free && (e.Size != 24 || e.Addr <= th.last) {
		c.wrong++
	}
	if e.Stack == 0 {
		th.noStack++
	}
	th.events, th.last = th.events+1, e.Addr
	c.live += 1 - 2*uint64(b2i(free))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *counter) Alloc(*inferior.Thread, breakpoints.Call) inferior.Action { return inferior.Resume }
func (c *counter) Wrong(*inferior.Thread, breakpoints.Call, Suspicion) inferior.Action {
	return inferior.Resume
}
func (c *counter) May(*inferior.Thread, breakpoints.Call) bool { return true }
func (c *counter) Failed(err error)                            { panic(err) }
func (c *counter) Heap() (bytes, blocks uint64)                { return 24 * c.live, c.live }

// Several threads record at once, and the consumer keeps up: no event is lost,
// none is torn, and those of a thread come in order.
func TestManyThreads(t *testing.T) {
	const threads, rounds, pairs = 4, 100, 1000
	g := newGround(t, Request{Record: true})
	c := &counter{threads: map[int32]*millCount{}}
	g.cfg.Sink = c
	g.stopped = false
	// The garbage collector cannot interrupt the mills, and must not stop the
	// consumer while they wait for it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	go g.reader.run()
	tids := g.work(threads, rounds, pairs)
	g.Stopped()
	g.reader.stop()
	if s := g.Stats(); s.Events != 2*threads*rounds*pairs || s.Lost+s.LostSt+s.Torn+s.NoThread != 0 {
		t.Errorf("%+v", s)
	}
	if g.Unreported() != 0 {
		t.Errorf("%d recorded events are counted as unreported", g.Unreported())
	}
	if c.wrong != 0 || c.live != 0 {
		t.Errorf("%d events are not what was done; %d blocks live", c.wrong, int64(c.live))
	}
	for _, tid := range tids {
		if th := c.threads[int32(tid)]; th == nil || th.events != 2*rounds*pairs || th.noStack != 0 {
			t.Errorf("thread %d: %+v", tid, th)
		}
	}
	if l := g.shared.word(hdLive).Load(); l != 0 && g.mode()&modeLive != 0 {
		t.Errorf("bound %d", l)
	}
	for i, b := range g.shared.ring {
		if b != 0 {
			t.Fatalf("ring[%#x] = %#x is left", i, b)
		}
	}
}

// Quick thunks of several threads count all calls.
func TestManyThreadsCount(t *testing.T) {
	const threads, rounds, pairs = 4, 20, 5000
	g := newGround(t, stopsAt(t, "alloc if size == 77", "free if addr == 1"))
	g.work(threads, rounds, pairs)
	if got, want := g.Unreported(), uint64(2*threads*rounds*pairs); got != want {
		t.Errorf("%d events counted, want %d", got, want)
	}
}

// A drain is a Sink that does nothing.
type drain struct{ counter }

func (drain) Batch([]capture.Event, []*breakpoints.Function) {}

// BenchmarkDrain is the consumer with a sink that does nothing: one event of
// malloc or free, of the first thread, with one of 60 stacks that are known.
func BenchmarkDrain(b *testing.B) {
	r := newRing(b)
	r.cfg.Sink = &drain{}
	const stacks = 60
	for n := range uint64(stacks) {
		r.stack(n, 1, endWhole, uint64(here)+n, uint64(there))
	}
	malloc := recAlloc | uint64(r.site("malloc").index)<<siteShift | 1<<tidShift
	free := recFree | uint64(r.site("free").index)<<siteShift | 1<<tidShift
	r.Drain()
	const batch = 10000
	b.ReportAllocs()
	for left := b.N; left > 0; left -= batch {
		b.StopTimer()
		const apart = 1000 // ticks: a third of a microsecond
		stamp := readTSC() - batch*apart
		for i := range uint64(min(left, batch) / 2) {
			r.put(malloc|i%stacks<<stackShift, stamp, 0x5000+16*i, 24)
			r.put(free|i*7%stacks<<stackShift, stamp+apart, 0x5000+16*i, 0)
			stamp += 2 * apart
		}
		b.StartTimer()
		r.Drain()
	}
}

// BenchmarkPair is what malloc and free cost in the inferior, beside their own
// work: with a condition that does not hold, with one that the core has to look
// at, and recorded.
func BenchmarkPair(b *testing.B) {
	for _, c := range []struct {
		name    string
		request Request
		python  int // calls of Python that the thread is in
	}{
		{"quick", stopsAt(b, "alloc if size == 77", "free if addr == 1"), 0},
		{"core", stopsAt(b, "alloc if size == 77 && live > 0", "free if addr == 1"), 0},
		{"recorded", Request{Record: true}, 0},
		{"wrong-frees", Request{Record: true, WrongFrees: true}, 0},
		{"python=1", Request{Record: true}, 1},
		{"python=6", Request{Record: true}, 6},
		{"python=20", Request{Record: true}, 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newGround(b, c.request)
			g.cfg.Sink = &counter{threads: map[int32]*millCount{}}
			const pairs = 1000
			m := g.newMill(0, pairs)
			m.run()
			if c.python > 0 {
				f, _ := newFakePython(g.lab, python311, &labThread{l: g.lab, key: g.onlyKey()})
				f.count()
				f.hold(true, false)
				f.run(c.python)
			}
			for left := b.N; left > 0; left -= pairs {
				m.run()
				b.StopTimer()
				g.Drain()
				b.StartTimer()
			}
		})
	}
	b.Run("none", func(b *testing.B) {
		g := newGround(b, Request{})
		g.malloc, g.free = g.site("malloc").relocated, g.site("free").relocated
		const pairs = 1000
		m := g.newMill(0, pairs)
		for left := b.N; left > 0; left -= pairs {
			m.run()
		}
	})
}
