package session

import (
	"fmt"
	"slices"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

// toMalloc runs the program to its first call of malloc, and finds its second instruction.
func toMalloc(t *testing.T, s *Session) (second addr.Run) {
	t.Helper()
	setBreak(t, s, "main")
	must(t)(s.Run(nil))
	if _, err := s.Break("*malloc", true); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Continue(1))
	must(t)(s.StepInstruction(1))
	return pcOf(t, s)
}

func pcOf(t *testing.T, s *Session) addr.Run {
	t.Helper()
	regs, err := s.sel.thread.Regs()
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
		s.Settings.Probe = ProbeOn
		if order == "plain" {
			s.Settings.Probe = ProbeOff
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
			id := s.Stops()[len(s.Stops())-1].ID
			for _, on := range []bool{false, true} {
				if err := s.Enable(id, on); err != nil {
					t.Fatal(err)
				}
				if _, crowded := s.probe.Crowded(second); crowded != on {
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
		r := must(t)(s.Continue(1))
		switch {
		case r.Reason == inferior.Exited:
			return list
		case r.Event != nil:
			list = append(list, fmt.Sprint("event ", r.Event.Size))
		case pcOf(t, s) == place:
			list = append(list, "inside")
		}
		if s.Settings.Probe == ProbeOn && !s.probe.Armed() {
			t.Fatal("plain breakpoints follow the allocators")
		}
	}
}

// TestRunIntoFirstInstructions: what the user runs to is found there, and the jump is back then.
func TestRunIntoFirstInstructions(t *testing.T) {
	s := open(t, "basic")
	s.Settings.Probe = ProbeOn
	second := toMalloc(t, s)
	setBreak(t, s, "alloc if size == 15")
	must(t)(s.Advance(fmt.Sprintf("*%v", second)))
	if pc := pcOf(t, s); pc != second {
		t.Errorf("at %v, want %v", pc, second)
	}
	if _, crowded := s.probe.Crowded(second); crowded {
		t.Error("the jump has not come back")
	}
	if got := stopsOf(t, s, second); !slices.Equal(got, []string{"event 15"}) {
		t.Errorf("%q", got)
	}
}
