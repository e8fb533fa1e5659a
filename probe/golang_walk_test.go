package probe

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A goMill is code that allocates as a goroutine does, on a stack of its own.
type goMill struct {
	*lab
	layout goruntime.Layout
	desc   addr.Run
	entry  addr.Run // behind mallocgc's last instructions but the return
	run    func()
	code   addr.Run
	low    addr.Run // the stack's bounds
	high   addr.Run
	ret    addr.Run // behind the call of mallocgc
	sp     addr.Run // where the caller of mallocgc has it
	fps    []addr.Run
}

const (
	goMillG     = labAt + labStacks // the goroutine, its m and the one of the system
	goMillM     = goMillG + 1024
	goMillG0    = goMillG + 2048
	goMillExit  = libcAt + 0x101
	goMillMaker = libcAt + 0x201 // behind the go statement
	goMillPC    = libcAt + 0x1001
	goMillFrame = 64
	goMillType  = libcAt + 0x80
	goMillID    = 17
)

// newGoMill makes one that allocates n blocks of a size each time it runs, with so many frames.
func newGoMill(t testing.TB, request Request, frames int, size uint64, n uint32) *goMill {
	l := newLab(t, request)
	m := &goMill{lab: l}
	var err error
	if m.layout, err = goruntime.Of("go1.26"); err != nil {
		t.Fatal(err)
	}
	s := l.addSite(catalogued(t, "runtime.mallocgc"), libcAt)
	s.relocated = l.siteTable.list[0].relocated
	l.aimSite(s)
	m.desc = s.desc
	for at, v := range map[int]uint64{
		stGoExit: uint64(goMillExit), stGoM: uint64(m.layout.GM), stGoID: uint64(m.layout.GoID), stGoPC: uint64(m.layout.GoPC), stGoCurG: uint64(m.layout.CurG),
	} {
		l.setState(at, v)
	}
	g, of := addr.Run(goMillG), func(offset int) addr.Run { return addr.Run(offset) }
	l.poke(g+of(m.layout.GM), uint64(goMillM))
	l.poke(g+of(m.layout.GoID), goMillID)
	l.poke(g+of(m.layout.GoPC), uint64(goMillMaker))
	l.poke(goMillM, uint64(goMillG0))
	l.poke(goMillM+of(m.layout.CurG), uint64(g))
	l.reader.golang.flat = map[uint64]bool{uint64(goMillType): true}

	l.ofRuntimes, l.goAlone = m.layout, true
	w := &writer{at: l.room(maxThunk)}
	l.goReturnThunk(w, s)
	copy(l.at(w.at), w.code)
	m.entry = w.at
	m.code = labAt + labCore - 256
	m.standAt(labAt+labStacks+2*stackSize, frames, size)
	m.write(n)
	return m
}

// standAt makes the stack, with its end at high. The innermost frame is mallocgc's caller's.
func (m *goMill) standAt(high addr.Run, frames int, size uint64) {
	m.low, m.high = high-stackSize, high
	m.poke(goMillG, uint64(m.low))
	m.poke(goMillG+8, uint64(high))
	m.sp = high - addr.Run(frames)*goMillFrame
	m.poke(m.sp, size)
	m.poke(m.sp+8, uint64(goMillType))
	m.fps = nil
	for k := range addr.Run(frames - 1) {
		fp := m.sp + 32 + k*goMillFrame
		m.fps = append(m.fps, fp)
		m.poke(fp, uint64(fp+goMillFrame))
		m.poke(fp+8, uint64(goMillPC+16*k))
	}
	last := m.fps[len(m.fps)-1]
	m.poke(last, 0)
	m.poke(last+8, uint64(goMillExit))
}

// write makes the code.
func (m *goMill) write(n uint32) {
	w := &writer{at: m.code}
	w.bytes(0x55, 0x53, 0x41, 0x56, 0x41, 0x57) // push %rbp, %rbx, %r14, %r15
	w.bytes(0x49, 0x89, 0xe7)                   // mov %rsp,%r15
	w.bytes(0x48, 0xbc)                         // mov $sp,%rsp
	w.imm64(uint64(m.sp))
	w.bytes(0x48, 0xbd) // mov $fp,%rbp
	w.imm64(uint64(m.fps[0]))
	w.bytes(0x49, 0xbe) // mov $g,%r14
	w.imm64(uint64(goMillG))
	w.bytes(0xbb) // mov $n,%ebx
	w.imm32(n)
	again := w.here()
	w.bytes(0xb8, 0, 0x50, 0, 0) // mov $0x5000,%eax
	w.call(m.entry)
	m.ret = w.here()
	w.bytes(0xff, 0xcb, 0x0f, 0x85) // dec %ebx; jnz again
	w.rel32(again)
	w.bytes(0x4c, 0x89, 0xfc)                         // mov %r15,%rsp
	w.bytes(0x41, 0x5f, 0x41, 0x5e, 0x5b, 0x5d, 0xc3) // pop them; ret
	if w.errs != nil || len(w.code) > 256 {
		m.t.Fatal(len(w.code), w.errs)
	}
	copy(m.at(w.at), w.code)
	closure := &m.code // a func value points to a word with the address of its code
	m.run = *(*func())(unsafe.Pointer(&closure))
}

// check has the mill allocate, and compares the event's stack and how often it was walked.
func (m *goMill) check(name string, walks uint64, goroutine uint64, makers ...addr.Run) {
	m.t.Helper()
	want := []addr.Run{m.ret}
	for _, fp := range m.fps {
		want = append(want, addr.Run(m.peek(fp+8)))
	}
	want = append(want, makers...)
	m.events = nil
	if n := m.walks(m.run); n != walks {
		m.t.Errorf("%s: walked %d times, want %d", name, n, walks)
	}
	m.Drain()
	if len(m.events) != 1 {
		m.t.Fatalf("%s: events %v", name, m.lines)
	}
	e := m.events[0]
	if st := m.stacks[e.Stack]; !slices.Equal(st.PCs, want) || st.Truncated != "" {
		m.t.Errorf("%s: stack\n got %v %s\nwant %v", name, st.PCs, st.Truncated, want)
	}
	if aux := capture.NewGoAux(goroutine, uint64(goMillType), uint64(libcAt)); e.Addr != 0x5000 || e.Size != 56 || e.Aux != uint64(aux) {
		m.t.Errorf("%s: %d bytes at %#x, aux %#x, want %#x", name, e.Size, e.Addr, e.Aux, aux)
	}
}

// Stacks of goroutines are remembered by how far they are to their ends: wherever these are.
func TestGoMemo(t *testing.T) {
	const frames, other, id = 8, libcAt + 0x3001, goMillID
	m := newGoMill(t, Request{Record: true}, frames, 56, 1)
	m.check("first", 1, id, goMillMaker)
	m.check("again", 0, id, goMillMaker)
	for k := range m.fps[:len(m.fps)-1] {
		at := m.fps[k] + 8
		pc := m.peek(at)
		m.poke(at, uint64(other))
		m.check(fmt.Sprintf("another caller of frame %d", k), 1, id, goMillMaker)
		m.check(fmt.Sprintf("another caller of frame %d, again", k), 0, id, goMillMaker)
		m.poke(at, pc)
		m.check("as before", 0, id, goMillMaker)
	}

	m.standAt(labAt+labStacks+5*stackSize, frames, 56)
	m.write(1)
	m.check("the stack has moved", 0, id, goMillMaker)
	m.standAt(labAt+labStacks+5*stackSize, frames-1, 56)
	m.write(1)
	m.check("a frame less", 1, id, goMillMaker)

	g := func(offset int) addr.Run { return goMillG + addr.Run(offset) }
	m.poke(g(m.layout.GoID), 1<<39)
	m.check("another goroutine", 0, 1<<39, goMillMaker)
	m.poke(g(m.layout.GoPC), uint64(other))
	m.check("made elsewhere", 1, 1<<39, other)
	m.check("made elsewhere, again", 0, 1<<39, other)
	m.poke(g(m.layout.GoPC), 0)
	m.poke(g(m.layout.GoID), 1)
	m.check("the first goroutine", 1, 1)
	m.check("the first goroutine, again", 0, 1)
	m.poke(g(m.layout.GoID), id)
	m.poke(g(m.layout.GoPC), uint64(goMillMaker))

	// The goroutine is the system's, and its outer frames are in the stack of the user's.
	user := func(offset int) addr.Run { return goMillG0 + addr.Run(offset) }
	m.poke(goMillM, uint64(goMillG))
	m.poke(goMillM+addr.Run(m.layout.CurG), uint64(goMillG0))
	m.poke(user(m.layout.GM), uint64(goMillM))
	m.poke(user(m.layout.GoID), 5)
	m.poke(user(m.layout.GoPC), uint64(other))
	m.poke(goMillG+8, uint64(m.fps[2]+16))
	m.poke(user(0), uint64(m.fps[2]+16))
	m.poke(user(8), uint64(m.high))
	m.check("on the system's stack", 1, 5, other)
	m.check("on the system's stack, again", 1, 5, other)
}

// A condition that does not hold is decided in the thunk, which counts the call if it has made
// a block; others go to the core.
func TestGoCondition(t *testing.T) {
	for _, c := range []struct {
		cond  string
		size  uint64
		stops uint64
		count uint64 // of all events: no stop takes the calls that the mill makes, so the core counts them
	}{
		{"alloc if size >= 1KiB", 56, 0, 1}, {"alloc if size >= 1KiB", 0, 0, 0}, {"alloc if size < 1KiB", 0, 0, 0}, {"alloc if addr == 0x6000", 56, 0, 1},
		{"alloc if size >= 50", 56, 1, 1}, {"alloc if addr == 0x5000", 56, 1, 1}, {"alloc", 56, 1, 1}, {"alloc if live > 0 && size >= 1KiB", 56, 0, 1},
	} {
		t.Run(fmt.Sprintf("%s,size=%d", c.cond, c.size), func(t *testing.T) {
			const stops = goMillM + 512
			m := newGoMill(t, stopsAt(t, c.cond), 4, c.size, 1)
			w := &writer{at: m.remote.core + addr.Run(m.core.marks[markOffer])}
			w.bytes(0x48, 0xb8) // mov $stops,%rax
			w.imm64(uint64(stops))
			w.bytes(0xff, 0x00, 0xc3) // incl (%rax); ret
			copy(m.at(w.at), w.code)
			m.run()
			if n := m.peek(stops); n != c.stops || m.Unreported() != c.count {
				t.Errorf("%d stops and %d events, want %d and %d", n, m.Unreported(), c.stops, c.count)
			}
		})
	}
}

// threadTime is the processor time that the thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// BenchmarkGo is what an allocation of Go costs in the inferior beside the runtime's own work,
// with a call and a return: of none there is nothing else, of a hook alone what leads to the core,
// which does nothing.
func BenchmarkGo(b *testing.B) {
	for _, c := range []struct {
		name    string
		request Request
		frames  int
		change  func(m *goMill)
	}{
		{"none", Request{Record: true}, 8, func(m *goMill) { m.at(m.entry)[0] = 0xc3 }},
		{"hook", Request{Record: true}, 8, func(m *goMill) { m.setState(stEnabled, 0) }},
		{"condition", stopsAt(b, "alloc if size == 77"), 8, nil},
		{"recorded=4", Request{Record: true}, 4, nil},
		{"recorded=8", Request{Record: true}, 8, nil},
		{"recorded=16", Request{Record: true}, 16, nil},
		{"recorded=40", Request{Record: true}, 40, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1000
			m := newGoMill(b, c.request, c.frames, 56, n)
			if c.change != nil {
				c.change(m)
			}
			m.cfg.Sink = &drain{}
			m.run()
			m.Drain()
			// The least is what a busy machine has not disturbed.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			least := time.Duration(math.MaxInt64)
			for left := b.N; left > 0; left -= n {
				begin := threadTime()
				m.run()
				least = min(least, threadTime()-begin)
				b.StopTimer()
				m.Drain()
				b.StartTimer()
			}
			b.ReportMetric(float64(least.Nanoseconds())/n, "least-ns/op")
		})
	}
}

// From a frame that is not above the one it has called the walk goes on by CFI, of which there is
// none here, and the stack is not remembered.
func TestGoWalkEnds(t *testing.T) {
	for name, next := range map[string]int{"itself": 0, "below": -goMillFrame, "odd": 4, "outside": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			m := newGoMill(t, Request{Record: true}, 8, 56, 1)
			m.poke(m.fps[3], uint64(m.fps[3])+uint64(next))
			for range 2 {
				m.events = nil
				if n := m.walks(m.run); n != 1 {
					t.Errorf("walked %d times", n)
				}
				m.Drain()
				if st := m.stacks[m.events[0].Stack]; len(st.PCs) < 4 || len(st.PCs) > 5 || st.Truncated == "" {
					t.Errorf("stack %v %q", st.PCs, st.Truncated)
				}
			}
		})
	}
}
