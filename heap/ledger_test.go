package heap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
)

func TestLedger(t *testing.T) {
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
	l := NewLedger()
	for _, s := range steps {
		l.Post(&s.event, true)
		if l.Bytes() != s.bytes || l.Blocks() != s.blocks {
			t.Fatalf("after %s: %d bytes in %d blocks, want %d in %d", s.name, l.Bytes(), l.Blocks(), s.bytes, s.blocks)
		}
	}
	if l.Peak() != 300 {
		t.Errorf("peak %d, want 300", l.Peak())
	}
}

// PostAll does what Post does, whatever happens to the memory of the table and
// however many events it gets at once.
func TestPostAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one, all := NewLedger(), NewLedger()
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
			e.Ended.Size = 7 // of the event before it in the same memory
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
		unseen += postBoth(t, one, all, events, logged)
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
		t.Error("no event ended a block that nobody saw end")
	}
}

// A cell has no room for the numbers of a recording beyond all measure.
func TestPostAllLargeNumbers(t *testing.T) {
	for _, last := range []uint64{maxSeq, maxSeq + 1, 1 << 63} {
		l := NewLedger()
		for i, e := range []capture.Event{{Addr: 0x1000, Size: 8}, {Addr: 0x1010, Size: 8}} {
			e.Seq = last - 1 + uint64(i)
			l.PostAll([]capture.Event{e}, true)
			if b, _ := l.At(e.Addr); b.Seq != e.Seq {
				t.Errorf("the block of #%d is that of #%d", e.Seq, b.Seq)
			}
		}
	}
}

// postPlain posts what most events are, and leaves the others to what follows.
func TestPostPlain(t *testing.T) {
	const at, warm = 0x10000, 64 // the first of the blocks that were there before, and how many
	alloc := func(i int, size uint64) capture.Event {
		return capture.Event{Kind: capture.Alloc, Addr: at + uint64(i)<<5, Size: size}
	}
	free := func(i int) capture.Event { return capture.Event{Kind: capture.Free, Addr: at + uint64(i)<<5} }
	var pairs []capture.Event
	for i := range warm {
		pairs = append(pairs, alloc(i, uint64(i)))
	}
	for i := range warm {
		pairs = append(pairs, free(i), alloc(i, 7), free(i))
	}
	for _, c := range []struct {
		name   string
		events []capture.Event
		plain  uint
	}{
		{"blocks where others were", pairs, uint(len(pairs))},
		{"realloc of nothing", []capture.Event{{Kind: capture.Realloc, Addr: at, Size: 8}}, 1},
		{"realloc", []capture.Event{alloc(0, 8), {Kind: capture.Realloc, Old: at, Addr: at, Size: 16}}, 1},
		{"failed", []capture.Event{alloc(0, 8), {Kind: capture.Alloc, Size: 1 << 60, Failed: true}}, 1},
		{"mapping", []capture.Event{alloc(0, 8), {Kind: capture.Map, Addr: at, Size: 4096}}, 1},
		{"where a block is", []capture.Event{alloc(0, 8), alloc(0, 8)}, 1},
		{"of no block", []capture.Event{alloc(0, 8), free(0), free(0)}, 2},
		{"too large", []capture.Event{alloc(0, maxSize), alloc(1, maxSize+1)}, 1},
		{"where none was", []capture.Event{alloc(0, 8), {Kind: capture.Alloc, Addr: 2 * at, Size: 8}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger()
			for i := range warm {
				l.Put(alloc(i, 0).Addr, Block{Seq: 1, Size: 8})
			}
			for i := range warm {
				l.Take(alloc(i, 0).Addr)
			}
			for i := range c.events {
				c.events[i].Seq = uint64(i + 2)
			}
			if n := l.postPlain(c.events, 0, cellFlags(true)); n != c.plain {
				t.Errorf("%d of %d events, want %d", n, len(c.events), c.plain)
			}
			l.blocks.check(t)
		})
	}
}

// A cell that a block has left stays for the next one there while its leaf has room for
// others.
func TestEmptyCellsStay(t *testing.T) {
	for _, below := range []uint64{0x1000, 0x1010, 0x1030} {
		l := NewLedger()
		l.Put(0x1020, Block{Seq: 1, Size: 8})
		l.Put(0x1040, Block{Seq: 2, Size: 8})
		l.Take(0x1040)
		l.Take(0x1020)
		if f := l.blocks.at(l.blocks.index(placeOf(0x1020))); f.left == 0 {
			t.Fatal("the leaf has no room")
		}
		l.PostAll([]capture.Event{{Seq: 3, Kind: capture.Alloc, Addr: below, Size: 8}}, true)
		for _, a := range []uint64{0x1020, 0x1040, below} {
			if l.blocks.cell(placeOf(a)) == nil {
				t.Errorf("a block at %#x has taken the cell of %#x", below, a)
			}
		}
		l.blocks.check(t)
	}
}

// FuzzPostAll holds PostAll against Post, event by event, for histories made of any bytes:
// four for an event, and one for where a batch ends.
func FuzzPostAll(f *testing.F) {
	f.Add([]byte("\x00\x01\x10\x02\x01\x01\x00\x00\x02\x09\x08\x01"))
	rng := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		one, all := NewLedger(), NewLedger()
		logged := len(b)%3 > 0
		var batch []capture.Event
		for seq := uint64(1); len(b) >= 4; b = b[4:] {
			e := capture.Event{Seq: seq, Addr: uint64(b[1]%24) << unitBits, Size: uint64(b[2]) << (b[3] % 28), Stack: capture.StackID(b[3])}
			switch seq++; b[0] % 8 {
			case 0, 1, 2:
				e.Kind = capture.Alloc
			case 3, 4, 5:
				e.Kind, e.Size = capture.Free, 0
			case 6:
				e.Kind, e.Old = capture.Realloc, uint64(b[2]%24)<<unitBits
			default:
				e.Kind, e.Old, e.Addr, e.Failed, e.Size = capture.Realloc, e.Addr, 0, true, uint64(b[2]%2)
			}
			if batch = append(batch, e); b[0] < 200 && len(b) >= 8 {
				continue
			}
			postBoth(t, one, all, batch, logged)
			batch = batch[:0]
		}
		if !maps.Equal(maps.Collect(one.All()), maps.Collect(all.All())) || one.Bytes() != all.Bytes() || one.Peak() != all.Peak() || one.Strays() != all.Strays() {
			t.Error("the heaps differ")
		}
	})
}

// postBoth posts events to one ledger one by one and to the other all at once, and compares
// what they decide. It returns how many ends nobody saw.
func postBoth(t *testing.T, one, all *Ledger, events []capture.Event, logged bool) (unseen int) {
	t.Helper()
	before := slices.Clone(events)
	for len(events) > 0 {
		n := all.PostAll(events, logged)
		for i := range n {
			e := before[i]
			if end, ok := one.Unseen(&e); ok {
				t.Fatalf("event %d of %d: %+v was to come first", i, n, end)
			}
			if one.Post(&e, logged); e != events[i] {
				t.Fatalf("%+v became %+v, want %+v", before[i], events[i], e)
			}
		}
		if events, before = events[n:], before[n:]; len(events) > 0 {
			got, ok := all.Unseen(&events[0])
			want, _ := one.Unseen(&before[0])
			if !ok || got != want {
				t.Fatalf("%+v comes after %+v, %v, want %+v", events[0], got, ok, want)
			}
			unseen++
		}
	}
	return unseen
}
