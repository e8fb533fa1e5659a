package session

import (
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
