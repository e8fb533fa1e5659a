package heap

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// A story is a program that allocates, frees and executes another one.
type story struct {
	log       *file.Log
	writer    *file.Writer
	live      *Ledger
	images    [2]int
	seq       uint64
	now       time.Duration
	stacks    int
	recorders []capture.Recorder
}

func newStory(t *rapid.T, out *bytes.Buffer) *story {
	s := &story{log: file.NewLog(capture.Info{}), live: NewLedger(), stacks: 5}
	w, err := file.NewWriter(out, capture.Info{})
	if err != nil {
		t.Fatal(err)
	}
	s.writer = w
	s.recorders = []capture.Recorder{s.log, w}
	for n, r := range s.recorders {
		for i := range s.stacks {
			r.Intern(capture.Stack{PCs: []addr.Run{addr.Run(i + 1)}})
		}
		r.FuncIndex("malloc")
		s.images[n] = r.AddModule(capture.Module{Path: "/bin/a", From: 1, Low: 0, High: 100})
	}
	return s
}

// step makes an event, or an exec.
func (s *story) step(t *rapid.T) {
	if rapid.IntRange(0, 60).Draw(t, "exec") == 0 {
		s.live = NewLedger()
		for n, r := range s.recorders {
			r.EndModule(s.images[n], s.seq+1)
			s.images[n] = r.AddModule(capture.Module{Path: "/bin/a", From: s.seq + 1, Low: 0, High: 100})
			r.Replaced()
		}
		return
	}
	addr := uint64(rapid.IntRange(1, 12).Draw(t, "addr")) * 16
	s.now += time.Duration(rapid.IntRange(0, 3).Draw(t, "us")) * time.Microsecond
	e := capture.Event{
		Time: s.now, Kind: capture.Kind(rapid.IntRange(0, 4).Draw(t, "kind")), Addr: addr,
		Size: uint64(rapid.IntRange(0, 300).Draw(t, "size")), Stack: capture.StackID(rapid.IntRange(0, s.stacks).Draw(t, "stack")),
	}
	if e.Kind == capture.Realloc {
		e.Old = uint64(rapid.IntRange(0, 12).Draw(t, "old")) * 16
		e.Failed = rapid.IntRange(0, 5).Draw(t, "failed") == 0
		if e.Failed {
			e.Addr = 0
		}
	}
	s.seq += uint64(rapid.IntRange(1, 2).Draw(t, "gap"))
	e.Seq, e.TID = s.seq, int32(s.seq%3)
	if end, ok := s.live.Unseen(&e); ok {
		for _, r := range s.recorders {
			end.Func = r.FuncIndex(capture.UnseenFree)
			r.AddEvent(&end)
		}
		s.seq++
		e.Seq = s.seq
	}
	s.live.Post(&e, true)
	for _, r := range s.recorders {
		r.AddEvent(&e)
	}
	if rapid.IntRange(0, 20).Draw(t, "cut") == 0 {
		s.writer.Push()
	}
}

// totalsOf is what replaying from the start tells.
func totalsOf(src capture.Source, to uint64) *Totals {
	t := &Totals{Flows: make([]capture.Flow, src.Stacks()+1)}
	for i := range t.Flows {
		t.Flows[i].Stack = capture.StackID(i)
	}
	state, latest := NewReplay(src), uint64(0)
	for e := range src.Events(0) {
		if e.Seq > to {
			break
		}
		if state.Before(e.Seq) != nil {
			latest = 0
		}
		t.Seq, t.Time, t.Events = e.Seq, e.Time, t.Events+1
		end := func(a uint64) {
			b, ok := state.At(a)
			if ok && b.Seq == latest {
				t.Flows[b.Stack].Temporary++
			}
		}
		switch {
		case e.Kind == capture.Free && src.Functions()[e.Func] != capture.UnseenFree:
			end(e.Addr)
		case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
			end(e.Old)
		}
		byAddress(state.Live, &e)
		if e.Allocates() {
			t.Flows[e.Stack].Allocs++
			t.Flows[e.Stack].Bytes += e.Size
			latest = e.Seq
		}
	}
	if to == End {
		state.Before(End)
	}
	for i := range t.Flows {
		t.Flows[i].Frees, t.Flows[i].Freed = t.Flows[i].Allocs, t.Flows[i].Bytes
	}
	for _, b := range state.All() {
		t.Live += b.Size
		t.Blocks++
		t.Flows[b.Stack].Frees--
		t.Flows[b.Stack].Freed -= b.Size
	}
	return t
}

// checkSteps compares the steps from #from on, and those back from there.
func checkSteps(t *rapid.T, name string, x *Index, src capture.Source, from uint64) {
	var forward, back []Step
	state := NewReplay(src)
	for e := range src.Events(0) {
		state.Before(e.Seq)
		byAddress(state.Live, &e)
		s := Step{e, state.Bytes(), uint64(state.Blocks())}
		if e.Seq >= from {
			forward = append(forward, s)
		}
		if e.Seq <= from {
			back = append([]Step{s}, back...)
		}
	}
	for s := range x.Steps(from) {
		if len(forward) == 0 || *s != forward[0] {
			t.Fatalf("%s: steps from #%d: %+v, want %+v", name, from, s, forward[:min(1, len(forward))])
		}
		forward = forward[1:]
	}
	for s := range x.StepsBack(from) {
		if len(back) == 0 || *s != back[0] {
			t.Fatalf("%s: steps back from #%d: %+v, want %+v", name, from, s, back[:min(1, len(back))])
		}
		back = back[1:]
	}
	if len(forward)+len(back) > 0 {
		t.Fatalf("%s: from #%d %d steps are missing, and back %d", name, from, len(forward), len(back))
	}
}

func peakOf(src capture.Source, to uint64) (seq, peak uint64) {
	state := NewReplay(src)
	for e := range src.Events(0) {
		if e.Seq > to {
			break
		}
		state.Before(e.Seq)
		if byAddress(state.Live, &e); e.Allocates() && state.Bytes() > peak {
			seq, peak = e.Seq, state.Bytes()
		}
	}
	return seq, peak
}

// Any moment told by summaries is what replaying from the start tells: of a log,
// of a file, and of a recording whose effects are decided anew.
func TestIndexIsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		s := newStory(t, &b)
		x, err := NewIndex(s.log)
		if err != nil {
			t.Fatal(err)
		}
		steps := rapid.IntRange(1, 200).Draw(t, "steps")
		for i := range steps {
			s.step(t)
			if i == steps/2 {
				if err := x.Update(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := x.Update(); err != nil {
			t.Fatal(err)
		}
		if err := s.writer.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := file.NewFile("test", bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		ofFile, err := NewIndex(f)
		if err != nil {
			t.Fatal(err)
		}
		again := repost(f)
		ofAgain, err := NewIndex(again)
		if err != nil {
			t.Fatal(err)
		}
		to := rapid.OneOf(rapid.Uint64Range(0, s.seq+1), rapid.Just(uint64(End))).Draw(t, "to")
		want := totalsOf(s.log, to)
		wantSeq, wantPeak := peakOf(s.log, to)
		for name, x := range map[string]*Index{"log": x, "file": ofFile, "reposted": ofAgain} {
			if diff := cmp.Diff(want, x.Totals(to)); diff != "" {
				t.Errorf("%s: totals at #%d (- replayed, + index):\n%s", name, to, diff)
			}
			if to < s.seq { // an exec after the last event counts for Totals only
				seqs := slices.Compact([]uint64{to / 4, to / 2, to})
				var told atomic.Int64
				x.History(to, rapid.IntRange(0, 3).Draw(t, "points"), seqs, func(i int, got *Totals) {
					told.Add(1 << (8 * i))
					if diff := cmp.Diff(x.Totals(seqs[i]), got); diff != "" {
						t.Errorf("%s: snapshot at #%d (- totals, + snapshot):\n%s", name, seqs[i], diff)
					}
				})
				threads := NewThreads(x.Source())
				threads.Follow(0, to, seqs, func(i int) {
					want := x.Totals(seqs[i])
					if diff := cmp.Diff(want.Flows, threads.stacks(len(want.Flows))); diff != "" {
						t.Errorf("%s: stacks at #%d (- totals, + threads):\n%s", name, seqs[i], diff)
					}
					if got, want := threads.Now(), (Point{want.Seq, want.Time, want.Live, want.Blocks}); got != want {
						t.Errorf("%s: threads are at %+v, the totals of #%d at %+v", name, got, seqs[i], want)
					}
				})
				if want := int64(0x010101) & (1<<(8*len(seqs)) - 1); told.Load() != want {
					t.Errorf("%s: moments %d were told %x times", name, seqs, told.Load())
				}
			}
			if seq, peak := x.PeakBefore(to); seq != wantSeq || peak != wantPeak {
				t.Errorf("%s: peak of %d after #%d, want %d after #%d", name, peak, seq, wantPeak, wantSeq)
			}
			when := time.Duration(rapid.IntRange(0, int(s.now/time.Microsecond)+1).Draw(t, "when")) * time.Microsecond
			n, at := uint64(0), uint64(0)
			skip := rapid.Uint64Range(0, uint64(s.log.Len())).Draw(t, "n")
			nth := uint64(0)
			for e := range s.log.Events(0) {
				if e.Time <= when {
					at = e.Seq
				}
				if n <= skip {
					nth = e.Seq
				}
				n++
			}
			checkSteps(t, name, x, s.log, min(to, s.seq+2))
			if got := x.At(when); got != at {
				t.Errorf("%s: at %v: #%d, want #%d", name, when, got, at)
			}
			if got := x.Nth(skip); got != nth {
				t.Errorf("%s: %d. event: #%d, want #%d", name, skip, got, nth)
			}
		}
	})
}
