package jemalloc

import (
	"math/bits"
	"slices"
)

// An Arena is what the extents of an arena add up to.
type Arena struct {
	Index         int
	Extents       [States]uint64 // bytes by state
	Blocks, Bytes uint64         // that the program holds
	Cached        uint64         // regions in caches
	CachedBytes   uint64
	Internal      uint64 // bytes of the stacks of caches
	Slabs         uint64
	FreeBytes     uint64 // of free regions in slabs
}

// Arenas are those that have extents, ascending.
func (h *Heap) Arenas() []Arena {
	var all []Arena
	at := map[uint16]int{}
	for i := range h.extents {
		x := &h.extents[i]
		n, ok := at[x.arena]
		if !ok {
			n = len(all)
			at[x.arena] = n
			all = append(all, Arena{Index: int(x.arena)})
		}
		a := &all[n]
		a.Extents[x.state] += x.size
		if x.state != Active {
			continue
		}
		u := h.usage(x)
		size := h.usable(x)
		a.Blocks += u[Live]
		a.Bytes += u[Live] * size
		a.Cached += u[Cached]
		a.CachedBytes += u[Cached] * size
		a.Internal += u[Internal] * size
		a.FreeBytes += u[Free] * size
		if x.slab {
			a.Slabs++
		}
	}
	slices.SortFunc(all, func(a, b Arena) int { return a.Index - b.Index })
	return all
}

// usage counts the regions of an active extent by what they are used for.
func (h *Heap) usage(x *extent) (n [Kept]uint64) {
	if !x.slab {
		n[x.use]++
		return n
	}
	size := h.classes.size(int(x.class))
	regions := x.size / size
	used := uint64(0)
	for k := range int(regions+63) / 64 {
		u, c := h.used[int(x.words)+k], h.cached[int(x.words)+k]
		used += uint64(bits.OnesCount64(u))
		n[Live] += uint64(bits.OnesCount64(u &^ c))
		for w := u & c; w != 0; w &= w - 1 {
			n[h.use(x, uint64(64*k+bits.TrailingZeros64(w)))]++
		}
	}
	n[Free] = regions - used
	return n
}

// A Bin is what there is of a size class.
type Bin struct {
	Class   int
	Size    uint64 // of a region, or the most of a large block
	Small   bool   // it is cut from slabs
	Extents uint64 // slabs, or large extents
	Bytes   uint64 // of them
	Regions [Kept]uint64
}

// Bins are the size classes that have active extents, ascending. arena -1 is all.
func (h *Heap) Bins(arena int) []Bin {
	all := make([]Bin, len(h.classes.sizes))
	for i := range h.extents {
		x := &h.extents[i]
		if x.state != Active || arena >= 0 && int(x.arena) != arena {
			continue
		}
		b := &all[x.class]
		b.Extents++
		b.Bytes += x.size
		for u, n := range h.usage(x) {
			b.Regions[u] += n
		}
	}
	for i := range all {
		all[i].Class, all[i].Size, all[i].Small = i, h.classes.sizes[i], i < h.classes.small
	}
	return slices.DeleteFunc(all, func(b Bin) bool { return b.Extents == 0 })
}

// Metadata is what jemalloc has for itself: the bytes of its base blocks, and those of them that it has used.
func (h *Heap) Metadata() (mapped, used uint64) {
	for _, r := range h.own {
		mapped += r.Len()
	}
	return mapped, h.spent
}

// Resident is how much of the arenas' memory and of jemalloc's own is in memory or in swap, all of it if that
// cannot be known.
func (h *Heap) Resident() (bytes uint64, known bool) {
	for _, s := range h.Spans() {
		bytes += h.mem.Bytes(s.Range)
	}
	for _, r := range h.own {
		bytes += h.mem.Bytes(r)
	}
	return bytes, h.mem.Resident != nil
}

// Len is how many blocks the program holds.
func (h *Heap) Len() int {
	n := uint64(0)
	for i := range h.extents {
		if x := &h.extents[i]; x.state == Active {
			n += h.usage(x)[Live]
		}
	}
	return int(n)
}
