package paged

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestList holds a list against a slice.
func TestList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l List[uint32]
	var want []uint32
	for range 2000 {
		switch r.IntN(4) {
		case 0:
			l.Append(uint32(len(want)))
			want = append(want, uint32(len(want)))
		case 1:
			more := make([]uint32, r.IntN(500))
			for i := range more {
				more[i] = r.Uint32()
			}
			l.AppendAll(more)
			want = append(want, more...)
		case 2:
			for range min(r.IntN(3), len(want)) {
				l.DropLast()
				want = want[:len(want)-1]
			}
		case 3:
			if len(want) > 0 {
				i := r.IntN(len(want))
				*l.At(i) = 7
				want[i] = 7
			}
		}
		if l.Len() != len(want) {
			t.Fatalf("%d elements instead of %d", l.Len(), len(want))
		}
	}
	low := r.IntN(100)
	var got []uint32
	for i := low; i < l.Len(); {
		part := l.Part(i, l.Len())
		got = append(got, part...)
		i += len(part)
	}
	if !slices.Equal(got, want[low:]) || len(want) < 3*pieceLen {
		t.Errorf("%d elements from %d on are others than those of %d that were added", len(got), low, len(want))
	}
	if part := l.Part(5, 5); len(part) != 0 {
		t.Errorf("%d elements of none", len(part))
	}
}
