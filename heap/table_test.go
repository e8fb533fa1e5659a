package heap

import (
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"hdb/capture"
)

// The table must answer as a map does, whatever collides: the addresses are drawn
// from few, many of which lie close together, so that they are put and taken again
// and again, and cells come between others.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, want := NewLive(), map[uint64]Block{}
		pool := rapid.SliceOfN(rapid.Uint64Min(1), 1, 60).Draw(t, "addresses")
		for _, u := range rapid.SliceOfN(rapid.Uint64Range(1, 200), 0, 150).Draw(t, "units") {
			pool = append(pool, (1<<regionBits-128+u)<<unitBits)
		}
		addr := rapid.SampledFrom(pool)
		size := rapid.OneOf(rapid.Uint64Max(1000), rapid.Uint64Range(maxSize-1, maxSize+1))
		stack := rapid.OneOf(rapid.Uint32Max(9), rapid.Uint32Range(maxStack-1, maxStack+1))
		seq, bytes := rapid.SampledFrom([]uint64{0, maxSeq - 10}).Draw(t, "seq"), uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				seq++
				a, b := addr.Draw(t, "addr"), Block{Seq: seq, Size: size.Draw(t, "size"), Stack: capture.StackID(stack.Draw(t, "stack")), Logged: rapid.Bool().Draw(t, "logged")}
				before, had := want[a]
				if old, ok := l.Put(a, b); ok != had || old != before {
					t.Fatalf("put %#x returned %v, %v; there was %v, %v", a, old, ok, before, had)
				}
				want[a] = b
				bytes += b.Size - before.Size
			},
			"logged": func(t *rapid.T) {
				a, id := addr.Draw(t, "addr"), capture.StackID(stack.Draw(t, "stack"))
				l.Logged(a, id)
				if b, ok := want[a]; ok {
					b.Logged, b.Stack = true, id
					want[a] = b
				}
			},
			"take": func(t *rapid.T) {
				a := addr.Draw(t, "addr")
				before, had := want[a]
				if old, ok := l.Take(a); ok != had || old != before {
					t.Fatalf("take %#x returned %v, %v; there was %v, %v", a, old, ok, before, had)
				}
				delete(want, a)
				bytes -= before.Size
			},
			"": func(t *rapid.T) {
				if got := maps.Collect(l.All()); !maps.Equal(got, want) {
					t.Fatalf("got %v\nwant %v", got, want)
				}
				order := []uint64{}
				low := addr.Draw(t, "low") - uint64(rapid.IntRange(0, 1).Draw(t, "before"))
				for a, b := range l.From(low) {
					if order = append(order, a); b != want[a] {
						t.Fatalf("%#x is %v, want %v", a, b, want[a])
					}
				}
				above := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(a uint64) bool { return a < low })
				if !slices.Equal(order, above) {
					t.Fatalf("from %#x on %#x, want %#x", low, order, above)
				}
				checkNear(t, l, want, low+rapid.Uint64Max(1200).Draw(t, "beyond"))
				l.blocks.check(t)
				if l.Blocks() != len(want) || l.Bytes() != bytes {
					t.Fatalf("%d blocks, %d bytes, want %d, %d", l.Blocks(), l.Bytes(), len(want), bytes)
				}
			},
		})
	})
}

// A capture may tell of blocks all over the address space. No more than maxSpans spans are
// made for them, and they are found all the same.
func TestBlocksEverywhere(t *testing.T) {
	l, want := NewLedger(), map[uint64]Block{}
	const apart = 1<<32 + 1<<20
	for i := range uint64(3 * maxSpans) {
		for k := range uint64(3) {
			a, b := i*apart+k*64+64, Block{Seq: 3*i + k + 1, Size: 8 * (k + 1), Stack: 1}
			e := capture.Event{Seq: b.Seq, Kind: capture.Alloc, Addr: a, Size: b.Size, Stack: b.Stack}
			l.PostAll([]capture.Event{e}, false)
			want[a] = b
		}
	}
	if l.blocks.opened != maxSpans {
		t.Errorf("%d spans, want %d", l.blocks.opened, maxSpans)
	}
	l.blocks.check(t)
	if got := maps.Collect(l.All()); !maps.Equal(got, want) {
		t.Fatalf("%d blocks, want %d", len(got), len(want))
	}
	for a, b := range want {
		if got, ok := l.Take(a); !ok || got != b {
			t.Fatalf("take %#x: %v, %v, want %v", a, got, ok, b)
		}
	}
	if l.Blocks() != 0 || l.Bytes() != 0 {
		t.Errorf("%d blocks, %d bytes are left", l.Blocks(), l.Bytes())
	}
}

// Blocks at every byte have no cells but every eighth: no allocator does that, but
// a damaged capture may.
func TestBlocksAtEveryByte(t *testing.T) {
	l := NewLive()
	const n = 20000
	for range 2 {
		for a := uint64(1); a <= n; a++ {
			l.Put(a, Block{Seq: a, Size: 1})
		}
		seqs := map[uint64]bool{}
		for _, b := range l.All() {
			seqs[b.Seq] = true
		}
		if l.Blocks() != n || l.Bytes() != n || len(seqs) != n {
			t.Fatalf("%d blocks of %d bytes, %d events", l.Blocks(), l.Bytes(), len(seqs))
		}
	}
	if len(l.blocks.rest) != n*7/8 {
		t.Errorf("%d blocks in no cell", len(l.blocks.rest))
	}
	for a := uint64(1); a <= n; a++ {
		l.Logged(a, 7)
		if b, ok := l.Take(a); !ok || b != (Block{Seq: a, Size: 1, Stack: 7, Logged: true}) {
			t.Fatalf("%#x: %v, %v", a, b, ok)
		}
		if _, ok := l.Take(a); ok {
			t.Fatalf("%#x was there twice", a)
		}
	}
	if l.Blocks() != 0 || l.Bytes() != 0 {
		t.Errorf("%d blocks, %d bytes are left", l.Blocks(), l.Bytes())
	}
}

// What does not fit into a cell is kept all the same, and takes the place of what
// did at its address, and the other way round.
func TestBlocksBeyondMeasure(t *testing.T) {
	l := NewLive()
	blocks := []Block{
		{Seq: maxSeq, Size: maxSize, Stack: maxStack, Logged: true},
		{Seq: 1, Size: maxSize + 1},
		{Seq: maxSeq + 1, Stack: 7},
		{Seq: 1<<32 + 5, Size: 5},
		{Seq: 2, Size: 1<<32 + 5},
		{Seq: 3, Stack: maxStack + 1},
		{Seq: math.MaxUint64, Size: math.MaxUint64, Stack: math.MaxUint32, Logged: true},
		{},
	}
	for _, addr := range []uint64{8, 1 << 13, ^uint64(7), ^uint64(0)} {
		var before Block
		for i, b := range blocks {
			if old, ok := l.Put(addr, b); ok != (i > 0) || old != before {
				t.Errorf("%#x: put %v returned %v, %v", addr, b, old, ok)
			}
			if got, ok := l.At(addr); !ok || got != b {
				t.Errorf("%#x: %v, %v, want %v", addr, got, ok, b)
			}
			l.Logged(addr, b.Stack/2)
			b.Logged, b.Stack = true, b.Stack/2
			if got := maps.Collect(l.All()); got[addr] != b {
				t.Errorf("%#x: all are %v, want %v", addr, got, b)
			}
			before = b
		}
	}
	if l.Blocks() != 4 {
		t.Errorf("%d blocks", l.Blocks())
	}
}

// Blocks of all sizes near together and far apart make leaves grow, be given back
// and be used again, and regions come and go.
func TestLeavesComeAndGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l, want := NewLive(), map[uint64]Block{}
	var addrs []uint64
	bytes := uint64(0)
	for i := range 300000 {
		if n := len(addrs); n > 0 && (rng.IntN(n) > 5000 || i%40000 > 30000) {
			k := rng.IntN(n)
			a := addrs[k]
			addrs[k] = addrs[n-1]
			addrs = addrs[:n-1]
			if b, ok := l.Take(a); !ok || b != want[a] {
				t.Fatalf("%#x: %v, %v, want %v", a, b, ok, want[a])
			}
			bytes -= want[a].Size
			delete(want, a)
			continue
		}
		base := uint64(1+rng.IntN(1<<(4*uint(i>>15)%24))) << 12
		a := base + uint64(rng.IntN(512))<<rng.IntN(4)<<3
		b := Block{Seq: uint64(i), Size: uint64(rng.IntN(1 << rng.IntN(14))), Stack: capture.StackID(i)}
		if old, ok := l.Put(a, b); ok {
			if old != want[a] {
				t.Fatalf("%#x: %v was there, want %v", a, old, want[a])
			}
		} else {
			addrs = append(addrs, a)
		}
		bytes += b.Size - want[a].Size
		want[a] = b
	}
	if got := maps.Collect(l.All()); !maps.Equal(got, want) || l.Blocks() != len(want) || l.Bytes() != bytes {
		t.Errorf("%d blocks of %d bytes, want %d of %d", l.Blocks(), l.Bytes(), len(want), bytes)
	}
	for a := range want {
		l.Take(a)
	}
	l.blocks.check(t)
	if l.blocks.sweep(); l.blocks.count != 0 {
		t.Errorf("%d leaves are left", l.blocks.count)
	}
	l.blocks.check(t)
}

// check looks whether each cell that there is belongs to one leaf, in use or given
// back, and whether leaves have no more cells than they have room for.
func (t *blockTable) check(tb interface{ Fatalf(string, ...any) }) {
	owned := make([]bool, t.next)
	own := func(at uint32) *leaf {
		f := t.at(at)
		for i := range uint32(rooms[f.class]) + 1 {
			if at+i >= t.next || owned[at+i] || at>>slabBits != (at+i+1)>>slabBits {
				tb.Fatalf("leaf of class %d at %d of %d, cell %d", f.class, at, t.next, i)
			}
			owned[at+i] = true
		}
		return f
	}
	if none := own(0); none.class != 0 || none.starts() != 0 {
		tb.Fatalf("the leaf without blocks is %v", none)
	}
	used := 0
	for _, r := range t.regions {
		if t.spans[r.first>>spanBits][r.first>>regionBits%spanRegions] != r.region {
			tb.Fatalf("the region from %#x on is not in its span", r.first.addr())
		}
		for _, at := range r.region {
			if at != 0 {
				if f := own(at); bits.OnesCount64(f.starts())+int(f.left) != int(rooms[f.class]) {
					tb.Fatalf("a leaf of class %d has %#x, and room for %d more", f.class, f.starts(), f.left)
				}
				used++
			}
		}
	}
	for class, at := range t.free {
		for ; at != 0; at = t.at(at).low {
			if f := own(at); int(f.class) != class {
				tb.Fatalf("a leaf of class %d among those of %d", f.class, class)
			}
		}
	}
	// What is left of a slab when a leaf does not fit is no one's.
	lost := uint32(0)
	for i := range t.next {
		if !owned[i] {
			lost++
		} else if lost > 0 && (lost > uint32(rooms[len(rooms)-1])+1 || i&(1<<slabBits-1) != 0) {
			tb.Fatalf("%d cells before %d are in no leaf", lost, i)
		} else {
			lost = 0
		}
	}
	if used != t.count || lost != 0 {
		tb.Fatalf("%d leaves in use, not %d; %d cells at the end are in none", used, t.count, lost)
	}
}

// The leaf that was made last grows where it is. Where another is behind it, or its slab
// ends, it moves.
func TestLastLeafGrows(t *testing.T) {
	const leafBytes = 1 << (leafBits + unitBits)
	l, want := NewLedger(), map[uint64]Block{}
	moved := 0
	put := func(leaf, unit uint64) {
		a, b := leaf*leafBytes+unit<<unitBits, Block{Seq: uint64(len(want)), Size: 8}
		from := l.blocks.index(placeOf(a))
		e := capture.Event{Seq: b.Seq, Kind: capture.Alloc, Addr: a, Size: b.Size}
		l.PostAll([]capture.Event{e}, false)
		if want[a] = b; from != 0 && l.blocks.index(placeOf(a)) != from {
			moved++
		}
		l.blocks.check(t)
	}
	for leaf := range uint64(200) {
		for unit := range uint64(48) {
			put(1000+2*leaf, unit)
		}
	}
	if ends := int(l.blocks.next) >> slabBits; moved == 0 || moved > ends {
		t.Errorf("%d leaves moved, %d slabs ended", moved, ends)
	}
	moved = 0
	put(1, 0)
	put(3, 0)
	for unit := range uint64(lastUnit) {
		put(1, 1+unit)
	}
	if moved != 1 {
		t.Errorf("a leaf before another moved %d times", moved)
	}
	if got := maps.Collect(l.All()); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// Leaves that get blocks at all places in any order have them in their order.
func TestLeafKeepsOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l, taken := NewLive(), map[uint64]Block{}
		for i := range uint64(400) {
			a := 0x10000 + uint64(rng.IntN(lastUnit+1))<<unitBits
			if b, ok := taken[a]; ok && rng.IntN(4) > 0 {
				if got, ok := l.Take(a); !ok || got != b {
					t.Fatalf("%#x: %v, want %v", a, got, b)
				}
				delete(taken, a)
				continue
			}
			taken[a] = Block{Seq: i, Size: uint64(rng.IntN(100))}
			l.Put(a, taken[a])
		}
		at := uint64(0)
		for a, b := range l.All() {
			if a <= at || taken[a] != b {
				t.Fatalf("%#x after %#x: %v, want %v", a, at, b, taken[a])
			}
			at = a
		}
		if l.Blocks() != len(taken) {
			t.Fatalf("%d blocks, want %d", l.Blocks(), len(taken))
		}
	}
}

// memory is what the table takes, in bytes, without what it has in store.
func (t *blockTable) memory() int {
	n := int(t.next) * int(unsafe.Sizeof(cell{}))
	for _, r := range t.regions {
		n += int(unsafe.Sizeof(r) + unsafe.Sizeof(*r.region))
	}
	for _, s := range t.spans {
		n += int(unsafe.Sizeof(s))
		if s != nil {
			n += int(unsafe.Sizeof(*s))
		}
	}
	return n
}

// Blocks far apart take little against their size, as do few in many arenas.
func TestSparseHeap(t *testing.T) {
	for _, c := range []struct {
		name        string
		blocks      int
		every, size uint64
		bytes       int // for each block
	}{
		{"16 KiB", 1 << 20, 16 << 10, 16<<10 - 16, 256},
		{"mappings", 1 << 14, 132 << 10, 128 << 10, 2048},
		{"arenas", 1 << 12, 64 << 20, 24, 6144},
	} {
		l := NewLive()
		for i := range uint64(c.blocks) {
			l.Put(0x7f0000000010+i*c.every, Block{Seq: i, Size: c.size})
		}
		if n := l.blocks.memory(); n > c.blocks*c.bytes {
			t.Errorf("%s: %d bytes for a block", c.name, n/c.blocks)
		}
	}
}

// A heap that moves through the addresses, and the sizes of whose blocks change,
// takes what its live blocks need, not what all did that there ever were.
func TestHeapThatWanders(t *testing.T) {
	l := NewLive()
	const live = 1 << 12
	at, most := uint64(0x10000), 0
	var addrs []uint64
	for i := range uint64(1 << 20) {
		size := uint64(24) << (i >> 14 % 8)
		l.Put(at, Block{Seq: i, Size: size})
		addrs = append(addrs, at)
		at += size + 8
		if i >= live {
			l.Take(addrs[i-live])
		}
		if i > 1<<18 && i%1024 == 0 {
			most = max(most, l.blocks.memory())
		}
	}
	if l.Blocks() != live {
		t.Errorf("%d blocks", l.Blocks())
	}
	if most > live*512 {
		t.Errorf("%d bytes for a block", most/live)
	}
}

func TestLogged(t *testing.T) {
	l := NewLedger()
	l.Post(&capture.Event{Seq: 1, Kind: capture.Alloc, Addr: 0x1000, Size: 8, Stack: 5}, true)
	l.Post(&capture.Event{Seq: 2, Kind: capture.Alloc, Addr: 0x2000, Size: 8}, false)
	l.Logged(0x2000, 9)
	l.Logged(0x3000, 9) // nothing is there
	gone, ok := l.Post(&capture.Event{Seq: 3, Kind: capture.Realloc, Old: 0x1000, Addr: 0x1000, Size: 16}, false)
	if !ok || gone != (Block{Seq: 1, Size: 8, Stack: 5, Logged: true}) {
		t.Errorf("realloc returned %v, %v", gone, ok)
	}
	if b, _ := l.At(0x1000); b.Logged {
		t.Error("the new block is logged though its event is not")
	}
	free := capture.Event{Seq: 4, Kind: capture.Free, Addr: 0x2000}
	if l.Post(&free, true); free.Ended != (capture.Ended{Size: 8, Stack: 9, Recorded: true, Seq: 2}) {
		t.Errorf("the free ended %+v", free.Ended)
	}
}

// BenchmarkLive measures an allocation and a free in a heap of so many blocks,
// the free of a block that is likely to be young, as in most programs.
func BenchmarkLive(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1k", 1e3}, {"30k", 3e4}, {"1M", 1e6}} {
		b.Run(size.name, func(b *testing.B) {
			l := NewLedger()
			addrs := make([]uint64, size.n)
			for i := range addrs {
				addrs[i] = 0x555555780010 + uint64(i)*48
				l.Put(addrs[i], Block{Seq: uint64(i), Size: 40})
			}
			rng := rand.New(rand.NewPCG(1, 2))
			order := make([]int32, 1<<16)
			for i := range order {
				order[i] = int32(min(rng.ExpFloat64()*500, float64(size.n-1)))
			}
			b.ReportAllocs()
			e := capture.Event{Size: 40, Stack: 3}
			for i := 0; b.Loop(); i++ {
				a := addrs[order[i%len(order)]]
				e.Kind, e.Addr = capture.Free, a
				l.Post(&e, false)
				e.Kind = capture.Alloc
				e.Seq++
				l.Post(&e, true)
			}
		})
	}
}

// BenchmarkLiveGrows is a block that is never given back.
func BenchmarkLiveGrows(b *testing.B) {
	l := NewLive()
	for i := uint64(1); b.Loop(); i++ {
		l.Put(i*48, Block{Seq: i, Size: 40})
	}
}

// BenchmarkLiveWalk gives back and makes again the blocks of a large heap in the
// order of their addresses.
func BenchmarkLiveWalk(b *testing.B) {
	l := NewLive()
	const n = 1 << 22
	for i := uint64(0); i < n; i++ {
		l.Put(0x555555780010+i*48, Block{Seq: i, Size: 40})
	}
	b.ResetTimer()
	for i := uint64(0); b.Loop(); i++ {
		a := 0x555555780010 + i%n*48
		l.Take(a)
		l.Put(a, Block{Seq: i, Size: 40})
	}
}

// BenchmarkLiveChurn measures an allocation and a free of any block of a heap, in
// batches as they come from the probe.
func BenchmarkLiveChurn(b *testing.B) {
	for _, heap := range []struct {
		name      string
		blocks    int
		unit      uint64
		low, high uint64 // sizes
	}{{"objects", 3e5, 16, 16, 600}, {"buffers", 2e4, 16, 600, 1 << 20}, {"dense", 1e6, 16, 8, 16}, {"finest", 1e6, 8, 1, 8}} {
		b.Run(heap.name, func(b *testing.B) {
			l, rng := NewLedger(), rand.New(rand.NewPCG(1, 2))
			events := make([]capture.Event, heap.blocks)
			at := uint64(0x555555780010)
			for i := range events {
				size := heap.low + rng.Uint64N(heap.high-heap.low+1)
				events[i] = capture.Event{Kind: capture.Alloc, Addr: at, Size: size}
				at += (size + heap.unit - 1) &^ (heap.unit - 1)
				l.Post(&events[i], false)
			}
			rng.Shuffle(len(events), func(i, k int) { events[i], events[k] = events[k], events[i] })
			var batch [32]capture.Event
			next := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e := &events[i%len(events)]
				free := *e
				free.Kind = capture.Free
				e.Seq = uint64(i)
				batch[next], batch[next+1] = free, *e
				if next += 2; next == len(batch) {
					l.PostAll(batch[:], false)
					next = 0
				}
			}
		})
	}
}

// checkNear holds what is found around an address against all blocks.
func checkNear(t *rapid.T, l *Live, blocks map[uint64]Block, at uint64) {
	want := Near{}
	for a, b := range blocks {
		switch {
		case !b.Logged:
		case a > at && (want.AboveAt == 0 || a < want.AboveAt):
			want.Above, want.AboveAt = b, a
		case a <= at:
			if a > want.BelowAt {
				want.Below, want.BelowAt = b, a
			}
			if a > want.InAt && (a == at || at-a < b.Size) {
				want.In, want.InAt = b, a
			}
		}
	}
	if got := l.Near(at); got != want {
		t.Fatalf("around %#x are %+v, want %+v", at, got, want)
	}
}
