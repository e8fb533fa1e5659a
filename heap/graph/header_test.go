package graph

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// newHeaderHeap is a heap whose blocks are mostly held at a few offsets, which belong to their kinds.
func newHeaderHeap(r *rand.Rand) (*testHeap, *Families) {
	h := &testHeap{}
	const base, rootAt = 0x555555550000, 0x555556550000
	f := &Families{}
	kinds := 1 + r.IntN(4)
	for range kinds {
		k := Kind{Bare: r.IntN(4) == 0}
		for range 1 + r.IntN(3) {
			k.Families = append(k.Families, uint32(r.IntN(6)))
		}
		slices.Sort(k.Families)
		k.Families = slices.Compact(k.Families)
		f.Kinds = append(f.Kinds, k)
	}
	at := uint64(base)
	for range 5 + r.IntN(80) {
		h.blocks = append(h.blocks, Block{at, 128})
		f.Of = append(f.Of, uint32(r.IntN(kinds)))
		at += 128
	}
	h.memory = segments{{base, make([]byte, at-base)}, {rootAt, make([]byte, 1024)}}
	h.roots.Ranges = []Root{{rootAt, rootAt + 1024, 0}}
	aim := func(b int) uint64 {
		offset := uint64(8 + 8*(f.Of[b]%3))
		switch r.IntN(30) {
		case 0:
			offset = 0
		case 1:
			offset = uint64(r.IntN(128))
		}
		return h.blocks[b].Addr + offset
	}
	for w := range 128 {
		if r.IntN(3) > 0 {
			h.memory.put(rootAt+8*uint64(w), aim(r.IntN(len(h.blocks))))
		}
	}
	pool := r.IntN(len(h.blocks))
	for range r.IntN(12) {
		h.memory.put(rootAt+8*uint64(r.IntN(128)), h.blocks[pool].Addr+8*uint64(r.IntN(16)))
	}
	for _, b := range h.blocks {
		if r.IntN(2) == 0 {
			h.memory.put(b.Addr+8*uint64(r.IntN(16)), aim(r.IntN(len(h.blocks))))
		}
	}
	h.o.Without = Heuristics(15)
	return h, f
}

// slowBehind finds what is behind headers by going over all edges.
func slowBehind(g *Graph, f *Families) []bool {
	var all []Edge
	for e := range g.RootEdges() {
		all = append(all, e)
	}
	for i := range g.reach {
		for e := range g.From(i) {
			all = append(all, e)
		}
	}
	held := func(i int) bool { return i < 0 || g.Reach(i) <= Possible }
	counts := func(i int, family uint32) bool {
		k := f.Kinds[f.Of[i]]
		return held(i) && slices.Contains(k.Families, family) && (!k.Bare || g.Reach(i) == Possible)
	}
	pointed := map[int]map[uint64]bool{}
	for _, e := range all {
		if held(e.From) && held(e.To) && e.From != e.To && e.Offset > 0 {
			if pointed[e.To] == nil {
				pointed[e.To] = map[uint64]bool{}
			}
			pointed[e.To][e.Offset] = true
		}
	}
	start := func(to int, offset uint64) bool {
		return slices.ContainsFunc(f.Kinds[f.Of[to]].Families, func(family uint32) bool {
			n, of := 0, 0
			for i := range g.reach {
				if counts(i, family) {
					of++
					if pointed[i][offset] {
						n++
					}
				}
			}
			return n >= 4 && 10*n >= 9*of
		})
	}
	reached, behind := make([]bool, len(g.reach)), make([]bool, len(g.reach))
	for i := range reached {
		reached[i] = g.Reach(i) == Reachable
	}
	for changed := true; changed; {
		changed = false
		for _, e := range all {
			if reached[e.To] || e.From >= 0 && !reached[e.From] || e.From == e.To || !held(e.To) {
				continue
			}
			if e.Offset == 0 || len(pointed[e.To]) >= 8 || start(e.To, e.Offset) {
				reached[e.To], behind[e.To], changed = true, true, true
			}
		}
	}
	return behind
}

// TestBehindHeaders holds what is found behind headers against what asking each edge finds. Edges and kinds are as without
// families.
func TestBehindHeaders(t *testing.T) {
	found, pools := 0, 0
	for seed := range uint64(rounds(t, 800, 100)) {
		h, f := newHeaderHeap(rand.New(rand.NewPCG(seed, 7)))
		build := func(families func() (*Families, error)) *Graph {
			o := h.o
			o.Families = families
			g, err := Build(context.Background(), h.memory, BlocksOf(h.blocks), h.roots, o)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		plain := build(nil)
		g := build(func() (*Families, error) { return f, nil })
		want := slowBehind(plain, f)
		sum, heads := Sum{}, 0
		for i := range want {
			if g.Behind(i) != want[i] {
				t.Fatalf("seed %d: block %d: %v, want %v", seed, i, g.Behind(i), want[i])
			}
			if !slices.Equal(slices.Collect(g.From(i)), slices.Collect(plain.From(i))) || g.Reach(i) != plain.Reach(i) {
				t.Fatalf("seed %d: block %d is changed", seed, i)
			}
			if g.Behind(i) {
				sum.add(128)
			}
			if g.Head(i) {
				heads++
			}
		}
		got := g.BehindSums()
		if got.Sum != sum || got.Heads.Blocks != heads || got.Pools.Blocks > heads || heads == 0 && sum.Blocks > 0 {
			t.Fatalf("seed %d: %+v, want %v and %d heads", seed, got, sum, heads)
		}
		if !reflect.DeepEqual(slices.Collect(g.RootEdges()), slices.Collect(plain.RootEdges())) {
			t.Fatalf("seed %d: edges of roots are changed", seed)
		}
		found, pools = found+sum.Blocks, pools+got.Pools.Blocks
	}
	if found == 0 || pools == 0 {
		t.Errorf("%d blocks behind headers, %d pools", found, pools)
	}
}

// The words behind starts are not collected before there is memory for them.
func TestWordsAreBounded(t *testing.T) {
	h, _ := newHeaderHeap(rand.New(rand.NewPCG(1, 7)))
	g, err := Build(context.Background(), h.memory, BlocksOf(h.blocks), h.roots, h.o)
	if err != nil {
		t.Fatal(err)
	}
	all := newBitset(len(h.blocks))
	for i := range h.blocks {
		all.set(uint32(i))
	}
	for _, bound := range []int64{1, 1 << 20} {
		s := &scanner{table: &table{blocks: g.blocks}, o: Options{MaxBytes: bound}}
		words := headers{marker: &marker{Graph: g, scanner: s, seen: all}, possible: all}
		if err := words.words(); (err != nil) != (bound == 1) || (words.all == nil) != (bound == 1) {
			t.Errorf("within %d bytes: %d words, error %v", bound, len(words.all), err)
		}
	}
}
