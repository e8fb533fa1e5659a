package heap

import (
	"slices"
	"testing"

	"hdb/capture"
)

// A heap whose end was not seen is another one once a block begins at its address: it has none of the blocks, and is no
// thread's default.
func TestHeapSuperseded(t *testing.T) {
	const at, thread = 0x9000, 1
	l := NewLedger()
	h := NewHeaps(l)
	seq := uint64(0)
	post := func(addr, heap uint64) {
		seq++
		e := capture.Event{Seq: seq, Kind: capture.Alloc, Addr: addr, Size: 16}
		h.Post(&e, heap)
		l.Post(&e, false)
	}
	for _, members := range [][]uint64{{0x1000, 0x2000}, nil} {
		post(at, 0)
		h.SetDefault(thread, at)
		for _, m := range members {
			post(m, at)
		}
		post(at, h.Default(thread)) // made unseen where the old one was
		if got := h.Default(thread); got != 0 {
			t.Errorf("the default is still %#x", got)
		}
		post(0x3000, at)
		if got := h.Destroy(at); !slices.Equal(got, []uint64{0x3000, at}) {
			t.Errorf("with %d members before: ended %#x", len(members), got)
		}
	}
}
