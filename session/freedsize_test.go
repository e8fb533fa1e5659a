package session

import (
	"testing"

	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/session/target"
)

// TestFreeOfUnknownSize: a block that was made before its size could be known stops at no
// condition that compares it, whichever way, and one that is known does.
func TestFreeOfUnknownSize(t *testing.T) {
	for _, mode := range []target.ProbeMode{target.ProbeOn, target.ProbeOff} {
		for _, c := range []struct {
			at, condition string
			stops         bool
		}{
			{"giver", "size < 5000", false}, {"giver", "!(size >= 5000)", false}, {"giver", "size == 0", false},
			{"giver", "size != 3", false}, {"giver", "addr != 0", true}, {"giver", "size < 5000 || addr != 0", true},
			{"main", "size < 5000", true},
		} {
			s := open(t, "tailcalls")
			s.Settings.Probe = mode
			setBreak(t, s, c.at)
			must(t)(s.Run(nil))
			setBreak(t, s, "free if "+c.condition)
			if r := must(t)(s.Execution.Continue(1)); (r.Event() != nil) != c.stops {
				t.Errorf("%v, from %s on, free if %s: %s", mode, c.at, c.condition, r.Headline())
			}
			st := s.Stops.All()[len(s.Stops.All())-1]
			if r := s.account.Rec.Live().Unsized(); c.at == "giver" && r == 0 {
				t.Errorf("%v, free if %s: the block is not counted", mode, c.condition)
			}
			d, _ := s.Stops.Detail(st)
			if asks := st.Cond.Uses(cond.Size); (d.Unsized > 0) != (asks && c.at == "giver") {
				t.Errorf("%v, from %s on, free if %s: %d blocks of unknown size", mode, c.at, c.condition, d.Unsized)
			}
			for s.target.Proc != nil {
				if r := must(t)(s.Execution.Continue(1)); r.Reason == inferior.Exited {
					break
				}
			}
		}
	}
}
