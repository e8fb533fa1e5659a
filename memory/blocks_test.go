package memory

import (
	"bytes"
	"testing"

	"hdb/heap/graph"
)

// TestBlocksDoNotOverlap: whatever the recording says, the blocks are such that a graph can be made of them.
func TestBlocksDoNotOverlap(t *testing.T) {
	rec := &cursor{of: ListRecorded([]Block{
		{Addr: 0x1000, Size: 0},      // as large as the next one lets it be
		{Addr: 0x1000, Size: 0x10},   // at the same place
		{Addr: 0x1800, Size: 0x800},  // up to the chunk
		{Addr: 0x1900, Size: 0x1000}, // into the chunk: it was freed unseen
		{Addr: 0x2010, Size: 0x1000}, // beyond the end of its chunk
		{Addr: 0x3000, Size: 1 << 63},
		{Addr: 1 << 60},
	})}
	out := &blocks{}
	none := func(uint64) bool { return false }
	out.before(none, rec, 0x2000)
	out.chunk(graph.Block{Addr: 0x2000, Size: 0x100}, rec)
	out.before(none, rec, ^uint64(0))
	if _, err := graph.Build(t.Context(), bytes.NewReader(make([]byte, 0x4000)), &out.all, graph.Roots{}, graph.Options{}); err != nil {
		t.Error(err)
	}
	if out.all.Len() != 3 || out.stale != 3 {
		t.Errorf("%+v, %d stale", out.all, out.stale)
	}
}
