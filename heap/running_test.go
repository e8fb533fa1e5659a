package heap

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// What is summed up on the way is what an index says, whenever one looks.
func TestRunningIsTheIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStory(t, &bytes.Buffer{})
		running, threads := NewRunning(s.log), NewThreads(s.log)
		for range rapid.IntRange(0, 12).Draw(t, "looks") {
			for range rapid.IntRange(0, 40).Draw(t, "steps") {
				s.step(t)
			}
			if err := running.Update(); err != nil {
				t.Fatal(err)
			}
			for !threads.Update(rapid.IntRange(1, 30).Draw(t, "limit")) {
			}
			x, err := NewIndex(s.log)
			if err != nil {
				t.Fatal(err)
			}
			now, then := running.Totals(), x.Totals(End)
			for len(now.Flows) < len(then.Flows) {
				now.Flows = append(now.Flows, capture.Flow{Stack: capture.StackID(len(now.Flows))})
			}
			if d := cmp.Diff(then, now, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("running is not the index:\n%s", d)
			}
			if seq, bytes := x.Peak(); running.Peak().Seq != seq || running.Peak().Live != bytes {
				t.Fatalf("peak %+v, want %d after #%d", running.Peak(), bytes, seq)
			}
			if execs := s.log.Execs(); len(execs) > 0 && execs[len(execs)-1] > then.Seq {
				continue // an exec after the last event is followed with the next one
			}
			if d := cmp.Diff(then.Flows, threads.stacks(len(then.Flows))); d != "" {
				t.Fatalf("the threads are not their sum:\n%s", d)
			}
		}
	})
}

// stacks are the sums of all threads, by stack.
func (t *Threads) stacks(n int) []capture.Flow {
	sums := make([]capture.Flow, n)
	for _, f := range t.Flows() {
		sums[f.Stack].Add(&f.Flow)
	}
	for id := range sums {
		sums[id].Stack = capture.StackID(id)
	}
	return sums
}

// Runs that are over are not kept: their sum is.
func TestRunningOverRuns(t *testing.T) {
	log := file.NewLog(capture.Info{})
	running, threads := NewRunning(log), NewThreads(log)
	const n = 200000 // some runs
	for i := range n {
		e := capture.Event{Kind: capture.Alloc, Addr: uint64(i+1) * 16, Size: 10, TID: int32(i % 2), Stack: log.Intern(capture.Stack{}), Time: time.Duration(i) * time.Microsecond}
		log.AddEvent(&e)
		if i%30000 == 0 {
			if err := running.Update(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := running.Update(); err != nil {
		t.Fatal(err)
	}
	now := running.Totals()
	if now.Live != 10*n || now.Blocks != n || now.Events != n || now.Flows[1].Bytes != 10*n || running.Peak().Live != 10*n {
		t.Errorf("%d live in %d blocks after %d events, %+v, peak %+v", now.Live, now.Blocks, now.Events, now.Flows, running.Peak())
	}
	if threads.Update(n / 2) {
		t.Error("half of the events were all")
	}
	if !threads.Update(n) || threads.Seen() != n {
		t.Errorf("%d events were seen", threads.Seen())
	}
	for _, f := range threads.Flows() {
		if f.Allocs != n/2 || f.Bytes != 10*n/2 {
			t.Errorf("a thread has %+v", f)
		}
	}
	if columns := running.Line().Columns(now.Time, 4); len(columns) != 4 || columns[3] != 10*n || columns[0] > 10*n/3 || columns[0] == 0 {
		t.Errorf("the line is %d", columns)
	}
}

func TestLine(t *testing.T) {
	var l Line
	if got := l.Columns(0, 3); !cmp.Equal(got, []uint64{0, 0, 0}) {
		t.Errorf("nothing is %d", got)
	}
	for i := range 100 {
		l.Add(time.Duration(i)*time.Second, uint64(i+1))
	}
	if len(l.spans) > lineSpans {
		t.Errorf("%d spans", len(l.spans))
	}
	got := l.Columns(100*time.Second, 10)
	for i, v := range got {
		if want := uint64(10 * (i + 1)); v < want-1 || v > want+1 {
			t.Errorf("column %d of %d", i, got)
		}
	}
	if got = l.Columns(400*time.Second, 4); got[1] != 100 || got[3] != 100 {
		t.Errorf("the last value does not hold on: %d", got)
	}
	l.Add(time.Hour*1000000, 7)
	if got = l.Columns(time.Hour*1000000, 2); got[0] < 100 || len(l.spans) > lineSpans {
		t.Errorf("after a long time %d", got)
	}
	if got = l.Columns(-1, 0); got != nil {
		t.Errorf("no columns are %d", got)
	}
}

// TestRunningLine has each spike in the line, also those of one run that do not raise its peak.
func TestRunningLine(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	id := log.Intern(capture.Stack{PCs: []addr.Run{0x100}})
	alloc := func(at time.Duration, block, size uint64) {
		log.AddEvent(&capture.Event{Time: at, Kind: capture.Alloc, Func: malloc, Addr: block, Size: size, Stack: id, TID: 1})
	}
	r := NewRunning(log)
	update := func() {
		if err := r.Update(); err != nil {
			t.Fatal(err)
		}
	}
	alloc(0, 0x1000, 1)
	for i := range time.Duration(3) {
		at := (2 + 3*i) * time.Second
		alloc(at, 0x2000, 50)
		if i == 1 {
			update() // while the spike lasts
		}
		log.AddEvent(&capture.Event{Time: at + time.Second/2, Kind: capture.Free, Func: free, Addr: 0x2000, TID: 1,
			Ended: capture.Ended{Recorded: true, Stack: id, Size: 50}})
	}
	update()
	update()
	if got, want := r.Line().Columns(10*time.Second-1, 10), []uint64{1, 1, 51, 1, 1, 51, 1, 1, 51, 1}; !slices.Equal(got, want) {
		t.Errorf("columns %d, want %d", got, want)
	}
}
