package inferior

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// withAndWithout runs a test with the debug registers of the machine, if it has some that stop threads,
// and as on a machine that has none.
func withAndWithout(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testprogs.OnMachines(t, machine.DebugRegisters, f)
}

// atMain stands at main, where single steps need not go through the dynamic linker.
func atMain(t *testing.T, program string, args ...string) *Process {
	t.Helper()
	p, _ := launch(t, build(t, program), args...)
	main := plant(t, p, symbol(t, p, "main"), func(*Thread) Action { return StopHere })
	if s := resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	if err := main.Remove(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWatch(t *testing.T) { withAndWithout(t, testWatch) }

func testWatch(t *testing.T) {
	p := atMain(t, "watched", "5")
	a := symbol(t, p, "watched")
	w, err := p.watchpoints.Watch(a, 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5) {
		s := resume(t, p)
		if s.Reason != Watched || s.Changes[0].Watch != w || binary.LittleEndian.Uint64(s.Changes[0].Old) != i || binary.LittleEndian.Uint64(s.Changes[0].New) != i+1 {
			t.Fatalf("%v %v", s.Reason, s.Changes)
		}
		if s.Thread.Num != int(i)+2 {
			t.Errorf("thread %d, want the new thread %d", s.Thread.Num, i+2)
		}
	}
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
}

func TestWatchReads(t *testing.T) { withAndWithout(t, testWatchReads) }

func testWatchReads(t *testing.T) {
	p := atMain(t, "watched", "1")
	if _, err := p.watchpoints.Watch(symbol(t, p, "watched"), 4, ReadWrite); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ; n++ {
		if s := resume(t, p); s.Reason != Watched {
			break
		}
	}
	if n < 2 || n > 3 { // one or two stores, as the compiler likes, and the load
		t.Errorf("%d stops", n)
	}
}

func TestWatchRules(t *testing.T) {
	if !RegistersStop() {
		t.Skip("no debug registers: ", machine.Variable)
	}
	p, _ := launch(t, build(t, "watched"), "1")
	a := symbol(t, p, "watched")
	for _, c := range []struct {
		at   uint64
		size int
		want string
	}{
		{uint64(a), maxStepped + 1, "at most 1048576"},
		{uint64(a), 0, "at most 1048576"},
		{16, 8, "not mapped"},
	} {
		if _, err := p.watchpoints.Watch(addrRun(c.at), c.size, Write); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#x size %d: %v", c.at, c.size, err)
		}
	}
	for _, c := range []struct {
		at   addr.Run
		size int
		want int
	}{{a, 32, 4}, {a + 4, 24, 4}, {a + 1, 7, 3}, {a + 1, 9, 4}, {a + 1, 15, 4}, {a + 7, 2, 2}, {a + 3, 14, 4}, {a + 1, 30, 4}} {
		w, err := p.watchpoints.Watch(c.at, c.size, Write)
		if err != nil {
			t.Fatalf("%d bytes at +%d: %v", c.size, c.at-a, err)
		}
		if got := slices.IndexFunc(append(p.watchpoints.registers[:], nil), func(r *debugRegister) bool { return r == nil }); got != c.want {
			t.Errorf("%d bytes at +%d take %d registers, want %d", c.size, c.at-a, got, c.want)
		}
		if err := w.Remove(); err != nil || p.watchpoints.inUse() {
			t.Error("registers are in use behind the end", err)
		}
	}
	for i := range 4 {
		if _, err := p.watchpoints.Watch(a+addrRun(uint64(i)), 1, Write); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []WatchKind{Write, ReadWrite, Read} {
		if w, err := p.watchpoints.Watch(a, 8, kind); err != nil || !w.Stepping || w.Registers() != 0 {
			t.Errorf("a fifth one: %+v, %v", w, err)
		}
	}
}

// TestWatchLeftBehind follows the child of a fork: the parent, let go, writes
// what was watched and must not die of it.
func TestWatchLeftBehind(t *testing.T) { withAndWithout(t, testWatchLeftBehind) }

func testWatchLeftBehind(t *testing.T) {
	p := atMain(t, "watchfork")
	watchLeftBehind(t, p, p.watchpoints.Watch)
}

// TestSteppedLeftBehind is the same of memory that is watched by single steps.
func TestSteppedLeftBehind(t *testing.T) {
	p, _ := launch(t, build(t, "watchfork"))
	plant(t, p, symbol(t, p, "main"), func(*Thread) Action { return StopHere })
	resume(t, p)
	watchLeftBehind(t, p, p.watchpoints.WatchStepping)
}

func watchLeftBehind(t *testing.T, p *Process, watch func(addr.Run, int, WatchKind) (*Watch, error)) {
	t.Helper()
	parent, farewell := p.target.PID(), ""
	p.family.SetFollowFork(true)
	p.SetHooks(Hooks{Message: func(s string) { farewell = s }})
	if _, err := watch(symbol(t, p, "watched"), 8, Write); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 3)
	if farewell == "" { // else it has ended before its child
		_, ws, err := waitFor(parent)
		if farewell = fmt.Sprintf("exited with code %d", ws.ExitStatus()); err != nil || ws.Signaled() {
			farewell = fmt.Sprint(ws.Signal(), err)
		}
	}
	if !strings.HasSuffix(farewell, "exited with code 7") {
		t.Errorf("the parent: %s, want exit with code 7", farewell)
	}
}

// TestWatchStep sees a change made by the instruction stepped.
func TestWatchStep(t *testing.T) { withAndWithout(t, testWatchStep) }

func testWatchStep(t *testing.T) {
	p := atMain(t, "watched", "1")
	a := symbol(t, p, "watched")
	w, err := p.watchpoints.Watch(a, 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	_ = w
	tr := plant(t, p, symbol(t, p, "work"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	if s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if s, err = p.StepInstruction(s.Thread); err != nil || s.Reason != Stepped {
			break
		}
	}
	if err != nil || s.Reason != Watched || s.Changes[0].New[0] != 1 {
		t.Fatalf("%v %v %v", s.Reason, s.Changes, err)
	}
}

// TestBreakAt stops threads before an instruction by a debug register, each time that
// they arrive there, and leaves the code alone.
func TestBreakAt(t *testing.T) { withAndWithout(t, testBreakAt) }

func testBreakAt(t *testing.T) {
	p, _ := launch(t, build(t, "watched"), "5")
	a := symbol(t, p, "work")
	var before, now [1]byte
	if _, err := p.memory.readAt(before[:], int64(a)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	w, err := p.watchpoints.BreakAt(a, func(th *Thread) Action {
		r, err := th.Regs()
		if err != nil || r.PC() != a {
			t.Errorf("at %v, %v", r.PC(), err)
		}
		if seen++; seen%2 == 0 {
			return Resume
		}
		return StopHere
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.memory.readAt(now[:], int64(a)); err != nil || now != before {
		t.Errorf("the code is %x, was %x, %v", now, before, err)
	}
	for range 2 {
		s := resume(t, p)
		if s.Reason != Trapped {
			t.Fatalf("%v", s.Reason)
		}
		if _, err := s.Thread.Syscall(39); err != nil { // getpid
			t.Error(err)
		}
		if step, err := p.StepInstruction(s.Thread); err != nil || step.Reason != Stepped {
			t.Errorf("%v, %v", step.Reason, err)
		}
	}
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 7)
	if seen != 3 {
		t.Errorf("%d arrivals, want 3", seen)
	}
}

// TestBreakAtTwice: each handler for an instruction is called, though one of them passes, and
// they share a register.
func TestBreakAtTwice(t *testing.T) { withAndWithout(t, testBreakAtTwice) }

func testBreakAtTwice(t *testing.T) {
	p, _ := launch(t, build(t, "watched"), "2")
	var calls [5]int
	var first *Watch
	for i := range calls {
		w, err := p.watchpoints.BreakAt(symbol(t, p, "work"), func(*Thread) Action {
			calls[i]++
			return Action(i % 2)
		})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = w
		}
	}
	if s := resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	if s := resume(t, p); s.Reason != Trapped {
		t.Fatalf("%v", s.Reason)
	}
	wantExit(t, p, 7)
	if calls != [5]int{1, 2, 2, 2, 2} {
		t.Errorf("calls %v", calls)
	}
}

// TestWatchTwice: one store is seen by all watchpoints of what it writes.
func TestWatchTwice(t *testing.T) { withAndWithout(t, testWatchTwice) }

func testWatchTwice(t *testing.T) {
	p := atMain(t, "watched", "1")
	a := symbol(t, p, "watched")
	for _, size := range []int{8, 8, 4} {
		if _, err := p.watchpoints.Watch(a, size, Write); err != nil {
			t.Fatal(err)
		}
	}
	if s := resume(t, p); s.Reason != Watched || len(s.Changes) != 3 {
		t.Errorf("%v %v", s.Reason, s.Changes)
	}
}

// No write is lost that a thread has made right before it was stopped for another one.
func TestWatchBesideStops(t *testing.T) { withAndWithout(t, testWatchBesideStops) }

func testWatchBesideStops(t *testing.T) {
	p := atMain(t, "watchrace")
	counter := symbol(t, p, "counter")
	w, err := p.watchpoints.Watch(counter, 8, Write)
	if err != nil {
		t.Fatal(err)
	}
	tick := plant(t, p, symbol(t, p, "tick"), func(*Thread) Action { return StopHere })
	next, ticks := uint64(0), 0
	for next < 300 {
		s := resume(t, p)
		if s.Reason == Exited {
			break
		}
		for _, c := range s.Changes {
			old, now := binary.LittleEndian.Uint64(c.Old), binary.LittleEndian.Uint64(c.New)
			if c.Watch != w || old != next || now != next+1 {
				t.Fatalf("%d -> %d after %d", old, now, next)
			}
			next++
		}
		if s.Reason == Trapped {
			ticks++
		}
	}
	if next != 300 || ticks == 0 {
		t.Errorf("%d of 300 writes, beside %d stops", next, ticks)
	}
	if err := tick.Remove(); err != nil {
		t.Error(err)
	}
}

// TestBreakAtATrap: a debug register and a trap at one instruction stop threads together, once for each
// arrival, whichever came first.
func TestBreakAtATrap(t *testing.T) {
	for _, trapFirst := range []bool{true, false} {
		p, _ := launch(t, build(t, "loop"), "3")
		at := symbol(t, p, "hit")
		count := map[string]int{}
		stop := func(name string) Handler {
			return func(*Thread) Action { count[name]++; return StopHere }
		}
		if trapFirst {
			plant(t, p, at, stop("trap"))
		}
		w, err := p.BreakAt(at, stop("register"))
		if err != nil {
			t.Fatal(err)
		}
		if !trapFirst {
			plant(t, p, at, stop("trap"))
		}
		for n := 1; ; n++ {
			s := resume(t, p)
			if s.Reason == Exited {
				break
			}
			if s.Reason != Trapped || count["trap"] != n || count["register"] != n || n > 100 {
				t.Fatalf("trap first %v, stop %d: %v, handlers %v", trapFirst, n, s.Reason, count)
			}
		}
		if count["trap"] == 0 || !w.InMemory() {
			t.Errorf("trap first %v: handlers %v, in memory %v", trapFirst, count, w.InMemory())
		}
	}
}

// Each write is a hit of its thread, even if the value that another hit has read includes it.
func TestWatchWritesOfThreads(t *testing.T) { withAndWithout(t, testWatchWritesOfThreads) }

func testWatchWritesOfThreads(t *testing.T) {
	const threads, adds = 4, 50
	p := atMain(t, "watchadd")
	if _, err := p.watchpoints.Watch(symbol(t, p, "counter"), 8, Write); err != nil {
		t.Fatal(err)
	}
	hits, sum := map[int]int{}, uint64(0)
	for s := resume(t, p); s.Reason == Watched; s = resume(t, p) {
		for _, c := range s.Changes {
			hits[s.Thread.Num]++
			old, now := binary.LittleEndian.Uint64(c.Old), binary.LittleEndian.Uint64(c.New)
			if c.Merged != (now == old) {
				t.Fatalf("%d -> %d, merged %v", old, now, c.Merged)
			}
			sum += now - old
		}
	}
	if sum != threads*adds || len(hits) != threads {
		t.Errorf("%d was added by threads %v", sum, hits)
	}
	for num, n := range hits {
		if n != adds {
			t.Errorf("thread %d: %d hits, want %d", num, n, adds)
		}
	}
}
