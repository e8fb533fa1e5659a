package recording

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe"
)

// fakeProcess is a process whose stacks have a function named by their first address.
type fakeProcess struct {
	mu    sync.Mutex
	asked int // stacks
}

func (p *fakeProcess) Frames(st capture.Stack) Frames {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return fakeFrames{st}
}

func (p *fakeProcess) Guessed()                                   {}
func (p *fakeProcess) Interpreted(addr.Run) (capture.Frame, bool) { return capture.Frame{}, false }

func (p *fakeProcess) Numbered() {}

// GoType has the type be named by where its descriptor is.
func (p *fakeProcess) GoType(_ addr.Run, aux capture.GoAux, _ uint64, pattern string) bool {
	return fmt.Sprint(aux.Type(0)) == pattern
}

func (p *fakeProcess) Resident(int) (uint64, error) { return 0, errors.New("no process") }

type fakeFrames struct{ capture.Stack }

func (f fakeFrames) Func(name string) bool { return len(f.PCs) > 0 && name == f.PCs[0].String() }
func (f fakeFrames) Module(string) bool    { return false }
func (f fakeFrames) PyFile(string) bool    { return false }
func (f fakeFrames) Caller(string) bool    { return false }
func (f fakeFrames) Like(string) bool      { return false }

// fakeThread is a thread by its IDs.
type fakeThread struct {
	id     int32
	number int
}

// goneThread is a thread whose name was known.
type goneThread struct {
	fakeThread
	names []string // that are yet to be told
}

func (t *goneThread) Name() (name string) {
	if len(t.names) > 0 {
		name, t.names = t.names[0], t.names[1:]
	}
	return name
}

func (t fakeThread) ID() int32    { return t.id }
func (t fakeThread) Number() int  { return t.number }
func (t fakeThread) Name() string { return "worker" }

// fakeOrigin is where a call comes from at which a stop may stop.
type fakeOrigin struct {
	fakeFrames
	thread fakeThread
	stop   *cond.Cond // nil: none does
	seen   *Event
}

func (o *fakeOrigin) Thread() Thread       { return o.thread }
func (o *fakeOrigin) Stack() capture.Stack { return o.fakeFrames.Stack }
func (o *fakeOrigin) Stops(e *Event, env cond.Env) bool {
	o.seen = e
	return o.stop != nil && o.stop.Eval(env)
}

func parse(t testing.TB, text string) *cond.Cond {
	t.Helper()
	c, err := cond.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(e capture.Event) breakpoints.Call {
	return breakpoints.Call{Function: breakpoints.Function{Name: "malloc", Kind: e.Kind}, Event: e}
}

// recordedSeqs are the numbers of the events in the log.
func recordedSeqs(r *Recording) []uint64 {
	var seqs []uint64
	for e := range r.Log().Events(0) {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// A call is recorded if a stop or the filter wants it, or if it ends what is recorded;
// after the end of the recording stops are not.
func TestTake(t *testing.T) {
	r := New(&fakeProcess{})
	r.Begin(capture.Info{}, nil)
	large := parse(t, "size > 100 && live > 100")
	take := func(e capture.Event, stop *cond.Cond) bool {
		return r.Take(call(e), 0, &fakeOrigin{thread: fakeThread{7, 1}, stop: stop})
	}
	for _, step := range []struct {
		e     capture.Event
		stops bool
		do    func()
	}{
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x1000, Size: 10}},
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x2000, Size: 200}, stops: true},
		{e: capture.Event{Kind: capture.Free, Addr: 0x1000}},
		{e: capture.Event{Kind: capture.Free, Addr: 0x2000}},
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x3000, Size: 10}, do: r.Start},
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x4000, Size: 10}, do: func() { r.SetFilter(NewFilter(parse(t, "size > 50"))) }},
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x5000, Size: 60}},
		{e: capture.Event{Kind: capture.Alloc, Addr: 0x6000, Size: 300}, stops: true, do: func() { r.Stop(true) }},
		{e: capture.Event{Kind: capture.Free, Addr: 0x3000}},
	} {
		if step.do != nil {
			step.do()
		}
		if got := take(step.e, large); got != step.stops {
			t.Errorf("%+v: stops %v", step.e, got)
		}
	}
	if got, want := recordedSeqs(r), []uint64{2, 4, 5, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("recorded %d, want %d", got, want)
	}
	if st := r.Status(); st.Seen != 9 || st.Recorded != 5 || st.LiveBlocks != 3 {
		t.Errorf("%+v", st)
	}
	if threads := r.Log().Threads(); len(threads) != 1 || threads[0] != (capture.Thread{TID: 7, Num: 1, Name: "worker"}) {
		t.Errorf("threads %+v", threads)
	}
}

// A call that did not return is recorded as one.
func TestAbandonedCall(t *testing.T) {
	r := New(&fakeProcess{})
	r.Begin(capture.Info{}, nil)
	r.Start()
	c := call(capture.Event{Kind: capture.Alloc, Size: 8, Failed: true})
	c.Abandoned = true
	r.Take(c, 0, &fakeOrigin{thread: fakeThread{7, 1}})
	for e := range r.Log().Events(0) {
		if !e.Abandoned || !e.Failed {
			t.Errorf("%+v", e)
		}
	}
}

// The kernel uses the ID of a thread that has ended again.
func TestThreadsWithOneID(t *testing.T) {
	r := New(&fakeProcess{})
	r.Begin(capture.Info{}, nil)
	for _, th := range []fakeThread{{7, 1}, {7, 1}, {7, 2}} {
		r.AddThread(th)
	}
	if got := r.Log().Threads(); len(got) != 2 || got[1].Num != 2 {
		t.Errorf("threads %+v", got)
	}
}

// A thread that is gone has the name that it had last.
func TestNameOfAThreadThatIsGone(t *testing.T) {
	r := New(&fakeProcess{})
	r.Begin(capture.Info{}, nil)
	r.Start()
	r.SetFilter(NewFilter(parse(t, `thread == "worker"`)))
	r.RenameThread(&goneThread{fakeThread{7, 1}, []string{"worker"}})
	r.Batch([]capture.Event{{Kind: capture.Alloc, Addr: 0x1000, Size: 8, TID: 7}}, []*breakpoints.Function{{Name: "malloc"}})
	if got := recordedSeqs(r); len(got) != 1 {
		t.Errorf("recorded %d", got)
	}
}

// A filter asks a stack once, until it is told to ask again.
func TestFilterAsksOnce(t *testing.T) {
	p := &fakeProcess{}
	r := New(p)
	r.Begin(capture.Info{}, nil)
	r.Start()
	r.SetFilter(NewFilter(parse(t, `func("0x100") && !func("0x300")`)))
	wanted := r.Stack(capture.Stack{PCs: []addr.Run{0x100}})
	other := r.Stack(capture.Stack{PCs: []addr.Run{0x200}})
	fn := []*breakpoints.Function{{Name: "malloc"}}
	block := uint64(0)
	batch := func() {
		var events []capture.Event
		for _, stack := range []capture.StackID{wanted, other, wanted, 0} {
			block += 16
			events = append(events, capture.Event{Kind: capture.Alloc, Addr: block, Size: 8, Stack: stack})
		}
		r.Batch(events, fn)
	}
	batch()
	batch()
	if p.asked != 2 {
		t.Errorf("%d stacks were asked", p.asked)
	}
	r.ForgetAnswers()
	batch()
	if p.asked != 4 {
		t.Errorf("%d stacks were asked after modules changed", p.asked)
	}
	if got, want := recordedSeqs(r), []uint64{1, 3, 5, 7, 9, 11}; !slices.Equal(got, want) {
		t.Errorf("recorded %d, want %d", got, want)
	}
	if n := r.Log().Stacks(); n != 1 {
		t.Errorf("%d stacks are recorded", n)
	}
}

// TestConcurrentUse has the owner do what it may while the ring is drained.
func TestConcurrentUse(t *testing.T) {
	r := New(&fakeProcess{})
	r.Begin(capture.Info{}, nil)
	fn := []*breakpoints.Function{{Name: "malloc"}}
	const rounds, each = 300, 16
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(rounds) {
			stack := r.Stack(capture.Stack{PCs: []addr.Run{addr.Run(i)}})
			events := make([]capture.Event, each)
			for k := range events {
				events[k] = capture.Event{Kind: capture.Alloc, Addr: (i*each + uint64(k) + 1) * 16, Size: 8, Stack: stack, TID: 7}
			}
			r.Batch(events, fn)
			r.Heap()
		}
	})
	filters := []*Filter{nil, NewFilter(parse(t, `func("0x1") || thread == 1`))}
	var gaps Gaps
	for i := range rounds {
		r.Start()
		r.SetFilter(filters[i%2])
		r.AddThread(fakeThread{7, 1 + i%2})
		r.Take(call(capture.Event{Kind: capture.Alloc, Addr: 1<<40 + uint64(i)*16, Size: 8}), 0, &fakeOrigin{thread: fakeThread{9, 3}})
		r.Pause(i%3 == 0)
		r.ForgetAnswers()
		r.AddMark("here", 0)
		r.NotePartial(capture.Reason{Kind: capture.Paused})
		r.DropPartial(capture.Paused)
		r.Live().RecordedBlocks(3)
		for range r.Live().Blocks() {
			break
		}
		gaps.RunOn(r, i%2 == 0, 0)
		if st := r.Status(); st.Recorded > st.Seen {
			t.Fatalf("%+v", st)
		}
		r.Stop(i%5 == 0)
	}
	wg.Wait()
	if seq := r.Seq(); seq != rounds*each+rounds {
		t.Errorf("the last event is #%d", seq)
	}
	last := uint64(0)
	for _, seq := range recordedSeqs(r) {
		if seq <= last {
			t.Fatalf("#%d after #%d", seq, last)
		}
		last = seq
	}
}

// Losses are told once, and warned of at most once a second.
func TestLosses(t *testing.T) {
	var l Losses
	ring := capture.Reason{Kind: capture.RingFull}
	if fresh := l.Fresh(probe.Stats{Lost: 3}, breakpoints.Stats{}); !slices.Equal(fresh, []Loss{{3, ring}}) {
		t.Errorf("fresh %+v", fresh)
	}
	if n, why := l.Warning(); n != 3 || why != ring {
		t.Errorf("warned of %d, %+v", n, why)
	}
	l.EndProbe(probe.Stats{Lost: 3})
	cause := errors.New("no return address")
	want := []Loss{{1, capture.Reason{Kind: capture.TornRecord}}, {2, capture.Reason{Kind: capture.NotFollowed, Text: cause.Error()}}}
	if fresh := l.Fresh(probe.Stats{Torn: 1}, breakpoints.Stats{Lost: 2, LostCause: cause}); !slices.Equal(fresh, want) {
		t.Errorf("fresh %+v, want %+v", fresh, want)
	}
	if n, _ := l.Warning(); n != 0 {
		t.Errorf("warned of %d within a second", n)
	}
	l.warned = l.warned.Add(-time.Second)
	if n, why := l.Warning(); n != 3 || why != want[0].Reason {
		t.Errorf("warned of %d, %+v", n, why)
	}
	if all := l.All(probe.Stats{}, breakpoints.Stats{Lost: 2, LostCause: cause}); len(all) != 2 || all[0] != (Loss{3, ring}) {
		t.Errorf("all %+v", all)
	}
}

// A file without a name can be asked while it grows, and says of itself what it lacks.
func TestKeptFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := New(&fakeProcess{})
	info := capture.Info{Program: "/bin/prog", PID: 1}
	r.Begin(info, nil)
	r.Start()
	alloc := func(block uint64) {
		r.Take(call(capture.Event{Kind: capture.Alloc, Addr: block, Size: 8}), 0, &fakeOrigin{thread: fakeThread{7, 1}})
	}
	alloc(0x1000)
	f, err := KeepFile(info, Bounds{MaxSize: 1 << 30}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.MoveTo(f)
	now := func(f func()) { f() }
	for n := 2; n < 5; n++ {
		alloc(uint64(n) * 0x1000)
		src, err := f.Source(now)
		if err != nil || src.Len() != n {
			t.Fatalf("%d events, %v; want %d", src.Len(), err, n)
		}
		if again, err := f.Source(now); again != src || err != nil {
			t.Errorf("what has not changed is read again: %v", err)
		}
	}
	if got := f.WithConsole([]capture.ConsoleLine{{Text: "a line"}}).Console(); len(got) != 1 || f.Failed() || f.Fail() {
		t.Errorf("console %+v, failed %v", got, f.Err())
	}
}
