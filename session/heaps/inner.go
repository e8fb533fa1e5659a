package heaps

import (
	"io"
	"slices"

	"hdb/heap/graph"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/objects"
	"hdb/python/pymalloc"
	"hdb/session/cpython"
)

// pythonInner tells which pointers behind the starts of blocks are CPython's own in some memory: behind headers of debug hooks, and of
// objects. It is nil where no interpreter is known.
func (h *Heap) pythonInner(mem io.ReaderAt) func(word, pointer uint64, b graph.Block) bool {
	files, _, _ := cpython.Files(h.target, mem) // where something is refused, headers are recognized by families
	var all []*objects.Heap
	for _, f := range files {
		if o, err := objects.Open(f.In, mem, f.Symbols, h.target.Reading.GivenUp); err == nil {
			all = append(all, o)
		}
	}
	if all == nil {
		return nil
	}
	return func(word, pointer uint64, b graph.Block) bool {
		at := addr.Run(pointer)
		return BehindHeaders(all[0].Memory(), b, at, func(start addr.Run) bool {
			return slices.ContainsFunc(all, func(o *objects.Heap) bool { return o.Inner(addr.Run(word), at, start) })
		})
	}
}

// maxHookHeaders is how many headers of debug hooks a block may begin with: what pymalloc leaves to PyMem_RawMalloc has
// that function's and its own. More are the program's bytes, which may continue like that without end.
const maxHookHeaders = 2

// BehindHeaders reports whether a pointer leads behind debug-hook headers of a block: to the first byte after one, or to a
// place that inner accepts. inner is asked for the block's start and for the byte after each header, as far as they are not
// beyond the pointer.
func BehindHeaders(mem python.Memory, b graph.Block, at addr.Run, inner func(start addr.Run) bool) bool {
	start := addr.Run(b.Addr)
	for range maxHookHeaders {
		if inner(start) {
			return true
		}
		if at < start+pymalloc.HookHeader || !pymalloc.Hooked(mem, start, b.Addr+b.Size-uint64(start)) {
			return false
		}
		if start += pymalloc.HookHeader; at == start {
			return true
		}
	}
	return inner(start)
}
