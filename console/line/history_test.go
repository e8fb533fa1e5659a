package line

import (
	"slices"
	"testing"
)

func TestHistoryLimit(t *testing.T) {
	h := History{Limit: 2}
	for _, l := range []string{"a", "b", "c"} {
		h.Add(l)
	}
	if !slices.Equal(h.Lines, []string{"b", "c"}) {
		t.Errorf("lines %q", h.Lines)
	}
}
