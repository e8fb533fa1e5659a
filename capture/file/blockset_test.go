package file

import (
	"math/rand/v2"
	"testing"

	"hdb/capture"
)

func TestLiveBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s LiveBlocks
	want := map[uint64]uint64{}
	for seq := range uint64(200000) {
		a := uint64(rng.IntN(3000))*16 + 16
		if rng.IntN(2) == 0 {
			s.Put(&capture.Event{Addr: a, Size: seq, Stack: capture.StackID(seq)}, seq+1)
			want[a] = seq + 1
		} else if b, ok := s.Take(a); b.Seq != want[a] || ok != (b.Seq != 0) || ok && (b.Size != b.Seq-1 || b.Stack != capture.StackID(b.Size)) {
			t.Fatalf("%#x is %+v, want #%d", a, b, want[a])
		} else {
			delete(want, a)
		}
		if s.Len() != len(want) {
			t.Fatalf("%d, want %d", s.Len(), len(want))
		}
	}
	if _, ok := s.Take(0); ok {
		t.Error("0 was in the set")
	}
	s.Clear()
	if _, ok := s.Take(16); ok || s.Len() != 0 {
		t.Error("not empty")
	}
}
