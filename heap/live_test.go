package heap

import (
	"maps"
	"math/rand/v2"
	"testing"

	"hdb/capture"
)

func TestLiveFollowsEvents(t *testing.T) {
	steps := []struct {
		name   string
		event  capture.Event
		bytes  uint64
		blocks int
	}{
		{"malloc", capture.Event{Seq: 1, Kind: capture.Alloc, Addr: 0x1000, Size: 100}, 100, 1},
		{"failed malloc", capture.Event{Seq: 2, Kind: capture.Alloc, Size: 1 << 60, Failed: true}, 100, 1},
		{"realloc that moves", capture.Event{Seq: 3, Kind: capture.Realloc, Old: 0x1000, Addr: 0x2000, Size: 300}, 300, 1},
		{"realloc that fails keeps the old block", capture.Event{Seq: 4, Kind: capture.Realloc, Old: 0x2000, Size: 1 << 60, Failed: true}, 300, 1},
		{"mmap is no block", capture.Event{Seq: 5, Kind: capture.Map, Addr: 0x10000, Size: 8192}, 300, 1},
		{"munmap of its first page", capture.Event{Seq: 6, Kind: capture.Unmap, Addr: 0x10000, Size: 4096}, 300, 1},
		{"free of a block never seen", capture.Event{Seq: 7, Kind: capture.Free, Addr: 0x9999}, 300, 1},
		{"an address reused without a free seen", capture.Event{Seq: 8, Kind: capture.Alloc, Addr: 0x2000, Size: 1}, 1, 1},
		{"realloc to nothing", capture.Event{Seq: 9, Kind: capture.Realloc, Old: 0x2000, Size: 0, Failed: true}, 0, 0},
	}
	l := NewLive()
	for _, s := range steps {
		l.Apply(s.event)
		if l.Bytes() != s.bytes || l.Blocks() != s.blocks {
			t.Fatalf("after %s: %d bytes in %d blocks, want %d in %d", s.name, l.Bytes(), l.Blocks(), s.bytes, s.blocks)
		}
	}
	if l.Peak() != 300 {
		t.Errorf("peak %d, want 300", l.Peak())
	}
}

// FollowAll does what Follow does, whatever happens to the memory of the table and
// however many events it gets at once.
func TestFollowAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one, all := NewLive(), NewLive()
	place := func() uint64 {
		if rng.IntN(20) == 0 {
			return 0
		}
		a := uint64(rng.IntN(1<<(8+rng.IntN(5)))) << (3 + rng.IntN(8))
		if rng.IntN(5000) == 0 {
			a++
		}
		return a
	}
	unseen := 0
	for round := range 4000 {
		if round == 2000 { // from here on it asks for memory ahead
			for i := range uint64(1 << 16) {
				a, b := 1<<30+i<<unitBits, Block{Seq: 1, Size: i}
				one.Put(a, b)
				all.Put(a, b)
			}
			if !all.blocks.large() {
				t.Fatal("the table is not large")
			}
		}
		events := make([]capture.Event, rng.IntN(3*ahead))
		for i := range events {
			e := &events[i]
			*e = capture.Event{Seq: uint64(round*100 + i), Addr: place(), Kind: capture.Free}
			e.Gone.Size = 7 // of the event before it in the same memory
			switch n := rng.IntN(10); {
			case n < 4:
				e.Kind, e.Size, e.Stack = capture.Alloc, uint64(rng.IntN(1<<rng.IntN(14))), capture.StackID(i)
			case n < 6:
				e.Kind, e.Old, e.Size = capture.Realloc, place(), uint64(rng.IntN(100))
			case n < 7:
				e.Kind = capture.Map
			}
			if e.Kind != capture.Free && rng.IntN(20) == 0 {
				e.Failed, e.Addr = true, 0
			}
			if rng.IntN(3000) == 0 {
				e.Size, e.Stack = 1<<(28+rng.IntN(36)), 1<<rng.IntN(32)
			}
		}
		logged := rng.IntN(3) > 0
		for len(events) > 0 {
			n := all.FollowAll(events, logged)
			last := all.Unseen()
			for i := range n {
				e := events[i]
				e.Gone = capture.Gone{}
				gone, ended := one.Follow(&e, logged)
				if e.Gone = gone.Gone(); e.Gone != events[i].Gone || ended && e.Kind == capture.Free && events[i].Size != gone.Size {
					t.Fatalf("%+v ended %v", events[i], gone)
				}
				want := one.Unseen()
				if i == n-1 && want != last || i < n-1 && want != (Block{}) {
					t.Fatalf("event %d of %d left %v to Unseen, not %v", i, n, last, want)
				}
			}
			if last != (Block{}) {
				unseen++
			}
			events = events[n:]
		}
		if round%200 == 0 {
			all.blocks.check(t)
		}
		if one.Blocks() != all.Blocks() || one.Bytes() != all.Bytes() || one.Peak() != all.Peak() {
			t.Fatalf("%d blocks of %d bytes, at most %d, want %d, %d, %d", all.Blocks(), all.Bytes(), all.Peak(), one.Blocks(), one.Bytes(), one.Peak())
		}
	}
	if !maps.Equal(maps.Collect(one.All()), maps.Collect(all.All())) {
		t.Error("the blocks differ")
	}
	if unseen == 0 {
		t.Error("no event left a block to Unseen")
	}
}
