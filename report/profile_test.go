package report

import (
	"slices"
	"testing"
)

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

// TestCounted has mappings among the stacks at each moment of a profile, and leaves the profile as it is.
func TestCounted(t *testing.T) {
	p := &Profile{
		Stacks: []Stack{{ID: 1}}, MappedStacks: []Stack{{ID: 2, Mapped: true}, {ID: 3, Mapped: true}},
		Snapshots: []Snapshot{
			{Moment: Moment{Seq: 1, Live: 10, Blocks: 1}, Stacks: []uint64{10}, Mapped: []uint64{100, 0}},
			{Moment: Moment{Seq: 2, Live: 20, Blocks: 2}, Stacks: []uint64{20}, Mapped: []uint64{0, 300}},
		},
	}
	all := p.Counted()
	for i, want := range [][]uint64{{10, 100, 0}, {20, 0, 300}} {
		if s := all.Snapshots[i]; !slices.Equal(s.Stacks, want) || s.Mapped != nil || s.Live != want[0]+want[1]+want[2] || s.Blocks != p.Snapshots[i].Blocks {
			t.Errorf("snapshot %d: %+v, want %d", i, s, want)
		}
	}
	if len(all.Stacks) != 3 || len(all.MappedStacks) != 0 || len(p.Stacks) != 1 || p.Snapshots[1].Live != 20 {
		t.Errorf("%+v of %+v", all, p)
	}
}
