package glibc

import (
	"slices"

	"hdb/internal/addr"
)

// A mapped region is what a main arena got by one mmap.
type mappedRegion struct {
	addr.Range
	arena  *Arena
	sure   bool // that it is the arena's
	pieces []*piece
	frees  []freeChunk
	damage [2]int // in Heap.damage, [first, end)
}

// mainMappings walks what main arenas got by mmap when brk failed. Such memory begins with a page, and
// ends in fenceposts or with the top chunk; the kernel merges it with other mappings, of other libraries too.
func (w *walker) mainMappings(mains []*Arena) {
	mem := w.mem
	var taken []addr.Range
	for _, a := range w.heap.arenas {
		taken = append(taken, a.Heaps...)
	}
	var found []*mappedRegion
	buf := make([]byte, mostAhead)
	for _, x := range without(mem.anonymous(), taken) {
		at := x.Start
		parts := mem.present(x)
		in := newWindow(mem, parts, buf)
		defer in.end()
		for i, part := range parts {
			for at = max(at, part.Start); at < part.End && !w.bound.reached(); {
				prev, word, ok := in.head(at)
				if !ok {
					at += pageSize
					continue
				}
				if mem.layout.mmappedHeader(0, prev, word, uint64(x.End-at)) {
					at += addr.Run(word&^flagBits + mem.layout.mmappedTail)
					continue
				}
				r := region{Range: at.To(x.End), alone: true, parts: parts[i:]}
				r.arena, r.last = nextTop(mains, r.Range)
				if r.last && w.before(&r) {
					at += pageSize
					continue
				}
				if !(r.last && at == r.arena.Top) && (word&(isMmapped|nonMainArena) != 0 || word&prevInUse == 0 || !w.credible(&r, at, r.limit(), true)) {
					at += pageSize
					continue
				}
				mem.Steps += readSteps // of the chain's first read
				m := w.mapped(&r)
				found = append(found, m)
				at = m.End
			}
		}
	}
	if w.bound.reached() {
		w.giveUp(mains[0].Index, mains[0].Top)
	}
	w.attribute(mains, found)
}

// before reports whether a region with a top chunk begins in front of the arena's memory, as it would have more than the arena has
// got from the kernel.
func (w *walker) before(r *region) bool {
	a := r.arena
	size := w.mem.Word(a.Top+8) &^ flagBits
	return size <= uint64(r.End-a.Top) && int64(uint64(a.Top-r.Start)+size) > a.missing()
}

// nextTop is the arena whose top chunk is the first in a range, and whether there is one.
func nextTop(mains []*Arena, r addr.Range) (next *Arena, ok bool) {
	for _, a := range mains {
		if r.Contains(a.Top) && (next == nil || a.Top < next.Top) {
			next = a
		}
	}
	if next == nil {
		return mains[0], false
	}
	return next, true
}

// mapped walks a region that begins in a mapping.
func (w *walker) mapped(r *region) *mappedRegion {
	first, free, damage := len(w.pieces), len(r.arena.frees), len(w.heap.damage)
	end := max(w.region(*r), r.Start+1)
	m := &mappedRegion{arena: r.arena, sure: r.last && end > r.arena.Top, pieces: w.pieces[first:], frees: r.arena.frees[free:],
		damage: [2]int{damage, len(w.heap.damage)}}
	m.Range = r.Start.To(min((end+pageSize-1)&^(pageSize-1), r.End))
	r.arena.frees = r.arena.frees[:free:free]
	return m
}

// attribute gives regions to their arenas. A region with a top chunk or with sbrk_base tells its arena. Otherwise its free
// chunks do, by the list that they are in; if there is none, the arena that misses the most bytes gets it. A region that is larger
// than what any arena misses is of a library that was unloaded: dlclose leaves its memory behind.
func (w *walker) attribute(mains []*Arena, found []*mappedRegion) {
	var rest, left []*mappedRegion
	for _, m := range found {
		for _, a := range mains {
			if !m.sure && m.Contains(w.heap.libs[a.Library].params.sbrkBase) {
				m.arena, m.sure = a, true
			}
		}
		for i := 0; i < len(m.frees) && !m.sure; i++ {
			if a := w.listedBy(mains, m.frees[i]); a != nil {
				m.arena, m.sure = a, true
			}
		}
		if m.sure {
			m.belong(w.heap)
		} else {
			rest = append(rest, m)
		}
	}
	for _, m := range rest {
		most := int64(m.Len()) - 1
		fits := false
		for _, a := range mains {
			if missing := a.missing(); missing > most {
				m.arena, most, fits = a, missing, true
			}
		}
		if !fits {
			left = append(left, m)
			continue
		}
		m.sure = len(mains) == 1
		m.belong(w.heap)
	}
	w.leave(left)
}

// missing is how many bytes of the kernel's an arena has of which no place is known.
func (a *Arena) missing() int64 {
	missing := int64(a.SystemMem)
	for _, r := range a.Heaps {
		missing -= int64(r.Len())
	}
	return missing
}

// leave forgets regions that belong to no arena, with the damage that was found in them.
func (w *walker) leave(left []*mappedRegion) {
	for _, m := range slices.Backward(left) {
		w.pieces = slices.DeleteFunc(w.pieces, func(p *piece) bool { return slices.Contains(m.pieces, p) })
		w.heap.damage = slices.Delete(w.heap.damage, m.damage[0], m.damage[1])
	}
}

// belong gives the region to its arena. Its damage is no arena's if that is not sure.
func (m *mappedRegion) belong(h *Heap) {
	m.arena.Heaps = append(m.arena.Heaps, m.Range)
	m.arena.frees = append(m.arena.frees, m.frees...)
	for _, p := range m.pieces {
		p.arena, p.guessed = m.arena.Index, !m.sure
	}
	for i := m.damage[0]; i < m.damage[1]; i++ {
		d := &h.damage[i]
		d.Arena, d.Passing = m.arena.Index, m.arena.Locked
		if !m.sure {
			d.Arena, d.Passing = -1, slices.ContainsFunc(h.arenas, func(a Arena) bool { return a.Main && a.Locked })
		}
	}
}

// listedBy is the arena that the links of a free chunk lead to: each list leads through its head. nil if none was reached.
func (w *walker) listedBy(mains []*Arena, f freeChunk) *Arena {
	const most = 1 << 16 // chunks
	p := f.fd
	for range most {
		for _, a := range mains {
			if a.Struct().Contains(p) {
				return a
			}
		}
		if p == 0 || w.bound.reached() {
			return nil
		}
		p = w.mem.Pointer(p + header)
	}
	return nil
}
