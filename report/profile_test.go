package report

import "testing"

// TestEmptied: whether a program that ended is shown by its peak.
func TestEmptied(t *testing.T) {
	for _, c := range []struct {
		live, peak uint64
		python     bool
		want       bool
	}{
		{0, 0, false, false}, {0, 500, false, true}, {5, 500, false, true}, {6, 500, false, false},
		{250, 500, true, true}, // beside what Python gave back, an extension leaked
		{251, 500, true, false}, {500, 500, true, false},
	} {
		if got := Emptied(c.live, c.peak, c.python); got != c.want {
			t.Errorf("%d of %d bytes live, Python %v: %v", c.live, c.peak, c.python, got)
		}
	}
}
