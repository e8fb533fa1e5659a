package session

import (
	"io"
	"slices"

	"hdb/heap/graph"
	"hdb/internal/addr"
	"hdb/python/objects"
	"hdb/python/pymalloc"
)

// pythonInner tells which pointers behind the starts of blocks are CPython's own in some memory: behind headers of debug hooks, and of
// objects. It is nil where no interpreter is known.
func (h *Heap) pythonInner(mem io.ReaderAt) func(word, pointer uint64, b graph.Block) bool {
	files, _, _ := pythonFiles(h.common, mem) // of what is refused headers are told by families
	var all []*objects.Heap
	for _, f := range files {
		if o, err := objects.Open(f.in, mem, f.symbols, h.reading.GivenUp); err == nil {
			all = append(all, o)
		}
	}
	if all == nil {
		return nil
	}
	return func(word, pointer uint64, b graph.Block) bool {
		start, at := addr.Run(b.Addr), addr.Run(pointer)
		for {
			if slices.ContainsFunc(all, func(o *objects.Heap) bool { return o.Inner(addr.Run(word), at, start) }) {
				return true
			}
			// What pymalloc leaves to PyMem_RawMalloc has two headers.
			if at < start+pymalloc.HookHeader || !pymalloc.Hooked(all[0].Memory(), start, b.Addr+b.Size-uint64(start)) {
				return false
			}
			if start += pymalloc.HookHeader; at == start {
				return true
			}
		}
	}
}
