package session

import (
	"fmt"
	"strings"
	"testing"
)

// next-alloc ends at an event that no numbered stop asked for.
func TestContinueCountAfterNextAlloc(t *testing.T) {
	s := open(t, "basic")
	must(t)(s.Start(nil))
	must(t)(s.NextAlloc(1, nil))
	if r, err := s.Continue(3); err == nil {
		t.Errorf("continue 3 went on to %s, want an error: there is no breakpoint to ignore", r.Headline())
	}
	must(t)(s.Continue(1))
}

// A stop that disabled itself keeps its traps; enabling it must not plant more.
func TestEnableAgainCountsEachHitOnce(t *testing.T) {
	s := open(t, "stops")
	setBreak(t, s, "target")
	st := s.Stops()[0]
	st.Left = 1
	must(t)(s.Run(nil))
	if st.Enabled {
		t.Fatal("enable once has not disabled the stop")
	}
	if err := s.Enable(st.ID, true); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Continue(1))
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
	if err := s.Delete(1); err != nil {
		t.Fatal(err)
	}
	st := s.Stops()[0]
	if stops := runOut(t, s, must(t)(s.Continue(1))); stops != 2 {
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
	a, err := s.Address("strdup")
	if err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, fmt.Sprintf("*%v", a))
	for run := range 2 {
		if stops := runOut(t, s, must(t)(s.Continue(1))); stops != 1 {
			t.Errorf("run %d: %d stops, want 1", run+1, stops)
		}
		if run == 0 {
			must(t)(s.StartInstruction(nil))
		}
	}
}
