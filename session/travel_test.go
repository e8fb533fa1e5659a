package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/query"
	"hdb/session/target"
)

// replayed is the heap after event #to of a recording.
func replayed(src capture.Source, to uint64) *heap.Live {
	state := heap.NewReplay(src)
	for e := range src.Events(0) {
		if e.Seq > to {
			state.Before(to)
			return state.Live
		}
		state.Before(e.Seq)
		switch { // by what the call did, not by the effect that the event carries
		case e.Kind == capture.Free:
			state.Take(e.Addr)
		case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
			state.Take(e.Old)
		}
		if e.Allocates() {
			state.Put(e.Addr, heap.Block{Seq: e.Seq, Size: e.Size, Stack: e.Stack})
		}
	}
	if to == heap.End {
		state.Before(to) // an exec after the last event
	}
	return state.Live
}

// sumsAreReplay holds what the summaries of a recording say against following its
// events from the start, at its end and at some moments before.
func sumsAreReplay(t *testing.T, what string, src capture.Source) {
	t.Helper()
	x, err := heap.NewIndex(src)
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(src.Len())
	for _, to := range []uint64{x.Nth(n / 3), x.Nth(n / 2), x.Nth(n - n/8), heap.End} {
		live := replayed(src, to)
		bytes := map[capture.StackID]uint64{}
		for _, b := range live.All() {
			bytes[b.Stack] += b.Size
		}
		totals := x.Totals(to)
		if totals.Live != live.Bytes() || totals.Blocks != uint64(live.Blocks()) {
			t.Errorf("%s after #%d: %d bytes in %d blocks, replayed %d in %d", what, to, totals.Live, totals.Blocks, live.Bytes(), live.Blocks())
		}
		for i := range totals.Flows {
			f := &totals.Flows[i]
			if got, _ := heap.LiveOf(f); got != bytes[f.Stack] {
				t.Errorf("%s after #%d: %d bytes of stack %d are live, replayed %d", what, to, got, f.Stack, bytes[f.Stack])
			}
		}
	}
}

// TestSummariesOfRecordings records programs in all ways that there are: summaries
// say what a replay says.
func TestSummariesOfRecordings(t *testing.T) {
	for _, c := range []struct {
		name, program string
		prepare       func(*testing.T, *Session)
	}{
		{"whole", "phases", nil},
		{"of a function", "phases", func(t *testing.T, s *Session) { recordOnly(t, s, `func("serve")`) }},
		{"of sizes", "basic", func(t *testing.T, s *Session) { recordOnly(t, s, `size >= 200`) }},
		{"over an exec", "exec", nil},
		{"threads", "threads", nil},
		{"reallocs", "sizes", nil},
		{"exceptions", "exceptions", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
				s := open(t, c.program)
				s.Settings.Probe = mode
				if c.prepare != nil {
					c.prepare(t, s)
				}
				if err := s.Recorder.Start(); err != nil {
					t.Fatal(err)
				}
				must(t)(s.Start(nil))
				for s.Mode() == target.Live {
					must(t)(s.Execution.Continue(1))
				}
				src := s.Recorded.Source()
				sumsAreReplay(t, "log", src)
				path := filepath.Join(t.TempDir(), "x.hdb")
				if _, err := s.Captures.Save(path, false); err != nil {
					t.Fatal(err)
				}
				f, err := file.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				sumsAreReplay(t, "capture", f)
			})
		})
	}
}

// TestSummariesOfAPause has blocks whose ends come while nothing else is recorded,
// and others that were made then.
func TestSummariesOfAPause(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "phases")
		s.Settings.Probe = mode
		recordFromMain(t, s)
		if _, err := s.Execution.NextAlloc(10, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Recorder.Pause(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Execution.NextAlloc(20, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Recorder.Resume(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		sumsAreReplay(t, "log", s.Recorded.Source())
	})
}

// TestReplayGoesBothWays visits all allocations of a capture forward and back.
func TestReplayGoesBothWays(t *testing.T) {
	s := open(t, "phases")
	recordFromMain(t, s)
	must(t)(s.Execution.Continue(1))
	path := filepath.Join(t.TempDir(), "x.hdb")
	if _, err := s.Captures.Save(path, false); err != nil {
		t.Fatal(err)
	}
	saved := New(target.Config{})
	defer saved.Close()
	if _, err := saved.Captures.Open(path); err != nil {
		t.Fatal(err)
	}
	visit := func(d query.Direction, from string) (seqs []uint64) {
		r := must(t)(saved.Travel.Goto(query.ParseMoment(from)))
		for !r.Event().Allocates() { // the first and the last event may be another
			r = must(t)(saved.Travel.ReplayTo(t.Context(), d, false, 1, nil))
		}
		seqs = append(seqs, r.Event().Seq)
		for {
			r, err := saved.Travel.ReplayTo(t.Context(), d, false, 1, nil)
			if err != nil {
				return seqs // at an end: what it stopped at was no allocation
			}
			if r.Event().Allocates() {
				seqs = append(seqs, r.Event().Seq)
			}
		}
	}
	there, back := visit(query.Forward, "start"), visit(query.Back, "end")
	slices.Reverse(back)
	if len(there) != 20+30+3+2 || !slices.Equal(there, back) {
		t.Errorf("allocations %d forward, back %d", there, back)
	}
	if _, err := saved.Travel.ReplayTo(t.Context(), query.Back, false, 1, nil); err == nil {
		t.Error("something lies before the first event")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := saved.Travel.Replay(ctx, query.Forward, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestStartIsBeforeTheFirstEvent: goto start moves to the first event, and a comparison with the start counts
// that, of a process and of its capture.
func TestStartIsBeforeTheFirstEvent(t *testing.T) {
	s := open(t, "phases")
	recordFromMain(t, s)
	must(t)(s.Execution.Continue(1))
	path := filepath.Join(t.TempDir(), "x.hdb")
	if _, err := s.Captures.Save(path, false); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Session{"process": s, "capture": reopen(t, path)} {
		first := must(t)(s.Travel.Goto(query.ParseMoment("start"))).Event()
		d := get[*query.Diff](t)(s.Queries.Diff(query.ParseMoment("start"), query.Present, query.PerFunction))
		if first.Seq != 1 || d.FromBlocks != 0 || d.FromElapsed > first.Time || d.ToBlocks != 1 || d.ToBytes != first.Size {
			t.Errorf("%s: at %+v: %+v", name, first.Event, d)
		}
	}
}
