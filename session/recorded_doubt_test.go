package session

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/query"
	"hdb/report"
	"hdb/session/target"
)

// stopRecord ends the recording.
func stopRecord(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Recorder.Stop(); err != nil {
		t.Fatal(err)
	}
}

// startRecord begins it, or goes on with it.
func startRecord(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
}

// wantPartial checks the reasons why a recording is partial, and whether blocks that
// seem to live may not.
func wantPartial(t *testing.T, s *Session, doubt bool, kinds ...capture.ReasonKind) {
	t.Helper()
	var why capture.Reasons
	for _, kind := range kinds {
		why = append(why, capture.Reason{Kind: kind})
	}
	if got := s.Recorded.Partial(); !slices.Equal(got, why) {
		t.Errorf("partial because %+v, want %+v", got, why)
	}
	if got := s.Recorded.Doubt(); (got != report.NoDoubt) != doubt {
		t.Errorf("doubt %d, want one: %v", got, doubt)
	}
}

// saveAndOpen is the recording as a capture.
func saveAndOpen(t *testing.T, s *Session) *Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.hdb")
	if _, err := s.Captures.Save(path, false); err != nil {
		t.Fatal(err)
	}
	return reopen(t, path)
}

// beforeUnload records phases up to where it gives its blocks back, and has it stop behind
// that, too.
func beforeUnload(t *testing.T, mode target.ProbeMode) *Session {
	t.Helper()
	s := open(t, "phases")
	s.Settings.Probe = mode
	recordFromMain(t, s)
	setBreak(t, s, "unload")
	setBreak(t, s, "phases.c:52")
	must(t)(s.Execution.Continue(1))
	return s
}

// TestGapInARecording frees recorded blocks while the recording is stopped.
func TestGapInARecording(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := beforeUnload(t, mode)
		wantPartial(t, s, false, capture.StartedLate)
		stopRecord(t, s)
		wantPartial(t, s, false, capture.StartedLate, capture.EndedEarly)
		startRecord(t, s) // the program did not run on
		wantPartial(t, s, false, capture.StartedLate)
		stopRecord(t, s)
		must(t)(s.Execution.Continue(1))
		wantPartial(t, s, true, capture.StartedLate, capture.EndedEarly)
		startRecord(t, s)
		wantPartial(t, s, true, capture.StartedLate, capture.Stopped, capture.FreedUnseen)
		must(t)(s.Execution.Continue(1))
		wantPartial(t, s, true, capture.StartedLate, capture.Stopped, capture.FreedUnseen)
		if st := s.Recorded.Status(); st.KeptBlocks != 23 || st.Doubt == report.NoDoubt {
			t.Errorf("status %+v", st)
		}
		saved := saveAndOpen(t, s)
		wantPartial(t, saved, true, capture.StartedLate, capture.Stopped, capture.FreedUnseen)
		if st := saved.Recorded.Status(); st.Doubt == report.NoDoubt {
			t.Errorf("status of the capture %+v", st)
		}
		must(t)(s.Start(nil)) // of another run all is known
		wantPartial(t, s, false)
	})
}

// TestPauseIsNoGap frees the same blocks while it is paused.
func TestPauseIsNoGap(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := beforeUnload(t, mode)
		if err := s.Recorder.Pause(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		if err := s.Recorder.Resume(); err != nil {
			t.Fatal(err)
		}
		wantPartial(t, s, false, capture.StartedLate, capture.Paused)
		if st := s.Recorded.Status(); st.KeptBlocks != 3 || st.Doubt != report.NoDoubt {
			t.Errorf("status %+v", st)
		}
	})
}

// TestGapWithoutBlocks has no recorded block that might end in it.
func TestGapWithoutBlocks(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "phases")
		s.Settings.Probe = mode
		setBreak(t, s, "report")
		setBreak(t, s, "unload")
		setBreak(t, s, "phases.c:52")
		must(t)(s.Run(nil))
		startRecord(t, s)
		must(t)(s.Execution.Continue(1))
		stopRecord(t, s)
		must(t)(s.Execution.Continue(1))
		startRecord(t, s)
		must(t)(s.Execution.Continue(1))
		wantPartial(t, s, false, capture.StartedLate, capture.Stopped)
		wantCalls(t, s, "#1 malloc 4096", "#2 realloc 1048576", "#3 free 1048576")
	})
}

// TestStepsAreAGap frees a recorded block by steps of instructions.
func TestStepsAreAGap(t *testing.T) {
	s := open(t, "phases")
	recordFromMain(t, s)
	must(t)(s.Execution.NextAlloc(1, nil))
	stopRecord(t, s)
	must(t)(s.Stepping.StepInstruction(1))
	startRecord(t, s)
	wantPartial(t, s, true, capture.StartedLate, capture.Stopped, capture.FreedUnseen)
}

// TestAddressAfterAGap hands out the address of a block that was freed in a gap.
func TestAddressAfterAGap(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "phases")
		s.Settings.Probe = mode
		recordFromMain(t, s)
		size, err := cond.Parse("size == 64")
		if err != nil {
			t.Fatal(err)
		}
		first := must(t)(s.Execution.NextAlloc(1, size))
		stopRecord(t, s)
		setBreak(t, s, "serve")
		must(t)(s.Execution.Continue(1))
		startRecord(t, s)
		second := must(t)(s.Execution.NextAlloc(1, size))
		if first.Event().Addr != second.Event().Addr {
			t.Fatalf("%#x, then %#x: the test needs the same address", first.Event().Addr, second.Event().Addr)
		}
		for _, s := range []*Session{s, saveAndOpen(t, s)} {
			live, err := s.Queries.Live(t.Context(), size, query.Present, 0)
			if err != nil || live.Blocks != 1 || live.Largest[0].Seq != second.Event().Seq {
				t.Errorf("live %+v: %v", live, err)
			}
		}
		wantPartial(t, s, true, capture.StartedLate, capture.Stopped, capture.FreedUnseen)
	})
}

// TestStopsAfterTheRecording are not recorded, while it is paused they are. Of what was
// recorded the end is, in both cases.
func TestStopsAfterTheRecording(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		for _, paused := range []bool{false, true} {
			s := open(t, "basic")
			s.Settings.Probe = mode
			recordFromMain(t, s)
			setBreak(t, s, "alloc if size == 200 || size == 4096")
			must(t)(s.Execution.Continue(1))
			want := []string{"#1 malloc 100", "#2 calloc 200"}
			if paused {
				if err := s.Recorder.Pause(); err != nil {
					t.Fatal(err)
				}
				want = append(want, "#5 posix_memalign 4096", "#12 free 4096")
			} else {
				stopRecord(t, s)
			}
			if r := must(t)(s.Execution.Continue(1)); r.Event() == nil || r.Event().Size != 4096 {
				t.Fatalf("stopped for %+v", r)
			}
			if st := s.Recorded.Status(); !paused && (st.KeptBlocks != 2 || st.KeptBytes != 300) {
				t.Errorf("status %+v", st)
			}
			must(t)(s.Execution.Continue(1))
			wantCalls(t, s, append(want, "#14 free 200", "#15 free 100")...)
		}
	})
}

// TestMovedAway has a block whose allocation a stop has recorded moved and freed.
func TestMovedAway(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "phases")
		s.Settings.Probe = mode
		must(t)(s.Start(nil))
		setBreak(t, s, "alloc if size == 4096")
		setBreak(t, s, "unload")
		must(t)(s.Execution.Continue(1))
		must(t)(s.Execution.Continue(1))
		live, err := s.Queries.Live(t.Context(), nil, query.Present, 0)
		if err != nil {
			t.Fatal(err)
		}
		unsure := mode == target.ProbeOn // where a call that no stop wants is seen late
		if got := s.Recorded.Doubt() != report.NoDoubt; got != unsure || live.Blocks > 0 && !got {
			t.Errorf("%d blocks live, doubt %d", live.Blocks, s.Recorded.Doubt())
		}
		if got := s.Recorded.Partial().Has(capture.FreedUnseen); got != unsure {
			t.Errorf("partial %+v", s.Recorded.Partial())
		}
	})
}

// TestCountsInDoubt sets conditions about the live heap when it is known, and when not.
func TestCountsInDoubt(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "phases")
		s.Settings.Probe = mode
		var said []string
		s.target.Config.Notify = func(line string) { said = append(said, line) }
		says := func(when string, want ...string) {
			t.Helper()
			fits := len(said) == len(want)
			for i := range want {
				fits = fits && strings.Contains(said[i], want[i])
			}
			if !fits {
				t.Errorf("%s: said %q, want %q", when, said, want)
			}
			said = nil
		}
		const low, unknown = "live and blocks may be too low", "live and blocks are unknown"
		doubt := func(id int) string {
			t.Helper()
			st, err := s.Stops.At(id)
			if err != nil {
				t.Fatal(err)
			}
			d, _ := s.Stops.Detail(st)
			return report.DoubtText(d.Doubt)
		}
		setBreak(t, s, "alloc if blocks > 1000")
		must(t)(s.Start(nil))
		setBreak(t, s, "alloc if live > 1GiB")
		says("followed from the beginning")
		if d := doubt(1); d != "" {
			t.Errorf("detail %q", d)
		}
		for _, id := range []int{1, 2} {
			if err := s.Stops.Enable(id, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Start(nil))
		setBreak(t, s, "serve if live > 1") // in front of which a block is allocated
		says("set at main", low)
		if d := doubt(3); !strings.HasPrefix(d, low) {
			t.Errorf("detail %q", d)
		}
		must(t)(s.Execution.Continue(1))
		if err := s.Stops.Enable(3, false); err != nil {
			t.Fatal(err)
		}
		setBreak(t, s, "report")
		must(t)(s.Execution.Continue(1))
		says("nothing set")
		if err := s.Stops.Enable(1, true); err != nil {
			t.Fatal(err)
		}
		says("enabled after a gap", unknown)
		if err := s.Stops.SetCondition(2, "size > 1"); err != nil {
			t.Fatal(err)
		}
		says("no question about the heap")
		if d := doubt(1); !strings.HasPrefix(d, unknown) || doubt(2) != "" {
			t.Errorf("details %q, %q", d, doubt(2))
		}
	})
}

// TestRejectedCallsAreNotLive has the probe narrow a condition, so that hdb sees
// allocations of which it will see no end.
func TestRejectedCallsAreNotLive(t *testing.T) {
	s := open(t, "phases")
	must(t)(s.Start(nil))
	setBreak(t, s, `alloc if size == 1000 && caller("nobody")`)
	setBreak(t, s, "unload")
	must(t)(s.Execution.Continue(1))
	if st := s.Recorded.Status(); st.LiveBlocks != 0 {
		t.Errorf("status %+v", st)
	}
	if _, err := s.Queries.Top(heap.ByLive, query.PerFunction); err == nil {
		t.Error("there are recorded events")
	}
}
