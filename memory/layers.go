package memory

import (
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// Layers sum up what the process takes. known is false where the blocks of its heap are not known:
// all of an allocator's memory is one layer then.
func (m *Image) Layers() (all []regions.Layer, known bool) {
	blocks := m.Blocks()
	if m.Walkable() != nil && len(blocks) == 0 {
		return m.Space().Layers(nil, nil), false
	}
	return m.Space().Layers(blockList(blocks), m.src.Space.Pages), true
}

// A blockList is blocks by their ranges.
type blockList []Block

func (l blockList) Len() int { return len(l) }

func (l blockList) Block(i int) (start, end addr.Run) {
	return addr.Run(l[i].Addr), addr.Run(l[i].End())
}
