package graph

import (
	"context"
	"slices"
	"testing"
)

// TestInner has pointers that only a runtime can tell, at odd addresses, too, and blocks of which only the usable size is known.
func TestInner(t *testing.T) {
	const base, rootAt = 0x555555550000, 0x555556550000
	for _, c := range []struct {
		name   string
		offset uint64
		first  uint64 // word of the block
		o      Options
		reach  Reach
		why    Heuristics
	}{
		{"unknown", 16, 0, Options{}, Possible, 0},
		{"a runtime's", 16, 0, Options{Inner: func(word, pointer uint64, b Block) bool { return word == rootAt && pointer == b.Addr+16 }}, Reachable, Runtime},
		{"an odd one", 7, 0, Options{Inner: func(word, pointer uint64, b Block) bool { return word == rootAt && pointer == b.Addr+7 }}, Reachable, Runtime},
		{"refused", 7, 0, Options{Inner: func(uint64, uint64, Block) bool { return false }}, Possible, 0},
		{"a length, rounded", 8, 24, Options{}, Possible, 0},
		{"a length that fits", 8, 24, Options{Fits: func(b Block, asked uint64) bool { return b.Size == 40 && asked == 32 }}, Reachable, Length64},
	} {
		memory := segments{{base, make([]byte, 40)}, {rootAt, make([]byte, 8)}}
		memory.put(base, c.first)
		memory.put(rootAt, base+c.offset)
		g, err := Build(context.Background(), memory, BlocksOf([]Block{{base, 40}}), Roots{Ranges: []Root{{rootAt, rootAt + 8, 0}}}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		edges := slices.Collect(g.To(0))
		if g.Reach(0) != c.reach || len(edges) != 1 || edges[0].Why != c.why {
			t.Errorf("%s: %v by %+v, want %v by %v", c.name, g.Reach(0), edges, c.reach, c.why)
		}
	}
}
