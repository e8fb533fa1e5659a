package heap

import (
	"maps"
	"math/rand"
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

// Whether a heap is a default is known without asking each thread: how many use it is right after any sequence.
func TestHeapUsers(t *testing.T) {
	l := NewLedger()
	h := NewHeaps(l)
	random := rand.New(rand.NewSource(1))
	for step := range 2000 {
		thread, at := int32(random.Intn(6)), uint64(0x9000+16*random.Intn(5))
		switch random.Intn(8) {
		case 0:
			h.Delete(at)
		case 1:
			h.Destroy(at)
		case 2, 3:
			e := capture.Event{Seq: uint64(step + 1), Kind: capture.Alloc, Addr: at, Size: 16}
			h.Post(&e, 0)
			l.Post(&e, false)
		default: // for a heap that is no block, too
			h.SetDefault(thread, at+uint64(random.Intn(8)/7))
		}
		want := map[uint64]int{}
		for _, heap := range h.defaults {
			want[heap]++
		}
		if !maps.Equal(h.users, want) {
			t.Fatalf("step %d: heaps of threads %v are used by %v", step, h.defaults, h.users)
		}
	}
}

// BenchmarkPostDefaults posts blocks of a program whose many threads have each chosen a heap.
func BenchmarkPostDefaults(b *testing.B) {
	l := NewLedger()
	h := NewHeaps(l)
	for i := range 10000 {
		e := capture.Event{Seq: uint64(i + 1), Kind: capture.Alloc, Addr: uint64(16 * (i + 1)), Size: 16}
		l.Post(&e, false)
		h.SetDefault(int32(i), e.Addr)
	}
	for i := range b.N {
		h.Post(&capture.Event{Kind: capture.Alloc, Addr: uint64(1<<30 + 16*i), Size: 16}, 0)
	}
}
