package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// A fickle reader answers as its bytes say: short reads, errors, wrong lengths, anything.
type fickle struct{ how []byte }

func (f fickle) ReadAt(b []byte, at int64) (int, error) {
	if len(f.how) == 0 {
		return 0, errHole
	}
	x := f.how[uint64(at)>>12%uint64(len(f.how))]
	for i := range b {
		b[i] = f.how[(uint64(at)/8+uint64(i))%uint64(len(f.how))]
	}
	switch x % 8 {
	case 0:
		return 0, errHole
	case 1:
		return len(b) / 2, errHole
	case 2:
		return len(b) / 3, nil // against the rule
	case 3:
		return -1, nil
	case 4:
		return len(b) + 8, nil
	}
	return len(b), nil
}

// FuzzBuild gives Build blocks, roots and memory at random. Whatever they are, it ends, and what it
// says holds together.
func FuzzBuild(f *testing.F) {
	f.Add([]byte{0, 16, 0, 1, 0, 32, 5, 7}, []byte{5, 6, 7}, uint64(0x7fff12345678))
	f.Add([]byte{255, 255, 1, 1, 0, 0}, []byte{1, 2, 3, 4}, uint64(1<<57-4096))
	f.Add([]byte{1, 1, 1, 1, 200, 200}, []byte{0}, uint64(0))
	f.Fuzz(func(t *testing.T, layout, how []byte, base uint64) {
		if len(layout) > 400 {
			layout = layout[:400]
		}
		var blocks []Block
		at := base
		for ; len(layout) >= 2; layout = layout[2:] {
			at += uint64(layout[0]) << (layout[0] % 16)
			size := uint64(layout[1]) << (layout[1] % 12)
			blocks = append(blocks, Block{at, size})
			at += size
		}
		roots := Roots{Ranges: []Root{{Start: base, End: base + 100}, {Start: at, End: at + 5000}}, Words: []Word{{Value: base}, {Value: at}}}
		g, err := Build(context.Background(), fickle{how}, BlocksOf(blocks), roots, Options{Workers: 2, MaxBytes: 1 << 20, Files: []Range{{base, base + 1<<20}}, Code: []Range{{base, base + 1<<20}}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "graph: ") {
				t.Fatal(err)
			}
			return
		}
		holdsTogether(t, g)
	})
}

// holdsTogether wants edges between blocks, both ways the same, and paths along them.
func holdsTogether(t *testing.T, g *Graph) {
	t.Helper()
	out, in := 0, 0
	for i := range g.Stats().Blocks {
		for e := range g.From(i) {
			out++
			if e.From != i || e.To < 0 || e.To >= g.Stats().Blocks {
				t.Fatalf("block %d has edge %+v", i, e)
			}
		}
		for e := range g.To(i) {
			if e.To != i {
				t.Fatalf("an edge to block %d is %+v", i, e)
			}
			if e.From >= 0 {
				in++
			}
		}
		reached := g.Reach(i) == Reachable || g.Reach(i) == Possible
		if path := g.Path(i, nil); reached != (path != nil) {
			t.Fatalf("block %d is %v, its path %v", i, g.Reach(i), path)
		}
	}
	if s := g.Stats(); out != in || s.Edges != out {
		t.Fatalf("%d edges out of blocks, %d into them, %d in all", out, in, s.Edges)
	}
	sums := g.Sums()
	if n := sums[0].Blocks + sums[1].Blocks + sums[2].Blocks + sums[3].Blocks; n != g.Stats().Blocks {
		t.Fatalf("%d of %d blocks are something", n, g.Stats().Blocks)
	}
	d, err := g.RetainedAll(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Stats().Blocks {
		if p := d.Parent(i); p >= 0 && d.Retained(p).Blocks <= d.Retained(i).Blocks {
			t.Fatalf("block %d retains %v, block %d above it %v", i, d.Retained(i), p, d.Retained(p))
		}
	}
}

// TestUnread: what cannot be read is counted.
func TestUnread(t *testing.T) {
	const base = 0x10000
	memory := segments{{base, make([]byte, 3*4096)}, {base + 4*4096, make([]byte, 4096)}}
	blocks := []Block{{base, 5 * 4096}, {base + 5*4096, 100}, {base + 1<<30, 1 << 20}}
	memory.put(base+4*4096+8, base+5*4096) // behind the hole
	g, err := Build(context.Background(), memory, BlocksOf(blocks), Roots{Words: []Word{{Value: base}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Reach(1) != Reachable {
		t.Errorf("what a word behind a hole points to is %v", g.Reach(1))
	}
	if got, want := g.Stats().Unread, uint64(4096+104+1<<20); got != want {
		t.Errorf("%d bytes could not be read, want %d", got, want)
	}
}

// TestPopulated: only what holds something is read, and with an error of that question nothing is.
func TestPopulated(t *testing.T) {
	const base = 1 << 30
	memory := segments{{base, make([]byte, 64<<20)}}
	memory.put(base+33<<20, base+64<<20-16)
	blocks := []Block{{base, 64<<20 - 16}, {base + 64<<20 - 16, 16}}
	o := Options{Populated: func(start, end uint64) ([]Range, error) {
		var all []Range
		for _, p := range []uint64{base, base + 33<<20} {
			if p >= start && p < end {
				all = append(all, Range{p, p + 4096})
			}
		}
		return all, nil
	}}
	roots := Roots{Words: []Word{{Value: base}}}
	g, err := Build(context.Background(), memory, BlocksOf(blocks), roots, o)
	if err != nil {
		t.Fatal(err)
	}
	if s := g.Stats(); g.Reach(1) != Reachable || s.Read != 2*4096 || s.Read+s.Skipped != 64<<20 {
		t.Errorf("%v, %+v", g.Reach(1), s)
	}
	o.Populated = func(start, end uint64) ([]Range, error) { return nil, errors.New("no") }
	if g, err = Build(context.Background(), memory, BlocksOf(blocks), roots, o); err != nil || g.Stats().Unread != 64<<20 {
		t.Errorf("%+v, %v", g.Stats(), err)
	}
}

// TestRefused: arguments that make no sense are errors that name them.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		blocks []Block
		roots  []Root
		o      Options
		want   string
	}{
		{blocks: []Block{{16, 8}, {20, 4}}, want: "block 1 begins at 0x14, before the end of the one before it (0x10, 8 bytes)"},
		{blocks: []Block{{16, 0}, {16, 4}}, want: "block 1 begins at 0x10"},
		{blocks: []Block{{1 << 60, 8}}, want: "block 0 is no memory of a process"},
		{blocks: []Block{{4096, 1<<64 - 4096}}, want: "block 0 is no memory of a process"},
		{blocks: []Block{{4096, 16}, {1<<57 - 16, 8}}, want: "span too much"},
		{roots: []Root{{Start: 8, End: 4}}, want: "a root is no memory of a process"},
		{blocks: []Block{{4096, 4096}}, o: Options{MaxBytes: 100}, want: "who points where in 1 blocks needs more than 100 bytes"},
		{blocks: []Block{{4096, 4096}}, o: Options{MaxBytes: 1<<16 + 100}, want: "needs more than 65636 bytes"},
	} {
		memory := segments{{4096, make([]byte, 4096)}}
		for i := range uint64(512) {
			memory.put(4096+8*i, 4096)
		}
		if _, err := Build(context.Background(), memory, BlocksOf(c.blocks), Roots{Ranges: c.roots}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v instead of %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, segments{}, BlocksOf([]Block{{4096, 4096}}), Roots{}, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestVirtual: a pointer to a second base class counts as one to the start where both
// begin with tables of functions, and not else.
func TestVirtual(t *testing.T) {
	const code, tables, heap = 0x400000, 0x500000, 0x600000
	memory := segments{{tables, make([]byte, 4096)}, {heap, make([]byte, 4096)}}
	for i, words := range [][]uint64{{code + 16, 0, code + 32}, {0, code + 8, code + 8}, {code + 8, 7}, {code + 8}} {
		for k, w := range words {
			memory.put(tables+uint64(i)*512+uint64(k)*8, w)
		}
	}
	blocks := []Block{}
	var roots Roots
	for i, c := range [][2]uint64{{tables, tables + 512}, {tables, tables + 1024}, {tables + 1024, tables}, {tables, 5}, {tables, tables + 1536}, {tables + 4, tables}} {
		b := Block{heap + uint64(i)*64, 48}
		memory.put(b.Addr, c[0])
		memory.put(b.Addr+32, c[1])
		blocks = append(blocks, b)
		roots.Words = append(roots.Words, Word{Value: b.Addr + 32})
	}
	o := Options{Files: []Range{{code, code + 4096}, {tables, tables + 4096}}, Code: []Range{{code, code + 4096}}}
	want := []Reach{Reachable, Possible, Possible, Possible, Possible, Possible}
	for _, without := range []Heuristics{0, MultipleInheritance} {
		o.Without = without
		g, err := Build(context.Background(), memory, BlocksOf(blocks), roots, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			if r := g.Reach(i); r != want[i] {
				t.Errorf("without %v block %d is %v", without, i, r)
			}
		}
		for e := range g.To(0) {
			if e.Why != MultipleInheritance&^without || e.Offset != 32 {
				t.Errorf("%+v", e)
			}
		}
		want[0] = Possible
	}
}

// BenchmarkBuild is of a random tree of a million blocks, in memory of the test's own.
func BenchmarkBuild(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	blocks := make([]Block, n)
	at := uint64(1 << 32)
	for i := range blocks {
		blocks[i] = Block{at, 16 + 16*uint64(r.IntN(30))}
		at += blocks[i].Size + 16
	}
	memory := flat{1 << 32, make([]byte, at-1<<32)}
	for i := 1; i < n; i++ {
		up := blocks[r.IntN(i)]
		binary.LittleEndian.PutUint64(memory.b[up.Addr-memory.at+8*uint64(r.IntN(int(up.Size/8))):], blocks[i].Addr)
	}
	roots := Roots{Words: []Word{{Value: blocks[0].Addr}}}
	b.SetBytes(int64(len(memory.b)))
	for b.Loop() {
		if _, err := Build(context.Background(), memory, BlocksOf(blocks), roots, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// flat is memory in one piece.
type flat segment

func (f flat) ReadAt(b []byte, at int64) (int, error) {
	return copy(b, f.b[uint64(at)-f.at:]), nil
}
