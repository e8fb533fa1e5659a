package session

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/heap"
	"hdb/memory"
	"hdb/session/heaps"
	"hdb/session/target"
)

// TestRecordedBlocksOfNow holds the blocks that the recording follows against those that its events leave, also where
// the recording is stopped and goes on, and what lies around addresses.
func TestRecordedBlocksOfNow(t *testing.T) {
	for _, mode := range []target.ProbeMode{target.ProbeAuto, target.ProbeOff} {
		t.Run(string(mode), func(t *testing.T) { recordedBlocksOfNow(t, mode) })
	}
}

func recordedBlocksOfNow(t *testing.T, mode target.ProbeMode) {
	s := open(t, "held")
	s.Settings.Probe = mode
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"make", "at_rest"} {
		setBreak(t, s, at)
	}
	must(t)(s.Run(nil))
	for stop := range 2 {
		if n := compareRecorded(t, s); n < 20*stop {
			t.Errorf("%d blocks", n)
		}
		if err := s.Recorder.Stop(); err != nil {
			t.Fatal(err)
		}
		compareRecorded(t, s)
		if err := s.Recorder.Start(); err != nil {
			t.Fatal(err)
		}
		if s.Mode() == target.Live {
			must(t)(s.Execution.Continue(0))
		}
	}
}

// compareRecorded returns how many blocks there are.
func compareRecorded(t *testing.T, s *Session) int {
	t.Helper()
	var src memory.Source
	if err := s.Heap.Record(&src, heap.End); err != nil {
		t.Fatal(err)
	}
	got := src.Recorded
	if _, ok := got.(heaps.LiveBlocks); !ok {
		t.Fatalf("%T", got)
	}
	r, err := s.Queries.BlockEvents()
	if err != nil {
		t.Fatal(err)
	}
	if r.Now == nil {
		t.Fatal("the heap is not followed")
	}
	var want []memory.Block
	for _, b := range r.Index.Held(heap.End) {
		want = append(want, heaps.BlockOf(b.Addr, b.Size, b.Seq, b.Stack))
	}
	want = memory.ListRecorded(want)
	all := make([]memory.Block, len(want)+1)
	if n := got.From(0, all); !slices.Equal(all[:n], want) {
		t.Fatalf("%d blocks, the events leave %d:\n%v\n%v", n, len(want), all[:n], want)
	}
	saved := *r
	saved.Now = nil
	random := rand.New(rand.NewPCG(1, 2))
	for range min(200, 200*len(want)) {
		b := want[random.IntN(len(want))]
		if x, ok := got.At(b.Addr); !ok || x != b {
			t.Errorf("at %#x is %v, want %v", b.Addr, x, b)
		}
		at := b.Addr + random.Uint64N(b.Size+100) - 20
		x, y := r.Whence(at), saved.Whence(at)
		if x.Start != y.Start || x.Below != y.Below || x.BelowSize != y.BelowSize || x.Above != y.Above || (x.Event == nil) != (y.Event == nil) {
			t.Errorf("around %#x is %+v, of the events %+v", at, x, y)
		}
	}
	return len(want)
}
