package graph

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// wideHeap is a heap of blocks of which many are the same way from the root, some are lost, and some are held by
// pointers into their interior.
func wideHeap(n int) (memory flat, blocks []Block, roots Roots) {
	r := rand.New(rand.NewPCG(3, 4))
	at := uint64(1 << 32)
	for range n {
		blocks = append(blocks, Block{at, 64 + 16*uint64(r.IntN(4))})
		at += 144
	}
	memory = flat{1 << 32, make([]byte, at-1<<32)}
	put := func(from, word int, value uint64) {
		binary.LittleEndian.PutUint64(memory.b[blocks[from].Addr-memory.at+8*uint64(word):], value)
	}
	for i := 1; i < n; i++ {
		to := blocks[i].Addr
		if i > n/2 && i%3 == 0 {
			to += 8
		}
		if i%50 != 0 {
			put((i-1)/4, (i-1)%4, to)
			put(r.IntN(n), 4+r.IntN(4), to)
		}
	}
	return memory, blocks, Roots{Words: []Word{{Value: blocks[0].Addr}}}
}

// TestWide: however many goroutines look, they find the same.
func TestWide(t *testing.T) {
	memory, blocks, roots := wideHeap(10 * wide)
	var graphs []*Graph
	for _, workers := range []int{1, 3} {
		g, err := Build(context.Background(), memory, BlocksOf(blocks), roots, Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	one, three := graphs[0], graphs[1]
	if sums := one.Sums(); sums != three.Sums() || sums[Reachable].Blocks < wide || sums[Possible].Blocks < wide || sums[Indirect].Blocks == 0 {
		t.Errorf("%v, %v", sums, three.Sums())
	}
	d, err := one.RetainedAll(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		if one.Reach(i) != three.Reach(i) {
			t.Fatalf("block %d is %v, with several goroutines %v", i, one.Reach(i), three.Reach(i))
		}
		if !slices.Equal(slices.Collect(one.From(i)), slices.Collect(three.From(i))) || !slices.Equal(slices.Collect(one.To(i)), slices.Collect(three.To(i))) {
			t.Fatalf("block %d has other edges", i)
		}
		for e := range one.To(i) {
			if e.From >= 0 && !slices.Contains(slices.Collect(one.From(e.From)), e) {
				t.Fatalf("%+v is no edge out of block %d", e, e.From)
			}
		}
		if i%(3*wide) == 0 {
			if sum, err := three.Retained(context.Background(), i); err != nil || sum != d.Retained(i) {
				t.Errorf("block %d retains %v, %v, of the tree %v", i, sum, err, d.Retained(i))
			}
		}
	}
}
