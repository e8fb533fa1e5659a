package session

import (
	"testing"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/python"
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
	l := &pythonLine{Place: python.Place{Body: &python.Body{}}, watch: w}
	for range 3 {
		st := breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopPython})
		s.demand.stops.Add(st)
		s.Stops.binds[st.ID] = &binding{lines: []*pythonLine{l}}
		l.users = append(l.users, st)
	}
	all := append([]*breakpoints.Stop{}, l.users...)
	s.Stops.python.gone(l)
	for _, st := range all {
		if len(s.Stops.binds[st.ID].lines) != 0 || !st.Pending {
			t.Errorf("breakpoint %d has places still", st.ID)
		}
	}
	if len(l.users) != 0 {
		t.Errorf("%d stops use the line", len(l.users))
	}
}
