package capture

import (
	"slices"
	"testing"
)

// TestReasonKinds holds the numbers of kinds, which files have.
func TestReasonKinds(t *testing.T) {
	for kind, want := range map[ReasonKind]int{BeganLate: 1, OnlyEvents: 9, OpenEnd: 14, Failed: 15, RingFull: 16, DamagedEnd: 21, PythonHeap: 22, NoAllocator: 23, AtStops: 24} {
		if int(kind) != want {
			t.Errorf("a kind has number %d, not %d", kind, want)
		}
	}
}

func TestReasons(t *testing.T) {
	first := Reasons{{OnlyEvents, "size > 1"}, {Kind: Paused}}
	all := first.With(Reason{OnlyEvents, "size > 2"}, Reason{Kind: Paused}, Reason{Kind: Trimmed})
	want := Reasons{{OnlyEvents, "size > 1"}, {Kind: Paused}, {OnlyEvents, "size > 2"}, {Kind: Trimmed}}
	if !slices.Equal(all, want) {
		t.Errorf("with more: %+v, want %+v", all, want)
	}
	if got := all.Without(OnlyEvents, Trimmed); !slices.Equal(got, Reasons{{Kind: Paused}}) || len(all) != 4 || !all.Has(Trimmed) || got.Has(Trimmed) {
		t.Errorf("without: %+v", got)
	}
}
