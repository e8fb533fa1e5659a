package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/session/target"
	"hdb/testprogs"
)

// next-alloc ends at an event that no numbered stop asked for.
func TestContinueCountAfterNextAlloc(t *testing.T) {
	s := open(t, "basic")
	must(t)(s.Start(nil))
	must(t)(s.Execution.NextAlloc(1, nil))
	if r, err := s.Execution.Continue(3); err == nil {
		t.Errorf("continue 3 went on to %s, want an error: there is no breakpoint to ignore", r.Headline())
	}
	must(t)(s.Execution.Continue(1))
}

// A stop that disabled itself keeps its traps; enabling it must not plant more.
func TestEnableAgainCountsEachHitOnce(t *testing.T) {
	s := open(t, "stops")
	setBreak(t, s, "target")
	st := s.Stops.All()[0]
	st.Left = 1
	must(t)(s.Run(nil))
	if st.Enabled {
		t.Fatal("enable once has not disabled the stop")
	}
	if err := s.Stops.Enable(st.ID, true); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Execution.Continue(1))
	if st.Hits != 2 {
		t.Errorf("%d hits at the second stop", st.Hits)
	}
}

// +N counts from the line selected when the stop was set, also when the stop is
// resolved again.
func TestRelativeLineKeepsItsFile(t *testing.T) {
	s := open(t, "dlopen")
	output(t, s, "")
	setBreak(t, s, "plugin_run")
	must(t)(s.Run(nil))
	setBreak(t, s, "+2")
	if err := s.Stops.Delete(1); err != nil {
		t.Fatal(err)
	}
	st := s.Stops.All()[0]
	if stops := runOut(t, s, must(t)(s.Execution.Continue(1))); stops != 2 {
		t.Errorf("%d stops, want one in each load of the library", stops)
	}
	if !strings.Contains(st.Location, "plugin.c:") {
		t.Errorf("the stop is at %s now, which is %+v", st.Location, st.Places)
	}
}

// An address in a library is no memory when the program starts again.
func TestAddressInLibrarySurvivesRestart(t *testing.T) {
	s := open(t, "basic")
	must(t)(s.Start(nil))
	a, err := s.Memory.Address("strdup")
	if err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, fmt.Sprintf("*%v", a))
	for run := range 2 {
		if stops := runOut(t, s, must(t)(s.Execution.Continue(1))); stops != 1 {
			t.Errorf("run %d: %d stops, want 1", run+1, stops)
		}
		if run == 0 {
			must(t)(s.StartInstruction(nil))
		}
	}
}

// Watchpoints are numbered stops: counted, conditional, ignored and disabled
// like the others. globals.c changes int_value three times.
func TestWatchpointIsANumberedStop(t *testing.T) {
	testprogs.OnMachines(t, machine.DebugRegisters, watchpointIsANumberedStop)
}

func watchpointIsANumberedStop(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Session, *breakpoints.Stop) error
		stops  int
		hits   uint64
	}{
		{name: "plain", change: func(*Session, *breakpoints.Stop) error { return nil }, stops: 3, hits: 3},
		{name: "ignored once", change: func(_ *Session, st *breakpoints.Stop) error { st.Ignore = 1; return nil }, stops: 2, hits: 3},
		{name: "condition", change: func(s *Session, st *breakpoints.Stop) error { return s.Stops.SetCondition(st.ID, "thread == 2") }},
		{name: "disabled", change: func(s *Session, st *breakpoints.Stop) error { return s.Stops.Enable(st.ID, false) }},
		{name: "enabled again", change: func(s *Session, st *breakpoints.Stop) error {
			return errors.Join(s.Stops.Enable(st.ID, false), s.Stops.Enable(st.ID, true))
		}, stops: 3, hits: 3},
		{name: "once", change: func(_ *Session, st *breakpoints.Stop) error { st.Left = 1; return nil }, stops: 1, hits: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, "globals")
			must(t)(s.Start(nil))
			st, err := s.Stops.Watch("int_value", 4, inferior.Write)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.change(s, st); err != nil {
				t.Fatal(err)
			}
			if stops := runOut(t, s, must(t)(s.Execution.Continue(1))); stops != tc.stops || st.Hits != tc.hits {
				t.Errorf("%d stops and %d hits, want %d and %d", stops, st.Hits, tc.stops, tc.hits)
			}
			if st.Enabled {
				t.Error("the watchpoint is still enabled after the end of its process")
			}
		})
	}
}

// next over a line that writes what is watched is a hit, too.
func TestWatchpointWhileStepping(t *testing.T) {
	testprogs.OnMachines(t, machine.DebugRegisters, watchpointWhileStepping)
}

func watchpointWhileStepping(t *testing.T) {
	s := open(t, "globals")
	setBreak(t, s, "step")
	must(t)(s.Run(nil))
	st, err := s.Stops.Watch("int_value", 4, inferior.Write)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		must(t)(s.Stepping.Next(1))
	}
	if st.Hits != 1 {
		t.Errorf("%d hits, want 1", st.Hits)
	}
}

// When the followed child has ended, the parent that was held comes next, and the
// stops are planted in it.
func TestHeldProcessTakesOverWithStops(t *testing.T) {
	s := open(t, "fork")
	s.Settings.FollowChild, s.Settings.KeepForks = true, true
	setBreak(t, s, "work")
	var pids []int
	for r := must(t)(s.Run(nil)); s.Mode() == target.Live; r = must(t)(s.Execution.Continue(1)) {
		if len(r.Hits) > 0 {
			pid, _, _, _ := s.Process()
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 || pids[0] == pids[1] {
		t.Errorf("stops in processes %v, want one in the child and one in the parent", pids)
	}
}

// The same program hits the same stops as often in each run.
func TestHitsCountFromEachRun(t *testing.T) {
	s := open(t, "globals")
	setBreak(t, s, "step")
	for range 2 {
		runOut(t, s, must(t)(s.Run(nil)))
		if hits := s.Stops.All()[0].Hits; hits != 3 {
			t.Errorf("%d hits, want 3", hits)
		}
	}
}

// info breakpoints shows the condition that holds now, not the one typed first.
func TestStopShowsItsPresentCondition(t *testing.T) {
	s := open(t, "globals")
	setBreak(t, s, "alloc thread 1 if size > 4k")
	st := s.Stops.All()[0]
	for _, tc := range []struct{ condition, want string }{
		{"size < 10", "alloc thread 1 if size < 10"},
		{"", "alloc thread 1"},
	} {
		if err := s.Stops.SetCondition(st.ID, tc.condition); err != nil {
			t.Fatal(err)
		}
		if got := st.Spec.String(); got != tc.want {
			t.Errorf("the stop is %q, want %q", got, tc.want)
		}
	}
}

// A stop that asks for the number of an event, or for the live heap, may be set when
// events were recorded that the core has not counted.
func TestStopCountsWhatWasRecorded(t *testing.T) {
	for _, stop := range []string{"alloc #8", "alloc if nth == 8", "alloc if blocks == 7"} {
		s := open(t, "basic")
		recordFromMain(t, s)
		setBreak(t, s, "basic.c:16")
		must(t)(s.Execution.Continue(1)) // six events, of which five blocks are live
		setBreak(t, s, stop)
		must(t)(s.Execution.Continue(1))
		if st := s.Stops.All()[1]; st.Hits != 1 || s.Recorded.Status().Seen != 8 {
			t.Errorf("%s: %d hits in %d events", stop, st.Hits, s.Recorded.Status().Seen)
		}
	}
}

// What a run lost is still told when its process, and the tracer, are gone.
func TestRecordStatusTellsLostCalls(t *testing.T) {
	s := open(t, "basic")
	setBreak(t, s, "alloc")
	must(t)(s.Run(nil))
	cause := errors.New("no return address")
	s.account.Losses.EndTracer(breakpoints.Stats{Lost: 2, LostCause: cause})
	if _, err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if st := s.Recorded.Status(); st.Lost != 2 || len(st.Losses) != 1 || st.Losses[0].Reason != (capture.Reason{Kind: capture.NotFollowed, Text: cause.Error()}) {
		t.Errorf("lost %d: %v", st.Lost, st.Losses)
	}
	must(t)(s.Run(nil))
	if st := s.Recorded.Status(); st.Lost != 0 {
		t.Errorf("%d lost in the next run", st.Lost)
	}
}

// step-mode makes step stop in functions without line information: in printf,
// when the debug file of libc is not used.
func TestStepModeEntersBareFunctions(t *testing.T) {
	for _, bare := range []bool{false, true} {
		s := open(t, "globals")
		s.Settings.DebugDirs, s.Settings.StepIntoBare = []string{t.TempDir()}, bare
		setBreak(t, s, "globals.c:25")
		must(t)(s.Run(nil))
		must(t)(s.Stepping.Step(1))
		f, err := s.Selection.Frame()
		if err != nil {
			t.Fatal(err)
		}
		if inside := strings.HasSuffix(f.Function, "printf"); inside != bare {
			t.Errorf("step-mode %v: step ended in %s:%d", bare, f.Function, f.Line)
		}
	}
}

// A capture is asked about what it holds, not about the run before it.
func TestRecordStatusOfACapture(t *testing.T) {
	testprogs.OnMachines(t, machine.FSGSBase, recordStatusOfACapture)
}

func recordStatusOfACapture(t *testing.T) {
	s := open(t, "basic")
	setBreak(t, s, "malloc")
	must(t)(s.Run(nil))
	file := filepath.Join(t.TempDir(), "c.hdb")
	if _, err := s.Captures.Save(file, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Captures.Open(file); err != nil {
		t.Fatal(err)
	}
	if st := s.Recorded.Status(); st.Recorded != 1 || st.Seen != 11 || st.LiveBlocks != 1 || st.LiveBytes != 100 {
		t.Errorf("%+v, want the one block of 100 bytes", st)
	}
}

// TestPlaceAsksTheHeap stops at a place for what the heap is then, whenever that was set.
func TestPlaceAsksTheHeap(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		for _, condition := range []string{"live == 20000", "blocks == 20", "nth == 20"} {
			s := open(t, "phases")
			s.Settings.Probe = mode
			must(t)(s.Start(nil))
			setBreak(t, s, "serve if "+condition)
			if r := must(t)(s.Execution.Continue(1)); len(r.Hits) != 1 || r.Hits[0].Hits != 1 {
				t.Errorf("%s: stopped for %+v", condition, r)
			}
			if _, err := s.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestPlacesOfASearchThatIsGivenUp: Ctrl-C in a search for places sets no stop on some of
// them, and a stop that is set has all its places even if the run was interrupted before
// they were loaded.
func TestPlacesOfASearchThatIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	givenUp := func() *capture.Reading { return capture.NewReading(ctx) }
	s := open(t, "basic")
	setBreak(t, s, "/^main$/")
	s.Within(givenUp())
	if out, err := s.Stops.BreakRegexp("^main$"); !errors.Is(err, context.Canceled) || len(out) != 0 {
		t.Errorf("rbreak: %d stops, %v", len(out), err)
	}
	s.Within(givenUp())
	if _, err := s.Stops.Break("/^main$/", false); !errors.Is(err, context.Canceled) || len(s.Stops.All()) != 1 {
		t.Errorf("break: %d stops, %v", len(s.Stops.All()), err)
	}
	s.Within(givenUp())
	must(t)(s.Run(nil))
	if st := s.Stops.All()[0]; st.Hits != 1 || st.Pending || len(st.Places) != 1 {
		t.Errorf("hits %d, pending %v, places %v", st.Hits, st.Pending, st.Places)
	}
}
