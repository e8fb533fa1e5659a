package session

import (
	"strings"
	"testing"

	"hdb/session/target"
	"hdb/testprogs"
)

// TestStopAtTypeAndVariable stops a Go program at a block of a type where a variable of the function
// that made it has a value: the type is asked beside the program's variables.
func TestStopAtTypeAndVariable(t *testing.T) {
	program := testprogs.Build(t, "golang")
	for _, c := range []struct {
		cond  string
		probe target.ProbeMode
		hits  int
	}{
		{`type("main.page") && n == 10`, target.ProbeOn, 1},
		{`n == 10 && type("main.page")`, target.ProbeOn, 1},
		{`type("main.page") && (n == 10 || size == 1)`, target.ProbeOff, 1},
		{`type("main.page") && n == 11`, target.ProbeOn, 0},
		{`type("main.other") && n == 10`, target.ProbeOn, 0},
		{`type("main.page") && nosuch == 3`, target.ProbeOn, 0},
	} {
		s := open(t, "golang")
		s.Settings.Probe = c.probe
		if _, err := s.Load(program); err != nil {
			t.Fatal(err)
		}
		setBreak(t, s, "alloc if "+c.cond)
		st := s.Stops.All()[0]
		r := must(t)(s.Run(nil))
		if int(st.Hits) != c.hits {
			t.Errorf("%s, probe %v: %d hits, want %d: %s", c.cond, c.probe, st.Hits, c.hits, r.Headline())
		}
		if d, _ := s.Stops.Detail(st); strings.Contains(c.cond, "nosuch") && d.Undecided == 0 {
			t.Errorf("%s: no event at which a variable had no value", c.cond)
		}
	}
}
