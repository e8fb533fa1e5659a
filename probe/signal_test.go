package probe

import (
	"fmt"
	"slices"
	"testing"

	"hdb/internal/addr"
	"hdb/probe/cfi"

	"golang.org/x/arch/x86/x86asm"

	"hdb/testprogs"
)

// interruptible are the instructions of the core at which a jump of 5 bytes may
// stand: nobody jumps to what it covers.
func (l *lab) interruptible() []int {
	targets := map[int]bool{}
	for _, at := range l.core.marks {
		targets[at] = true
	}
	for at := range l.frames.all() {
		in, err := x86asm.Decode(l.core.code[at:], 64)
		if err != nil {
			l.t.Fatal(err)
		}
		next := at + in.Len
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			targets[next+int(rel)] = true
		}
		if in.Op == x86asm.CALL {
			targets[next] = true
		}
	}
	for i := range memoWords {
		targets[l.core.sums()-i*sumSize] = true
	}
	for _, mark := range []uint32{markMatchAlloc, markMatchFree, markMatchGuard} {
		for n := range 5 {
			targets[l.core.marks[mark]+n] = true
		}
	}
	var list []int
	for at := range l.frames.all() {
		free := at+5 <= len(l.core.code)
		for n := 1; n < 5; n++ {
			free = free && !targets[at+n]
		}
		if free {
			list = append(list, at)
		}
	}
	return list
}

// A handler is a signal handler that interrupts the core.
type handler struct {
	frame addr.Run // its return address from malloc and free,
	tramp addr.Run // and its own
}

// run plays it on top of the thread's stack, with the frame that the kernel makes.
func (h *handler) run(th labThread, pc addr.Run) {
	l := th.l
	context := (th.sp - 128 - 640) &^ 15
	for at, v := range map[addr.Run]uint64{168: uint64(pc), 160: uint64(th.sp), 120: th.regs[rbp], 128: th.regs[rbx]} {
		l.poke(context+at, v)
	}
	l.poke(context-8, uint64(h.tramp))
	th.sp = context - 24
	th.regs[rbp] = 0
	th.call(h.frame, "malloc", 8)
	th.ret(0x6000)
	th.call(h.frame, "free", 0x7000)
	th.ret(0)
}

// A signalCase is what signals interrupt: calls of a function that allocates and of one that
// frees, and what is recorded of them.
type signalCase struct {
	alloc, free shortCall
	lines       [2]string
	inner       string // what the one that allocates has do its work
	python      bool   // the thread is in calls of Python
}

var signalCases = []signalCase{
	{shortCall{"malloc", []uint64{16}, 0x5000}, shortCall{"free", []uint64{0x5000}, 0}, [2]string{"malloc(16) = 0x5000", "free(0x5000)"}, "", false},
	{shortCall{"realloc", []uint64{0x4000, 16}, 0x5000}, shortCall{"_ZdlPvm", []uint64{0x5000, 16}, 0},
		[2]string{"realloc(0x4000, 16) = 0x5000", "operator delete(0x5000, 16)"}, "", false},
	{shortCall{"_Znwm", []uint64{16}, 0x5000}, shortCall{"free", []uint64{0x5000}, 0}, [2]string{"operator new(16) = 0x5000", "free(0x5000)"}, "malloc", false},
}

// A signal may come at any instruction, and its handler allocate: all calls are
// recorded, each with its own stack, whatever the core was doing.
func TestSignalAnywhere(t *testing.T) {
	for _, c := range signalCases {
		for _, remembered := range []bool{false, true} {
			for _, way := range []uint64{enabled, quickEnabled} {
				for _, sleeps := range []bool{false, true} {
					if testing.Short() && sleeps && !remembered {
						continue // it is woken for both kinds of records
					}
					t.Run(fmt.Sprintf("%s,remembered=%v,way=%d,sleeps=%v", c.alloc.symbol, remembered, way, sleeps),
						func(t *testing.T) { interruptAll(t, c, 10, way, remembered, true, sleeps) })
				}
			}
		}
	}
}

// That is so, too, while calls of Python are read, each time others unless they are remembered.
func TestSignalAnywhereInPython(t *testing.T) {
	c := signalCases[0]
	c.python = true
	for _, remembered := range []bool{false, true} {
		for _, way := range []uint64{enabled, quickEnabled} {
			t.Run(fmt.Sprintf("remembered=%v,way=%d", remembered, way), func(t *testing.T) { interruptAll(t, c, 10, way, remembered, true, false) })
		}
	}
}

// That is so of stacks, too, that take several entries of the memo.
func TestSignalAnywhereOfDeepStacks(t *testing.T) {
	for _, remembered := range []bool{false, true} {
		t.Run(fmt.Sprintf("remembered=%v", remembered),
			func(t *testing.T) {
				interruptAll(t, signalCases[0], memoWords+10, quickEnabled, remembered, true, false)
			})
	}
}

// It may also never return, but jump to a place further out. What the thread
// does then is recorded again.
func TestSignalLeaves(t *testing.T) {
	for _, c := range signalCases {
		for _, way := range []uint64{enabled, quickEnabled} {
			if testing.Short() && (way == quickEnabled) == (c.alloc.symbol == "realloc") {
				continue // each function in one way: every instruction is interrupted
			}
			t.Run(fmt.Sprintf("%s,way=%d", c.alloc.symbol, way), func(t *testing.T) { interruptAll(t, c, 10, way, false, false, false) })
		}
	}
}

// interruptAll does so with the value of stEnabled that leads one way or the other, and
// with a consumer that has to be woken or not, of a stack of so many frames and a few.
func interruptAll(t *testing.T, calls signalCase, frames int, way uint64, remembered, returns, sleeps bool) {
	l := newLab(t, Request{Record: true})
	l.setState(stEnabled, way)
	th := *l.thread(1)
	th.sp = labAt + labFar - 64<<10
	m := l.newStack(&th, 5)
	m.even = true
	l.setState(stDepth, uint64(frames+54))
	for range frames {
		m.frame([]cfi.Form{cfi.SP, cfi.BP}[m.rand.IntN(2)])
	}
	// The outermost frame differs each time, and with it the stack, unless it is
	// to be remembered.
	var roots []addr.Run
	for range 1000 {
		roots = append(roots, m.code())
		m.rules[roots[len(roots)-1]-1] = cfi.Rule(cfi.Root)
	}
	h := &handler{frame: m.code(), tramp: m.code()}
	inner := m.code()
	for inner < libcxxAt { // the module of operator new
		inner = m.code()
	}
	m.rules[inner-1] = cfi.NewRule(cfi.SP, 16, 0, 0, 0)
	m.rules[h.frame-1], m.rules[h.tramp-1] = cfi.NewRule(cfi.SP, 24, 0, 0, 0), cfi.Rule(cfi.Signal)
	m.ownCore = true
	m.end(uint64(roots[0]))
	var py *fakePython
	var pyCalls []PythonCall
	if calls.python {
		py, _ = newFakePython(l, python311, &th)
		py.hold(true, false)
		if way == quickEnabled {
			py.count()
		}
		pyCalls = py.run(12)
	}
	hits := 0
	var stuck, bare []int // offsets after which the ring is stuck, or stacks are missing
	places := l.interruptible()
	for k := 0; k < len(places); k += testprogs.Stride(1) {
		i, at := k, places[k]
		if remembered {
			i = 0
			m.walked()
		}
		m.put(m.last, uint64(roots[i%len(roots)]))
		main := append(slices.Clone(m.want.PCs), roots[i%len(roots)])
		above := append([]addr.Run{h.frame, h.tramp}, main...)
		if py != nil && !remembered {
			pyCalls = py.run(12)
		}
		l.forget(&th)
		if sleeps {
			l.shared.half(hdSleep).Store(1)
		}
		pc := l.remote.core + addr.Run(at)
		original := slices.Clone(l.at(pc)[:5])
		l.interruptAt(pc)
		c := th
		interrupted, inside := false, false
		// step goes on with what was interrupted.
		step := func(exit int) int {
			if exit != exitInterrupt {
				return exit
			}
			hits++
			interrupted = true
			if inside {
				above = slices.Insert(above, 2, inner)
			}
			copy(l.at(pc), original)
			h.run(c, pc)
			if !returns {
				return exit
			}
			return c.run(pc)
		}
		c.sp -= 8
		play := func() bool {
			if step(c.jump(calls.alloc.symbol, calls.alloc.args...)) == exitInterrupt {
				return false
			}
			if calls.inner != "" {
				c.frame(8)
				inside = true
				if step(c.call(inner, calls.inner, calls.alloc.args...)) == exitInterrupt {
					return false
				}
				inside = false
				c.ret(calls.alloc.result)
				c.frame(^addr.Run(8 - 1))
			}
			if step(c.ret(calls.alloc.result)) == exitInterrupt {
				return false
			}
			c = th
			c.sp -= 8
			if step(c.jump(calls.free.symbol, calls.free.args...)) == exitInterrupt {
				return false
			}
			c.ret(0)
			return true
		}
		if !play() {
			c = th
			c.sp -= 8
			c.jump("malloc", 17)
			c.ret(0x8000)
		}
		copy(l.at(pc), original)
		l.Drain()
		if l.tail != l.head() {
			stuck = append(stuck, at)
			l.restart(l.request)
			l.setState(stEnabled, way)
			l.thread(1)
			continue
		}
		if !interrupted {
			continue
		}
		for i, e := range l.events {
			want := main
			if e.Addr == 0x6000 || e.Addr == 0x7000 {
				want = above
			}
			st := l.notebook.stacks[e.Stack]
			if e.Abandoned {
				continue // where the thread was seen next
			}
			if e.Stack == 0 && !returns {
				bare = append(bare, at)
				continue
			}
			if python, ok := l.notebook.with[e.Stack]; ok != calls.python || ok && !sameCalls(l.notebook.python[python], pyCalls) {
				t.Fatalf("interrupted at core+%#x: %s: calls of Python: %v, not as they are", at, l.lines[i], ok)
			}
			if e.Stack == 0 || !slices.Equal(st.PCs, want) || st.Truncated != "" {
				t.Fatalf("interrupted at core+%#x: %s has the stack %v %s, want %v", at, l.lines[i], st.PCs, st.Truncated, want)
			}
		}
		lines := slices.Clone(l.lines)
		slices.Sort(lines)
		want := append(calls.lines[:], "free(0x7000)", "malloc(8) = 0x6000")
		slices.Sort(want)
		if returns && !slices.Equal(lines, want) {
			t.Fatalf("interrupted at core+%#x: %q, want %q", at, l.lines, want)
		}
		if !returns && (!slices.Contains(lines, "malloc(17) = 0x8000") || !slices.Contains(lines, "malloc(8) = 0x6000") || !slices.Contains(lines, "free(0x7000)")) {
			t.Fatalf("interrupted at core+%#x and left: %q", at, l.lines)
		}
	}
	t.Logf("%d instructions interrupted; the ring is stuck after %#x; no stack after %#x", hits, stuck, bare)
	if hits < 200/testprogs.Stride(1) {
		t.Errorf("%d instructions interrupted", hits)
	}
	// Between a reservation and the end of its record, and between the number of
	// a stack and its frames, there is no way back: see the limits in
	// docs/probe.md. These are instructions of the size of one screen, and as many
	// again where records are written by the short way.
	if len(stuck) > 75 || len(bare) > 22 || returns && len(stuck)+len(bare) > 0 {
		t.Errorf("the ring is stuck after %d instructions, stacks are missing after %d", len(stuck), len(bare))
	}
}

// forget makes the thread one that has done nothing.
func (l *lab) forget(th *labThread) {
	clear(l.slotOf(th.key)[slDepth:])
	l.lines, l.events, l.stops = nil, nil, nil
	clear(l.threads)
	l.lastIs = false
}
