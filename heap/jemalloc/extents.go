package jemalloc

import (
	"cmp"
	"math/bits"
	"slices"

	"hdb/internal/addr"
)

// mostExtents bounds how many extents are read: of slabs of a page, those of 64 GiB.
const mostExtents = 1 << 24

// A reference is a slot of a leaf that leads to the struct of an extent.
type reference struct {
	edata addr.Run
	page  addr.Run
	slot  slot
}

// references are the slots of all leaves, one for each struct, ascending by the struct.
func (h *Heap) references() []reference {
	var all []reference
	buf := make([]byte, pieceSize)
	size, step := h.root.bytes(len(h.root.levels)-1), int(h.root.slot)
	for _, l := range h.root.leaves {
		last := addr.Run(0)
		h.mem.pieces(l.at.To(l.at+addr.Run(size)), buf, func(at addr.Run, b []byte) bool {
			for i := 0; i+step <= len(b); i += step {
				w := h.root.decode(b[i:])
				e := w.edata()
				if e == 0 || e == last {
					continue // the inner pages of a slab, mostly
				}
				last = e
				if len(all) == mostExtents {
					h.torn++
					return false
				}
				if !w.plausible() {
					h.torn++
					continue
				}
				page := l.base + (at+addr.Run(i)-l.at)/addr.Run(step)*pageSize
				all = append(all, reference{e, page, w})
			}
			return true
		})
	}
	slices.SortFunc(all, func(a, b reference) int { return cmp.Or(cmp.Compare(a.edata, b.edata), cmp.Compare(a.page, b.page)) })
	return slices.CompactFunc(all, func(a, b reference) bool { return a.edata == b.edata })
}

// readExtents reads the structs that the leaves lead to, and returns where these are, ascending.
func (h *Heap) readExtents() []addr.Run {
	refs := h.references()
	all := make([]edata, 0, len(refs))
	maps := make([][slabWords]uint64, 0, len(refs))
	structs := make([]addr.Run, 0, len(refs))
	for _, r := range refs {
		if h.mem.Spent() {
			break
		}
		if !h.mem.data(r.edata) {
			h.torn++
			continue
		}
		structs = append(structs, r.edata)
		e := h.mem.edata(h.root.layout, r.edata)
		if !h.root.layout.agrees(r.slot, r.page, &e) {
			h.torn++
			continue
		}
		if e.state == Active && e.class >= noClass { // kept by an arena's cache of extents (SEC)
			e.state = Dirty
		}
		all = append(all, e)
		free := [slabWords]uint64{}
		if e.slab && e.state == Active {
			for i := range free {
				free[i] = h.mem.Word(r.edata + edataBitmap + addr.Run(8*i))
			}
		}
		maps = append(maps, free)
	}
	h.classes = classesOf(all, maps)
	if h.classes.sizes == nil {
		return structs
	}
	h.pad = h.classes.padding(all)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[a].addr, all[b].addr) })
	end := addr.Run(0)
	for _, i := range order {
		if e := &all[i]; e.pages().Start < end || !h.add(e, &maps[i]) {
			h.torn++
			continue
		}
		end = all[i].pages().End
	}
	h.extents, h.used = slices.Clip(h.extents), slices.Clip(h.used)
	h.cached = make([]uint64, len(h.used))
	return structs
}

// add adds an extent, with the bitmap of its free regions, and reports whether it is sound.
func (h *Heap) add(e *edata, free *[slabWords]uint64) bool {
	r := e.pages()
	x := extent{start: r.Start, size: e.size, block: e.addr, arena: uint16(e.arena), state: e.state, slab: e.slab, hpa: e.hpa}
	if e.state != Active {
		x.slab = false
		h.extents = append(h.extents, x)
		return true
	}
	size := h.classes.size(e.class)
	x.class = uint8(e.class)
	if size == 0 || e.slab && size > e.size || !e.slab && e.class >= h.classes.small && e.size < largeLeast+h.pad {
		return false
	}
	if !e.slab {
		size = h.usable(&x)
		if size > e.size || e.class >= h.classes.small && h.classes.of(size) != e.class {
			return false
		}
		if e.addr+addr.Run(size) > r.End {
			return false
		}
		h.extents = append(h.extents, x)
		return true
	}
	n := int(e.size / size)
	if e.class >= h.classes.small || n > mostRegions || e.addr != r.Start {
		return false
	}
	x.words = uint32(len(h.used))
	unused := 0
	for k := range (n + 63) / 64 {
		mask := regionMask(n, k)
		unused += bits.OnesCount64(free[k] & mask)
		h.used = append(h.used, ^free[k]&mask)
	}
	if unused != e.nfree {
		h.torn++ // it is used as its bitmap says
	}
	h.extents = append(h.extents, x)
	return true
}

// classesOf finds the size classes that most active extents agree with; of these, those that give most of them
// the size that they have as it comes. None: no classes.
func classesOf(all []edata, free [][slabWords]uint64) classes {
	best, most := classes{}, -1
	for _, q := range quanta {
		c := newClasses(q)
		active, can, fit := 0, 0, 0
		for i := range all {
			e := &all[i]
			if e.state != Active {
				continue
			}
			active++
			if c.fits(e) {
				fit++
			}
			if c.fits(e) || e.slab && c.fills(e, &free[i]) {
				can++
			}
		}
		if 10*can >= 9*active && fit > most {
			best, most = c, fit
		}
	}
	return best
}
