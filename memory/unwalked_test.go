package memory

import (
	"context"
	"testing"

	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// What is freed of an allocator that is not walked holds nothing, and the rest of its memory does where it may be blocks that
// are not recorded.
func TestUnwalkedMemory(t *testing.T) {
	const (
		brk, segment         = 0x10000, 0x40000000
		freed, old, live, in = brk + 0x100, brk + 0x200, brk + 0x1000, segment + 0x20000
		byFreed, byOld       = live, live + 0x100
		byInfo, byAnonymous  = live + 0x200, live + 0x300
	)
	memory := wordMemory{segment + 208: 3, segment + 216: 0x1234567890abcdef ^ segment, segment + 224: 512, segment + 232: 2}
	memory[freed], memory[old], memory[segment+0x1000], memory[segment+512<<16] = byFreed, byOld, byInfo, byAnonymous
	memory[in] = byFreed
	for _, c := range []struct {
		name string
		past Past
		lost map[uint64]bool
	}{
		{"with gaps", Past{}, map[uint64]bool{byInfo: true}},
		{"from late on", Past{Had: []addr.Range{{Start: in, End: in + 64}, {Start: freed - 32, End: freed + 8}, {Start: segment + 512<<16, End: segment + 513<<16}}}, map[uint64]bool{byFreed: true, byInfo: true}},
		{"from late on, of a pool", Past{Had: []addr.Range{{Start: brk, End: brk + 0x800}}, Pools: []addr.Range{{Start: old, End: old + 64}}}, map[uint64]bool{byInfo: true}},
		{"whole, with a pool", Past{All: true, Pools: []addr.Range{{Start: old, End: old + 64}}}, map[uint64]bool{byFreed: true, byInfo: true}},
		{"whole", Past{All: true}, map[uint64]bool{byFreed: true, byOld: true, byInfo: true}},
	} {
		src := Source{Other: "mimalloc", Memory: memory, Past: func() (Past, error) { return c.past, nil }}
		src.Recorded = RecordedList{{Addr: byFreed, Size: 64, Seq: 1}, {Addr: byOld, Size: 64, Seq: 2}, {Addr: byInfo, Size: 64, Seq: 3}, {Addr: byAnonymous, Size: 64, Seq: 4}}
		src.Space.Mappings = []regions.Mapping{{Start: brk, End: brk + 0x2000, Perm: "rw-p", Path: "[heap]"}, {Start: segment, End: segment + 600<<16, Perm: "rw-p"}}
		m := New(src)
		g, err := m.Graph(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range m.Blocks() {
			if got := g.Reach(i) == graph.Definite; got != c.lost[b.Addr] {
				t.Errorf("%s: block %d is %v", c.name, b.Seq, g.Reach(i))
			}
		}
	}
}
