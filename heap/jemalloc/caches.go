package jemalloc

import (
	"slices"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// A Cache is a tcache.
type Cache struct {
	At      addr.Run // of its struct tcache_s
	TID     int      // of the thread that has it, 0: none that was given
	Regions int      // that it has
	Bytes   uint64
	Odd     int // words of its stacks that lead to no region of their class
}

// How far the search for caches goes.
const (
	storageBytes = 64 << 10 // static thread-local storage below the thread pointer, if it is not known how much there is
	mostCaches   = 1 << 16
	mostStack    = 1 << 13 // regions of a bin: the size of a stack has 16 bits
	binBytes     = 24      // sizeof(cache_bin_t) in 5.2 and 5.3
	extraBins    = 200     // of large classes
)

// findCaches finds the caches of the threads, by the pointers to themselves that they have, and of others that
// are linked with them.
func (h *Heap) findCaches() {
	had := map[addr.Run]bool{}
	var offsets []addr.Run // below the thread pointer, that a cache was found at
	threads := slices.Clone(h.mem.Threads)
	slices.SortFunc(threads, func(a, b resident.Thread) int { return a.TID - b.TID })
	for _, t := range threads {
		if t.FS == 0 || t.FS%8 != 0 || h.mem.Spent() {
			continue
		}
		at, ok := h.cacheOf(&t, offsets)
		if !ok {
			continue
		}
		if off := t.FS - at; !slices.Contains(offsets, off) {
			offsets = append(offsets, off)
		}
		if !had[at] {
			had[at] = true
			h.caches = append(h.caches, Cache{At: at, TID: t.TID})
		}
	}
	for i := 0; i < len(h.caches) && len(h.caches) < mostCaches; i++ { // it grows
		first := h.caches[i].At
		for at, n := h.next(first), 0; at != 0 && at != first && n < mostCaches; at, n = h.next(at), n+1 {
			if had[at] {
				break
			}
			if !h.isCache(at) {
				break
			}
			had[at] = true
			h.caches = append(h.caches, Cache{At: at})
		}
	}
	for i := range h.caches {
		h.readCache(&h.caches[i])
	}
}

// cacheOf is the cache in the thread-local storage below fs. In all threads it lies as far below.
func (h *Heap) cacheOf(t *resident.Thread, offsets []addr.Run) (addr.Run, bool) {
	fs := t.FS
	for _, off := range offsets {
		if h.isCache(fs - off) {
			return fs - off, true
		}
	}
	if len(offsets) > 0 {
		return 0, false // the thread has not allocated
	}
	low := t.Low
	if low == 0 {
		low = fs - min(fs, storageBytes)
	}
	if i, ok := h.mem.Mapping(fs - 8); ok {
		low = max(low, h.mem.Mappings[i].Start)
	}
	for at := fs - 8; at > low && !h.mem.Spent(); at -= 8 {
		if c, ok := h.cacheAt(at); ok {
			return c, true
		}
	}
	return 0, false
}

// cacheAt is the cache that the word at an address belongs to, which leads back to it.
func (h *Heap) cacheAt(at addr.Run) (addr.Run, bool) {
	if h.root.layout.leafState {
		return at, h.isCache(at)
	}
	// The word is bins_small of the descriptor.
	c := h.mem.Pointer(at) - oldBins
	return c, h.mem.Pointer(at) != 0 && c%8 == 0 && c+h.oldDescriptor() == at-2*8 && h.isCache(c)
}

// In 5.3, tcache_t is {tcache_slow, bins[]}, and tcache_slow_t {link next, prev; descriptor: link next, prev,
// bins; arena; ...; for each small class some bytes; dyn_alloc; tcache}.
const (
	newBins = 8
	slowBin = 32

	slowLeast, slowMost = 56, 512 // where the pointer to tcache_t is looked for
)

// A slowLayout is the layout of tcache_slow_t, which jemalloc allocates in one piece with tcache_t.
type slowLayout struct {
	version string
	fixed   int      // bytes in front of those of the small classes
	each    int      // bytes of one
	count   addr.Run // of tcache_nbins, how many classes have a bin; 0 if a bin says it itself
}

// slowLayouts are those of the versions that are read (readVersions in source.go). A new one gets a row; slowOf tries each.
var slowLayouts = [...]slowLayout{
	{version: "5.3", fixed: 52, each: 3},
	{version: "5.3.1", fixed: 76, each: 4, count: 48},
}

// In 5.2, tcache_t is {prof_accumbytes, gc_ticker, bins_small[], link next, prev, tsd_link next, prev,
// in_hook, descriptor: link next, prev, bins_small, bins_large; arena; next_gc_bin, lg_fill_div[], bins_large[]}.
const oldBins = 16

// oldLink is where link is in the tcache_t of 5.2, oldDescriptor the descriptor.
func (h *Heap) oldLink() addr.Run       { return oldBins + addr.Run(binBytes*h.classes.small) }
func (h *Heap) oldDescriptor() addr.Run { return h.oldLink() + 5*8 }

// isCache reports whether a tcache_t that is in use is at an address.
func (h *Heap) isCache(at addr.Run) bool {
	if at == 0 || at%8 != 0 || at >= maxAddress {
		return false
	}
	if h.root.layout.leafState {
		slow := h.mem.Pointer(at)
		return slow != 0 && slow%8 == 0 && slow < maxAddress && h.mem.Pointer(slow+slowBin) == at+newBins && h.slowOf(slow, at) != nil
	}
	d := at + h.oldDescriptor()
	large := h.mem.Pointer(d + 3*8)
	return h.mem.Pointer(d+2*8) == at+oldBins && large > d+5*8 && large < d+5*8+128
}

// slowOf is the layout by which tcache_slow_t leads back to its tcache_t, nil if none does. If it leads back in another way,
// its version is not known.
func (h *Heap) slowOf(slow, at addr.Run) *slowLayout {
	for i := range slowLayouts {
		if l := &slowLayouts[i]; h.mem.Pointer(slow+h.dynAlloc(l)+8) == at {
			return l
		}
	}
	for off := addr.Run(slowLeast); off < slowMost; off += 8 {
		if h.mem.Pointer(slow+off) == at {
			return &slowLayout{}
		}
	}
	return nil
}

// dynAlloc is where tcache_slow_t has dyn_alloc, in front of the pointer to its tcache_t.
func (h *Heap) dynAlloc(l *slowLayout) addr.Run {
	return addr.Run(l.fixed+l.each*h.classes.small+7) &^ 7
}

// next is the cache behind another one in the list of their arena.
func (h *Heap) next(at addr.Run) addr.Run {
	if !h.root.layout.leafState {
		return h.mem.Pointer((at + h.oldLink()) &^ 7)
	}
	slow := h.mem.Pointer(h.mem.Pointer(at) &^ 7)
	if slow == 0 || slow%8 != 0 {
		return 0
	}
	return h.mem.Pointer(slow+slowBin) - newBins
}

// readCache marks what a cache has.
func (h *Heap) readCache(c *Cache) {
	if h.root.layout.leafState {
		h.readNew(c)
	} else {
		h.readOld(c)
	}
}

// readNew reads a cache of 5.3. The stack of a bin grows down; the low 16 bits of its end tell how much it has.
func (h *Heap) readNew(c *Cache) {
	slow := h.mem.Pointer(c.At)
	l := h.slowOf(slow, c.At)
	if l == nil {
		c.Odd++
		return
	}
	if h.slow = l; l.version == "" {
		return
	}
	room, ok := h.stacks(h.mem.Pointer(slow + h.dynAlloc(l)))
	if !ok {
		c.Odd++
		return
	}
	classes := h.classes.small + extraBins
	if l.count != 0 {
		classes = min(classes, int(uint32(h.mem.Word(slow+l.count))))
	}
	for class := range classes {
		at := c.At + newBins + addr.Run(binBytes*class)
		head := h.mem.Pointer(at)
		empty := uint16(h.mem.Word(at+16) >> 32)
		n := (empty - uint16(head)) / 8
		if head == 0 || head%8 != 0 || !room.Contains(head) {
			if l.count == 0 {
				break // large classes from there on are not cached
			}
			continue // it has no cache
		}
		h.readStack(c, class, head.To(head+8*addr.Run(n)), room)
	}
}

// stacks is the memory that the stacks of a cache are in: a region, or with metadata_thp of 5.3.1 in a base block.
func (h *Heap) stacks(at addr.Run) (room addr.Range, ok bool) {
	if r, ok := h.Find(at); ok {
		h.mark(r.Addr, -1, Internal, 0)
		return r.Addr.To(r.Addr + addr.Run(r.Size)), r.Extent.State == Active
	}
	if i := slices.IndexFunc(h.own, func(r addr.Range) bool { return r.Contains(at) }); i >= 0 {
		return at.To(h.own[i].End), true
	}
	return addr.Range{}, false
}

// readOld reads a cache of 5.2. The stack of a bin is below avail.
func (h *Heap) readOld(c *Cache) {
	stacks, ok := h.Find(h.mem.Pointer(c.At+oldBins+16) - 8)
	if !ok || stacks.Extent.State != Active {
		c.Odd++
		return
	}
	room := stacks.Addr.To(stacks.Addr + addr.Run(stacks.Size))
	h.mark(stacks.Addr, -1, Internal, 0)
	// arenas_tdata is before the shards of the bins, one byte each, in front of the cache.
	if tdata, ok := h.Find(h.mem.Pointer(c.At - addr.Run(h.classes.small+7)&^7 - 8)); ok && c.TID != 0 {
		h.mark(tdata.Addr, -1, Internal, 0)
	}
	large := h.mem.Pointer(c.At + h.oldDescriptor() + 3*8)
	for class := range h.classes.small + extraBins {
		at := c.At + oldBins + addr.Run(binBytes*class)
		if class >= h.classes.small {
			at = large + addr.Run(binBytes*(class-h.classes.small))
		}
		avail := h.mem.Pointer(at + 16)
		n := addr.Run(h.mem.Word(at) >> 32)
		if avail%8 != 0 || avail <= room.Start || avail > room.End {
			break
		}
		if n > (avail-room.Start)/8 {
			c.Odd++
			continue
		}
		h.readStack(c, class, (avail - 8*n).To(avail), room)
	}
}

// readStack marks the regions that a stack leads to.
func (h *Heap) readStack(c *Cache, class int, stack, room addr.Range) {
	if stack.End > room.End || stack.Len() > 8*mostStack {
		c.Odd++
		return
	}
	for at := stack.Start; at < stack.End; at += 8 {
		if !h.mark(h.mem.Pointer(at), class, Cached, c.TID) {
			c.Odd++
			continue
		}
		c.Regions++
		i, _ := h.extentAt(h.mem.Pointer(at))
		c.Bytes += h.usable(&h.extents[i])
	}
}
