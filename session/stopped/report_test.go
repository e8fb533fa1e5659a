package stopped

import (
	"testing"

	"hdb/breakpoints"
	"hdb/inferior"
)

func TestHeadline(t *testing.T) {
	stop := &breakpoints.Stop{ID: 2, Hits: 3}
	for _, tc := range []struct {
		r    Report
		want string
	}{
		{Report{Verb: "next", Reason: inferior.Stepped}, "next"},
		{Report{Verb: "next", Reason: inferior.Stepped, Hits: []*breakpoints.Stop{stop}}, "breakpoint 2, hit 3"},
		{Report{Reason: inferior.Interrupted, Hits: []*breakpoints.Stop{stop}, Causes: []Cause{&Interruption{}}}, "breakpoint 2, hit 3: interrupted"},
		{Report{Reason: inferior.Trapped, Hits: []*breakpoints.Stop{stop}, Causes: []Cause{&Met{}, &Occurred{"call to brk"}, &Expired{"n"}}}, "breakpoint 2, hit 3: call to brk"},
	} {
		if got := tc.r.Headline(); got != tc.want {
			t.Errorf("headline %q, want %q", got, tc.want)
		}
	}
}
