package jemalloc

import (
	"slices"

	"hdb/internal/addr"
)

// Where base_block_t has its fields. The extent in it is the unused rest of the block.
const (
	baseUnit = 2 << 20 // HUGEPAGE: blocks are multiples of it, and aligned to it
	baseSize = 0
	baseNext = 8
	baseRest = 16
)

const (
	mostBase    = 1 << 16 // blocks of a chain
	mostTries   = 1 << 12 // units that are searched back for the beginning of a block
	searchTries = 1 << 6  // while it is not sure that there is one
)

// baseBlocks finds the blocks that structs of extents and leaves are in, and those that these are chained to.
func (h *Heap) baseBlocks(structs []addr.Run) {
	from := slices.Clone(structs)
	for _, l := range h.root.leaves {
		from = append(from, l.at)
	}
	slices.Sort(from)
	last := addr.Range{}
	had, none := map[addr.Run]bool{}, map[addr.Run]bool{}
	for _, a := range from {
		if last.Contains(a) {
			continue
		}
		r, ok := h.mem.baseAround(a, mostTries, none)
		if !ok {
			h.lost++
			page := a &^ (pageSize - 1)
			last = page.To(page + pageSize)
			h.own = append(h.own, last)
			continue
		}
		last = r
		for at := r.Start; at != 0 && !had[at] && len(had) < mostBase; at = h.mem.Pointer(at + baseNext) {
			had[at] = true
			block, ok := h.mem.baseBlock(at)
			if !ok {
				break
			}
			h.own = append(h.own, block)
			rest := h.mem.Word(at + baseRest + edataBytes)
			h.spent += block.Len() - min(rest, block.Len())
		}
	}
	slices.SortFunc(h.own, func(a, b addr.Range) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	h.own = slices.Compact(h.own)
}

// baseAround is the base block that an address is in, which begins at most that number of units before.
// none are units that are known not to be in any.
func (m *memory) baseAround(a addr.Run, tries int, none map[addr.Run]bool) (addr.Range, bool) {
	at := a &^ (baseUnit - 1)
	for range tries {
		if none[at] || !m.data(at) || m.Spent() {
			break
		}
		if r, ok := m.baseBlock(at); ok {
			return r, r.Contains(a)
		}
		none[at] = true
		if at < baseUnit {
			break
		}
		at -= baseUnit
	}
	return addr.Range{}, false
}

// baseBlock is the block that begins at an address, if one does: its unused rest ends where it ends.
func (m *memory) baseBlock(at addr.Run) (addr.Range, bool) {
	if at%baseUnit != 0 || !m.data(at) {
		return addr.Range{}, false
	}
	size := m.Word(at + baseSize)
	if size == 0 || size%baseUnit != 0 || size >= uint64(maxAddress-min(at, maxAddress)) {
		return addr.Range{}, false
	}
	rest, left := m.Word(at+baseRest+edataAddr), m.Word(at+baseRest+edataBytes)
	if rest < uint64(at) || left > size || rest+left != uint64(at)+size {
		return addr.Range{}, false
	}
	return at.To(at + addr.Run(size)), true
}
