package memory

import (
	"hdb/heap/graph"
	"hdb/heap/regions"
	"hdb/internal/addr"
)

// Layers sum up what the process takes. known is false where the blocks of its heap are not known:
// all of an allocator's memory is one layer then. What an allocator has that is not walked is never free memory. cut is whether
// not all of that was looked for: some of it may be in other layers.
func (m *Image) Layers() (all []regions.Layer, known, cut bool) {
	blocks := blockList{&m.merged().all}
	how := regions.Divided{Pages: m.src.Space.Pages}
	o := m.owner()
	if o.name != "" {
		how.Owner = o.name
	}
	if known = how.Owner == "" || blocks.Len() > 0; known {
		how.Blocks = blocks
	}
	return m.Space().Layers(how), known, o.cut
}

// A blockList is blocks by their ranges.
type blockList struct{ *graph.Blocks }

func (l blockList) Block(i int) (start, end addr.Run) {
	b := l.At(i)
	return addr.Run(b.Addr), addr.Run(b.Addr + b.Size)
}
