package memory

import (
	"hdb/heap/glibc"
	"hdb/heap/graph"
	"hdb/internal/addr"
)

// blocks are the blocks of the recording and of the walk in one.
type blocks struct {
	all    graph.Blocks
	chunks []graph.Range // that blocks of pools were cut from: the pool's own, but for these blocks
	walked graph.Sum
	stale  int
	hidden []Hidden
}

// Hidden is a recorded block in the chunk of another one, which is too small to reach there: the
// size of that chunk was overwritten.
type Hidden struct {
	Chunk         glibc.Block // as its size says
	Outer, Within Block
}

// merged joins the blocks of the recording with those of the walk.
func (m *Image) merged() *blocks {
	if m.blocks != nil {
		return m.blocks
	}
	out := &blocks{all: *graph.MakeBlocks(m.walkedLen())} // and blocks of other allocators
	rec := &cursor{of: m.src.Recorded}
	for c := range m.spans() {
		out.before(m.released, rec, c.Addr)
		if m.inArenas(c.Addr) {
			out.slot(c, rec)
		} else {
			out.chunk(c, rec)
		}
	}
	out.before(m.released, rec, ^uint64(0))
	m.blocks = out
	return out
}

// maxAddress is above all that a process may have (five levels of page tables).
const maxAddress = 1 << 56

// before takes the recorded blocks below the next chunk that is in use, which are in none: those of
// other allocators. Where the allocator has the memory back, their end was not seen; so it is where
// they would reach into that chunk.
func (out *blocks) before(back func(uint64) bool, rec *cursor, low uint64) {
	for r := rec.peek(); r != nil && r.Addr < low; r = rec.peek() {
		rec.skip()
		if r.Addr >= maxAddress || r.Size > min(low, maxAddress)-r.Addr {
			out.stale++
			continue
		}
		if back(r.Addr) {
			out.stale++
			continue
		}
		out.add(r.Addr, r.Size)
	}
}

// add takes a recorded block. One that is in another is cut from it: the outer one is a pool's.
func (out *blocks) add(at, size uint64) {
	if n := out.all.Len(); n > 0 {
		if outer := out.all.At(n - 1); at < outer.Addr+max(outer.Size, 1) {
			out.all.DropLast()
			out.chunks = append(out.chunks, graph.Range{Start: outer.Addr, End: outer.Addr + outer.Size})
		}
	}
	out.all.Append(graph.Block{Addr: at, Size: size})
}

// chunk takes a chunk that is in use, and the recorded blocks in it.
func (out *blocks) chunk(c graph.Block, rec *cursor) {
	low, high := c.Addr, c.Addr+c.Size
	in := rec.below(high)
	switch {
	case len(in) == 0:
		out.walk(c)
	case len(in) == 1 && in[0].Addr == low:
		out.all.Append(graph.Block{Addr: low, Size: min(in[0].Size, c.Size)}) // more is a realloc that was not seen
	default:
		if len(in) > 1 && in[0].Addr == low && in[0].Size < in[1].Addr-low {
			out.hidden = append(out.hidden, Hidden{glibc.Block{Addr: addr.Run(low), Size: c.Size}, in[0], in[1]})
		}
		out.chunks = append(out.chunks, graph.Range{Start: low, End: high})
		for _, r := range in {
			out.add(r.Addr, min(r.Size, high-r.Addr))
		}
	}
}

// fits reports whether the allocator gives a block for a request of that size. Of recorded blocks the size is what was
// requested, of those that a walk of glibc's heap has found it is what can be used. malloc does not split off what is
// too small for a chunk.
func (m *Image) fits(b graph.Block, asked uint64) bool {
	if m.src.Recorded != nil {
		if _, recorded := m.src.Recorded.At(b.Addr); recorded {
			return false
		}
	}
	if h, err := m.Heap(); err != nil || h == nil {
		return false
	}
	usable := glibc.Usable(asked)
	return b.Size == usable || b.Size == usable+16
}
