package memory

import (
	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// Layers sum up what the process takes. known is false where the blocks of its heap are not known:
// all of an allocator's memory is one layer then.
func (m *Image) Layers() (all []regions.Layer, known bool) {
	blocks := blockList{&m.merged().all}
	if m.Walkable() != nil && blocks.Len() == 0 {
		return m.Space().Layers(nil, nil), false
	}
	return m.Space().Layers(blocks, m.src.Space.Pages), true
}

// A blockList is blocks by their ranges.
type blockList struct{ *graph.Blocks }

func (l blockList) Block(i int) (start, end addr.Run) {
	b := l.At(i)
	return addr.Run(b.Addr), addr.Run(b.Addr + b.Size)
}
