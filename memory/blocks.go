package memory

import (
	"cmp"
	"slices"

	"hdb/heap/glibc"
	"hdb/heap/graph"
	"hdb/internal/addr"
)

// blocks are the blocks of the recording and of the walk in one.
type blocks struct {
	all    []Block // ascending, not overlapping
	chunks []Range // that blocks of pools were cut from: the pool's own, but for these blocks
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

// A Range is addresses from Low to below High.
type Range struct{ Low, High uint64 }

func (b *blocks) find(at uint64) (int, bool) {
	i, exact := slices.BinarySearchFunc(b.all, at, func(b Block, at uint64) int { return cmp.Compare(b.Addr, at) })
	if exact {
		return i, true
	}
	if i--; i >= 0 && at-b.all[i].Addr < b.all[i].Size {
		return i, true
	}
	return 0, false
}

// merged joins the blocks of the recording with those of the walk.
func (m *Image) merged() *blocks {
	if m.blocks != nil {
		return m.blocks
	}
	rec := m.src.Recorded
	m.src.Recorded = nil // as large as what is made of it
	slices.SortFunc(rec, func(a, b Recorded) int { return cmp.Compare(a.Addr, b.Addr) })
	out := &blocks{all: make([]Block, 0, len(rec))}
	for c := range m.spans() {
		rec = out.before(m.has, rec, c.addr)
		rec = out.chunk(c, rec)
	}
	out.before(m.has, rec, ^uint64(0))
	out.all = slices.Clip(out.all)
	m.blocks = out
	return out
}

// maxAddress is above all that a process may have (five levels of page tables).
const maxAddress = 1 << 56

// before takes the recorded blocks below the next chunk that is in use, which lie in none: those
// of other allocators. Where the allocator has the memory back, their end was not seen; so it is
// where they would reach into that chunk.
func (out *blocks) before(back func(uint64) bool, rec []Recorded, low uint64) []Recorded {
	for len(rec) > 0 && rec[0].Addr < low {
		r := rec[0]
		rec = rec[1:]
		if r.Addr >= maxAddress || r.Size > min(low, maxAddress)-r.Addr {
			out.stale++
			continue
		}
		if back(r.Addr) {
			out.stale++
			continue
		}
		out.add(r)
	}
	return rec
}

// add takes a recorded block. One that lies in another is cut from it: the outer one is a pool's.
func (out *blocks) add(r Recorded) {
	if n := len(out.all); n > 0 && r.Addr < out.all[n-1].Addr+max(out.all[n-1].Size, 1) {
		outer := out.all[n-1]
		out.all = out.all[:n-1]
		out.chunks = append(out.chunks, Range{outer.Addr, outer.End()})
	}
	out.all = append(out.all, Block(r))
}

// chunk takes a chunk that is in use, and the recorded blocks in it.
func (out *blocks) chunk(c span, rec []Recorded) []Recorded {
	low, high := c.addr, c.addr+c.size
	n := 0
	for n < len(rec) && rec[n].Addr < high {
		n++
	}
	switch {
	case n == 0:
		out.all = append(out.all, Block{Addr: low, Size: c.size})
		out.walked.Blocks++
		out.walked.Bytes += c.size
	case n == 1 && rec[0].Addr == low:
		b := Block(rec[0])
		b.Size = min(b.Size, c.size) // more is a realloc that was not seen
		out.all = append(out.all, b)
	default:
		if n > 1 && rec[0].Addr == low && rec[0].Size < rec[1].Addr-low {
			out.hidden = append(out.hidden, Hidden{glibc.Block{Addr: addr.Run(low), Size: c.size}, Block(rec[0]), Block(rec[1])})
		}
		out.chunks = append(out.chunks, Range{low, high})
		for _, r := range rec[:n] {
			r.Size = min(r.Size, high-r.Addr)
			out.add(r)
		}
	}
	return rec[n:]
}
