package probe

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/testprogs"
)

const (
	goSmallSpan = 9<<1 | 1 // a size class, and no pointers
	goWithPtrs  = 9 << 1
	goLargeSpan = 0

	goFlatType, goPtrType = 0x7000, 0x7008
	goHeap0               = 0xc000000000
)

// A sweeper writes records of Go to a ring, and expands those of sweeps slot by slot, in the order
// of their bits.
type sweeper struct {
	*ring
	tiny map[uint64]bool // blocks that share slots
	want []uint64        // the addresses of what is freed
}

func newSweeper(t testing.TB, header bool) *sweeper {
	s := &sweeper{ring: newRing(t), tiny: map[uint64]bool{}}
	s.addSite(catalogued(t, "runtime.mallocgc"), libcAt)
	s.addSite(catalogued(t, "runtime.(*sweepLocked).sweep"), libcAt)
	s.reader.golang.header = header
	s.reader.golang.flat = map[uint64]bool{goFlatType: true, goPtrType: false}
	return s
}

func (s *sweeper) makes(address, size, typ uint64) {
	s.alloc(3, "runtime.mallocgc", size, address, typ, 17)
	if size < goruntime.TinySize && typ != goPtrType {
		s.tiny[address] = true
	}
}

// frees has n other ends of blocks in the batch.
func (s *sweeper) frees(n int) {
	for i := range uint64(n) {
		s.free(3, "free", 0x5000+16*i)
		s.want = append(s.want, 0x5000+16*i)
	}
}

func (s *sweeper) sweeps(first, size, class uint64, words ...uint64) {
	index := uint64(s.site("runtime.(*sweepLocked).sweep").index)
	rec := []uint64{
		recSweep | index<<siteShift | 3<<tidShift | uint64(len(words))<<sweepShift,
		readTSC(), first, size, uint64(64 * len(words)), class,
	}
	rec = append(rec, words...)
	if len(rec)%2 != 0 {
		rec = append(rec, 0)
	}
	s.put(rec...)
	noPointers := class&1 != 0
	for i := range uint64(64 * len(words)) {
		if words[i/64]>>(i%64)&1 == 0 {
			continue
		}
		slot, known := first+i*size, false
		for b := range uint64(16) {
			if at := slot - slot%16 + b; noPointers && size == 16 && s.tiny[at] {
				s.want, known = append(s.want, at), true
				delete(s.tiny, at)
			}
		}
		if known {
			continue
		}
		if s.reader.golang.header && !noPointers && class/2 != 0 && size > 512 {
			slot += 8
		}
		s.want = append(s.want, slot)
	}
}

// check compares what was freed since the last time.
func (s *sweeper) check(t *testing.T) {
	t.Helper()
	s.Drain()
	free, sweep := s.site("free").Function, s.site("runtime.(*sweepLocked).sweep").Function
	var got []uint64
	for _, e := range s.events {
		if e.Kind != capture.Free {
			continue
		}
		got = append(got, e.Addr)
		if f := s.reader.functions[e.Func].Symbol; f != sweep.Symbol && (f != free.Symbol || e.Addr >= goHeap0) {
			t.Errorf("%#x was freed by %s", e.Addr, f)
		}
		e.Addr, e.Time, e.Func = 0, 0, 0
		if e != (capture.Event{Kind: capture.Free, TID: 3}) {
			t.Errorf("%+v", e)
		}
	}
	if !slices.Equal(got, s.want) {
		t.Errorf("%d freed, want %d:\n got %#x\nwant %#x", len(got), len(s.want), got[:min(len(got), 200)], s.want[:min(len(s.want), 200)])
	}
	s.events, s.lines, s.want = nil, nil, nil
}

func TestSweep(t *testing.T) {
	const all = math.MaxUint64
	for _, c := range []struct {
		name string
		play func(s *sweeper)
	}{
		{"nothing", func(s *sweeper) { s.sweeps(goHeap0, 32, goSmallSpan) }},
		{"no slot", func(s *sweeper) { s.sweeps(goHeap0, 32, goSmallSpan, 0, 0) }},
		{"some", func(s *sweeper) { s.sweeps(goHeap0, 48, goSmallSpan, 1, 0, 1<<63|5) }},
		{"the batch is full in a word", func(s *sweeper) {
			s.frees(batchSize - 28)
			s.sweeps(goHeap0, 32, goSmallSpan, all, all)
		}},
		{"the batch is full behind a word", func(s *sweeper) {
			s.frees(batchSize - 64)
			s.sweeps(goHeap0, 32, goSmallSpan, all, 1)
		}},
		{"the batch has room for one", func(s *sweeper) {
			s.frees(batchSize - 1)
			s.sweeps(goHeap0, 32, goSmallSpan, 3)
		}},
		{"more slots than three batches", func(s *sweeper) {
			s.frees(1)
			s.sweeps(goHeap0, 32, goSmallSpan, all, all, all, all, all, all, all)
		}},
		{"as many words as there may be", func(s *sweeper) {
			s.sweeps(goHeap0, 8, goSmallSpan, slices.Repeat([]uint64{all}, maxSweep)...)
		}},
		{"blocks that share a slot, in two batches", func(s *sweeper) {
			for _, at := range []uint64{0x20, 0x24, 0x28, 0x2f} {
				s.makes(goHeap0+at, 4, goFlatType)
			}
			s.Drain()
			s.frees(batchSize - 2)
			s.sweeps(goHeap0, 16, goSmallSpan, 7)
			s.sweeps(goHeap0, 16, goSmallSpan, 4) // they are gone
		}},
		{"a slot of which nothing is known, in a full batch", func(s *sweeper) {
			s.frees(batchSize - 1)
			s.sweeps(goHeap0, 16, goSmallSpan, 3)
		}},
		{"blocks that share slots of two pages", func(s *sweeper) {
			for at := uint64(0); at < 4*tinyPageSlots*16; at += 8 {
				s.makes(goHeap0+at, 8, 0)
			}
			s.sweeps(goHeap0+tinyPageSlots*8, 16, goSmallSpan, slices.Repeat([]uint64{all}, tinyPageSlots/64)...)
		}},
		{"blocks that share no slot", func(s *sweeper) {
			s.makes(goHeap0+8, 8, goPtrType)
			s.makes(goHeap0+24, 16, goFlatType)
			s.sweeps(goHeap0, 16, goSmallSpan, 3)
			s.makes(goHeap0+8, 8, goFlatType)
			s.sweeps(goHeap0, 16, goWithPtrs, 3)
			s.sweeps(goHeap0, 8, goSmallSpan, 3)
			s.sweeps(goHeap0, 16, goSmallSpan, 1) // it is there still
		}},
		{"headers", func(s *sweeper) {
			s.sweeps(goHeap0, 512, goWithPtrs, 3)
			s.sweeps(goHeap0, 576, goWithPtrs, 3)
			s.sweeps(goHeap0, 576, goSmallSpan, 3)
			s.sweeps(goHeap0, 40960, goLargeSpan, 1)
			s.frees(batchSize)
			s.sweeps(goHeap0, 1024, goWithPtrs, all, all, all)
		}},
		{"slots of no bytes", func(s *sweeper) { s.sweeps(goHeap0, 0, goSmallSpan, all, all, all) }},
		{"slots that are larger than memory", func(s *sweeper) {
			s.sweeps(goHeap0+16, 1<<63, goSmallSpan, all, 3)
			s.sweeps(goHeap0, 1<<58, goWithPtrs, all, all)
			s.sweeps(goHeap0, all, goWithPtrs, all, 3)
		}},
		{"slots behind the end of memory", func(s *sweeper) {
			s.makes(0, 8, goFlatType)
			s.makes(8, 8, goFlatType)
			s.makes(all-7, 8, goFlatType)
			s.sweeps(all-15, 16, goSmallSpan, 7)
			s.sweeps(all, 4096, goWithPtrs, 7)
		}},
		{"the first is not where a slot is", func(s *sweeper) {
			s.makes(goHeap0+0x10, 8, goFlatType)
			s.makes(goHeap0+0x1c, 4, goFlatType)
			s.sweeps(goHeap0+9, 16, goSmallSpan, 7)
		}},
	} {
		for _, header := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, headers %t", c.name, header), func(t *testing.T) {
				s := newSweeper(t, header)
				c.play(s)
				s.check(t)
				if s.stats.Torn != 0 || s.reader.n != 0 {
					t.Errorf("%d torn, %d left", s.stats.Torn, s.reader.n)
				}
			})
		}
	}
}

// TestSweepOfNoSite has a sweep that no function of a runtime has made.
func TestSweepOfNoSite(t *testing.T) {
	s := newSweeper(t, true)
	s.put(recSweep|4000<<siteShift|2<<sweepShift, readTSC(), goHeap0, 16, 128, goSmallSpan, 1, 1)
	s.check(t)
	if s.stats.Torn != 1 {
		t.Errorf("%d torn", s.stats.Torn)
	}
}

// TestSweepsAtRandom has a heap of a few spans whose blocks are made and swept in any order, with
// slots of which nothing is known.
func TestSweepsAtRandom(t *testing.T) {
	for seed := range uint64(testprogs.Rounds(10, 40)) {
		s := newSweeper(t, seed%2 != 0)
		rng := rand.New(rand.NewPCG(seed, 3))
		for range 200 {
			span := goHeap0 + 8192*rng.Uint64N(8)
			switch rng.IntN(4) {
			case 0:
				s.frees(rng.IntN(batchSize))
			case 1, 2:
				for range rng.IntN(60) {
					s.makes(span+4*rng.Uint64N(1<<11), 1+rng.Uint64N(18), []uint64{0, goFlatType, goPtrType}[rng.IntN(3)])
				}
			default:
				words := make([]uint64, rng.IntN(9))
				for i := range words {
					words[i] = rng.Uint64() & rng.Uint64() >> rng.IntN(64)
				}
				size := []uint64{8, 16, 16, 16, 512, 1024}[rng.IntN(6)]
				s.sweeps(span, size, rng.Uint64N(4), words...)
			}
			if rng.IntN(3) == 0 {
				s.check(t)
			}
		}
		s.check(t)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkTiny compares the counts of tiny slots with their bits, and with their bound.
func checkTiny(t *testing.T, s *tinySlots) {
	t.Helper()
	all := 0
	for number, page := range s.pages {
		n := 0
		for _, begins := range page.slots {
			n += bits.OnesCount16(begins)
		}
		if n != page.blocks || n == 0 {
			t.Fatalf("page %#x counts %d blocks of %d", number, page.blocks, n)
		}
		all += n
	}
	if all != s.blocks {
		t.Fatalf("%d blocks counted of %d", s.blocks, all)
	}
	if s.page != nil && s.pages[s.last] != s.page {
		t.Fatalf("page %#x is not the last one", s.last)
	}
}

// TestTinySlotsBound has blocks far from one another, as a hostile inferior may write them: they
// take no pages beyond a number, and none of them is lost. Where blocks are close together
// there are pages for all.
func TestTinySlotsBound(t *testing.T) {
	const count = 2 * fewTinyPages
	const page = tinyPageSlots * goruntime.TinySize
	var s tinySlots
	for n := range uint64(count) {
		s.add(n*page + n%page)
		s.add(n*page + n%page) // the same
	}
	checkTiny(t, &s)
	if most := fewTinyPages + count/tinyPageShare; len(s.pages) > most || len(s.pages)+len(s.apart) != count {
		t.Errorf("%d pages, at most %d, and %d blocks apart", len(s.pages), most, len(s.apart))
	}
	// Pages that are full make room for others, also where blocks are apart already.
	for n := range uint64(fewTinyPages / 8) {
		for slot := range uint64(tinyPageSlots) {
			s.add(n*page + slot*goruntime.TinySize)
		}
	}
	last := uint64(count-1) * page
	for n := range uint64(tinyPageSlots) {
		s.add(last + n*goruntime.TinySize + 3)
	}
	checkTiny(t, &s)
	if s.find(count-1) == nil {
		t.Error("there is no page for blocks that are close together")
	}
	for n := range uint64(count) {
		if n%7 == 0 {
			s.take((n + count) * page) // nothing
		}
		for slot := range uint64(tinyPageSlots) {
			at := slot * goruntime.TinySize
			want := uint16(0)
			if n%page/goruntime.TinySize == slot {
				want |= 1 << (n % goruntime.TinySize)
			}
			if n < fewTinyPages/8 {
				want |= 1
			}
			if n == count-1 {
				want |= 1 << 3
			}
			if got := s.take(n*page + at); got != want {
				t.Fatalf("page %d, slot %d: %#x, want %#x", n, slot, got, want)
			}
		}
		if n%1000 == 0 {
			checkTiny(t, &s)
		}
	}
	if len(s.pages) != 0 || s.page != nil || s.apart != nil || s.blocks != 0 {
		t.Errorf("%d pages are left, %d blocks apart, %d blocks", len(s.pages), len(s.apart), s.blocks)
	}
}

// BenchmarkSweep is what the reader does for a block of Go that is found dead, with a sink that
// does nothing: of slots for one block each, and of those that two share, which it notes before.
func BenchmarkSweep(b *testing.B) {
	const slots = 512
	for _, c := range []struct {
		name  string
		size  uint64
		tiny  uint64 // blocks in a slot
		spans uint64 // that are in use at once
	}{{"own", 32, 0, 1}, {"shared", 16, 2, 1}, {"shared-1000", 16, 2, 1000}} {
		b.Run(c.name, func(b *testing.B) {
			s := newSweeper(b, true)
			s.cfg.Sink = &drain{}
			head := recSweep | uint64(s.site("runtime.(*sweepLocked).sweep").index)<<siteShift
			rec := append([]uint64{head, readTSC(), 0, c.size, slots, goSmallSpan}, slices.Repeat([]uint64{math.MaxUint64}, slots/64)...)
			blocks := int(slots * max(c.tiny, 1) * c.spans)
			b.ReportAllocs()
			for left := b.N; left > 0; left -= blocks {
				for at := range slots * c.tiny * c.spans {
					s.reader.goMade(goHeap0+at*8, 8, goFlatType)
				}
				for n := range c.spans {
					rec[2] = goHeap0 + n*slots*c.size
					s.reader.sweep(head, rec)
				}
			}
		})
	}
}
