package session

import (
	"testing"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/python"
	"hdb/session/pystops"
)

// TestPythonLineGone drops the watch of a line whose code is gone from all stops that it serves.
func TestPythonLineGone(t *testing.T) {
	s := open(t, "globals")
	must(t)(s.Start(nil))
	v, err := s.Stops.Watch("int_value", 0, inferior.Write)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.target.Proc.BreakOnAccess(s.Stops.binds[v.ID].watch.Addr, 2, inferior.ReadWrite, func(*inferior.Thread) inferior.Action { return inferior.Resume })
	if err != nil {
		t.Fatal(err)
	}
	l := &pystops.Line{Place: python.Place{Body: &python.Body{}}, Watch: w}
	for range 3 {
		st := breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopPython})
		s.demand.stops.Add(st)
		s.Stops.binds[st.ID] = &binding{}
		s.Stops.python.Serve(st, l)
	}
	all := append([]*breakpoints.Stop{}, l.Users...)
	s.Stops.python.Gone(l)
	for _, st := range all {
		if s.Stops.python.Watches(st) != 0 || !st.Pending {
			t.Errorf("breakpoint %d has places still", st.ID)
		}
	}
	if len(l.Users) != 0 {
		t.Errorf("%d stops use the line", len(l.Users))
	}
}
