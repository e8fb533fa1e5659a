package report

import (
	"slices"
	"testing"
)

// TestMostFreed: whether an interpreter returned its objects before the end.
func TestMostFreed(t *testing.T) {
	for _, c := range []struct {
		live, peak uint64
		want       bool
	}{{0, 0, false}, {0, 500, true}, {250, 500, true}, {251, 500, false}, {500, 500, false}} {
		if got := MostFreed(c.live, c.peak); got != c.want {
			t.Errorf("%d of %d bytes live: %v", c.live, c.peak, got)
		}
	}
}

// TestUsual has a profile shown by its peak where it has ended and that is more.
func TestUsual(t *testing.T) {
	for _, c := range []struct {
		live, peak uint64
		over       bool
		want       Measure
	}{{0, 0, true, Live}, {10, 10, true, Live}, {9, 10, true, Peak}, {0, 10, true, Peak}, {0, 10, false, Live}} {
		p := &Profile{Stacks: []Stack{{Frames: []int{0}, Numbers: Numbers{Live: c.live, Peak: c.peak}}}, Frames: []Frame{{Function: "f"}}}
		p.Over = c.over
		if got := p.Usual(); got != c.want {
			t.Errorf("%+v: %v", c, got)
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
