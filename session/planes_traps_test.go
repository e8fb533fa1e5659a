package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/testprogs"
)

// toMalloc runs the program to its first call of malloc, and finds its second instruction.
func toMalloc(t *testing.T, s *Session) (second addr.Run) {
	t.Helper()
	setBreak(t, s, "main")
	must(t)(s.Run(nil))
	if _, err := s.Stops.Break("*malloc", true); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Execution.Continue(1))
	must(t)(s.Stepping.StepInstruction(1))
	return pcOf(t, s)
}

func pcOf(t *testing.T, s *Session) addr.Run {
	t.Helper()
	regs, err := s.Selection.Cur.Thread.Regs()
	if err != nil {
		t.Fatal(err)
	}
	return regs.PC()
}

// TestBreakInFirstInstructions: a breakpoint among the bytes that the probe's jump replaces
// leaves the probe where it is, whichever was there first, and calls stop at both, as with
// plain breakpoints.
func TestBreakInFirstInstructions(t *testing.T) {
	var plain []string
	for _, order := range []string{"plain", "breakpoint first", "probe first", "disabled and enabled"} {
		s := open(t, "basic")
		s.Settings.Probe = target.ProbeOn
		if order == "plain" {
			s.Settings.Probe = target.ProbeOff
		}
		second := toMalloc(t, s)
		place := fmt.Sprintf("*%v", second)
		if order == "breakpoint first" {
			setBreak(t, s, place)
		}
		setBreak(t, s, "alloc if kind == malloc")
		if order != "breakpoint first" {
			setBreak(t, s, place)
		}
		if order == "disabled and enabled" {
			id := s.Stops.All()[len(s.Stops.All())-1].ID
			for _, on := range []bool{false, true} {
				if err := s.Stops.Enable(id, on); err != nil {
					t.Fatal(err)
				}
				if _, crowded := s.target.Probe.Crowded(second); crowded != on {
					t.Errorf("enabled %v, without a jump %v", on, crowded)
				}
			}
		}
		got := stopsOf(t, s, second)
		if order == "plain" {
			plain = got
		}
		if !slices.Contains(got, "event 15") || !slices.Equal(got, plain) {
			t.Errorf("%s: %q, want %q", order, got, plain)
		}
	}
}

// stopsOf runs the program to its end and tells its events and arrivals at a place.
func stopsOf(t *testing.T, s *Session, place addr.Run) (list []string) {
	t.Helper()
	for {
		r := must(t)(s.Execution.Continue(1))
		switch {
		case r.Reason == inferior.Exited:
			return list
		case r.Event() != nil:
			list = append(list, fmt.Sprint("event ", r.Event().Size))
		case pcOf(t, s) == place:
			list = append(list, "inside")
		}
		if s.Settings.Probe == target.ProbeOn && !s.target.Probe.Armed() {
			t.Fatal("plain breakpoints follow the allocators")
		}
	}
}

// TestRunIntoFirstInstructions: what the user runs to is found there, and the jump is back then.
func TestRunIntoFirstInstructions(t *testing.T) {
	s := open(t, "basic")
	s.Settings.Probe = target.ProbeOn
	second := toMalloc(t, s)
	setBreak(t, s, "alloc if size == 15")
	must(t)(s.Stepping.Advance(fmt.Sprintf("*%v", second)))
	if pc := pcOf(t, s); pc != second {
		t.Errorf("at %v, want %v", pc, second)
	}
	if _, crowded := s.target.Probe.Crowded(second); crowded {
		t.Error("the jump has not come back")
	}
	if got := stopsOf(t, s, second); !slices.Equal(got, []string{"event 15"}) {
		t.Errorf("%q", got)
	}
}

// TestJumpOverThreadOnItsWay: a thread that the trap has led into the probe's code, but not
// yet behind the first instruction, finds its way when a jump is put over what follows.
func TestJumpOverThreadOnItsWay(t *testing.T) {
	s := open(t, "basic")
	s.Settings.Probe = target.ProbeOn
	second := toMalloc(t, s)
	setBreak(t, s, "alloc if size == 15")
	setBreak(t, s, fmt.Sprintf("*%v", second))
	inside := s.Stops.All()[len(s.Stops.All())-1].ID
	setBreak(t, s, "*malloc")
	must(t)(s.Execution.Continue(1))
	must(t)(s.Execution.Continue(1))
	if stop, err := s.target.Proc.StepInstruction(s.Selection.Cur.Thread); err != nil || stop.Reason != inferior.Stepped || !s.target.Probe.Covers(pcOf(t, s)) {
		t.Fatalf("%v, %v, at %v", stop.Reason, err, pcOf(t, s))
	}
	for _, id := range []int{inside, inside + 1} {
		if err := s.Stops.Delete(id); err != nil {
			t.Fatal(err)
		}
	}
	if _, crowded := s.target.Probe.Crowded(second); crowded {
		t.Error("the jump has not come back")
	}
	if r := must(t)(s.Execution.Continue(1)); r.Event() == nil {
		t.Fatalf("%s", r.Headline())
	}
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
		t.Errorf("%s", r.Headline())
	}
}

// TestStepIntoFollowed steps through malloc and back: the program's own instructions are
// seen, as without the probe, and the call is followed.
func TestStepIntoFollowed(t *testing.T) {
	var paths [3][]addr.Run
	for i, stop := range []string{"", "alloc if size == 15", "alloc if nth > 1000 || live > 1G"} {
		s := open(t, "basic")
		s.Settings.Probe = target.ProbeOn
		setBreak(t, s, "main")
		must(t)(s.Run(nil))
		if stop != "" {
			setBreak(t, s, stop)
		}
		setBreak(t, s, "*malloc")
		must(t)(s.Execution.Continue(1))
		if i == 0 {
			if err := s.Stops.Delete(2); err != nil {
				t.Fatal(err)
			}
		}
		low := pcOf(t, s)
		for range 5000 {
			must(t)(s.Stepping.StepInstruction(1))
			pc := pcOf(t, s)
			paths[i] = append(paths[i], pc)
			if s.Selection.Cur.Stack.Frames[0].Function == "main" {
				break
			}
		}
		if n := len(paths[i]); n < 20 || paths[i][0] <= low || paths[i][0] > low+15 {
			t.Errorf("%q: %d instructions, %v to %v", stop, n, paths[i][0], paths[i][n-1])
		}
		if !slices.Equal(paths[i], paths[0]) {
			t.Errorf("%q: %v\nwant %v", stop, paths[i], paths[0])
		}
		if stop == "" {
			continue
		}
		if err := s.Stops.Delete(3); err != nil {
			t.Fatal(err)
		}
		if r := must(t)(s.Execution.Continue(1)); (r.Event() != nil) != (i == 1) {
			t.Errorf("%q: %s", stop, r.Headline())
		}
	}
}

// TestCrowdedStorm puts jumps and traps in each other's place while many threads allocate.
func TestCrowdedStorm(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	s := open(t, "storm_churn")
	s.Settings.Probe = target.ProbeOn
	s.Settings.Args = "1000000 > /dev/null"
	second := toMalloc(t, s)
	setBreak(t, s, "alloc if size == 123456789")
	for range rounds {
		setBreak(t, s, fmt.Sprintf("*%v", second))
		id := s.Stops.All()[len(s.Stops.All())-1].ID
		for range 3 {
			if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Trapped {
				t.Fatal(r.Headline())
			}
		}
		if err := s.Stops.Delete(id); err != nil {
			t.Fatal(err)
		}
		if r := must(t)(s.Stepping.Advance("*free")); r.Reason != inferior.Trapped {
			t.Fatal(r.Headline())
		}
	}
}

// TestHardwareBreakWhileRunning: threads that run take up a debug register that is set meanwhile,
// as for a library that another thread loads.
func TestHardwareBreakWhileRunning(t *testing.T) {
	testprogs.OnMachines(t, machine.DebugRegisters, hardwareBreakWhileRunning)
}

func hardwareBreakWhileRunning(t *testing.T) {
	s := open(t, "spin")
	setBreak(t, s, "main")
	must(t)(s.Run(nil))
	p := s.target.Proc
	done := make(chan bool)
	go func() {
		for !s.target.Going.Load() {
			time.Sleep(time.Millisecond)
		}
		p.Wake(func() {
			if _, err := s.Stops.HardwareBreak("turn", false); err != nil {
				t.Error(err)
			}
		})
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = p.Interrupt()
		}
	}()
	if r := must(t)(s.Execution.Continue(1)); len(r.Hits) != 1 || !r.Hits[0].Hardware {
		t.Errorf("stopped by %s", r.Headline())
	}
	close(done)
}

// TestCatchOfFollowedCall: a call that is caught and followed is an event when it is made, behind its
// instruction, and not while the thread still stands before it.
func TestCatchOfFollowedCall(t *testing.T) {
	s := open(t, "bare")
	s.Settings.SystemCalls = true
	must(t)(s.Start(nil))
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Catches.SystemCalls([]string{"munmap"}, ""); err != nil {
		t.Fatal(err)
	}
	r := must(t)(s.Execution.Continue(1))
	for occurredAt(r) != "call to munmap" || r.Frames[0].Function != "call" {
		r = must(t)(s.Execution.Continue(1))
	}
	before := s.account.Rec.Seq()
	r = must(t)(s.Execution.Continue(1))
	if now := s.account.Rec.Seq(); occurredAt(r) != "returned from munmap = 0" || before != 8 || now != 9 {
		t.Errorf("%s, %d events, then %d: want 8 and 9", r.Headline(), before, now)
	}
}

// occurredAt is what a stop is at, "" if it is at no such thing.
func occurredAt(r *stopped.Report) string {
	if o := stopped.CauseOf[*stopped.Occurred](r); o != nil {
		return o.Text
	}
	return ""
}
