package heap

import "unsafe"

// leaves is the memory of the leaves: all cells are empty that are in none.
type leaves struct {
	slabs []*slab
	next  uint32               // cells from here on were never in a leaf
	end   uint32               // of the cells that there are
	free  [maxClass + 1]uint32 // by class the first of the leaves given back, 0 none
	count int                  // leaves in use
	swept int                  // blocks that were no more when leaves were last looked through
}

// A slab is 64 KiB.
type slab [1 << slabBits]cell

const (
	slabBits = 12
	// slabsAtOnce bounds what is asked of the runtime at a time: 16 MiB, most of
	// which can be huge pages.
	slabsAtOnce = 256
	// hugeFrom is from how many slabs at a time huge pages are asked for.
	hugeFrom = 16
)

// newLeaves is memory with the cell of noLeaf, which seems to have another block
// than any that is looked for.
func newLeaves() leaves {
	l := leaves{next: 1}
	l.more()
	l.at(0).a = ^uint64(cellTaken)
	return l
}

// at is the cell with that index. An index expression would look at the slab's
// first cell, too, to find out whether there is a slab.
func (l *leaves) at(i uint32) *cell {
	return (*cell)(unsafe.Add(unsafe.Pointer(l.slabs[i>>slabBits]), uintptr(i&(1<<slabBits-1))*unsafe.Sizeof(cell{})))
}

// alloc is the index of the first cell of a leaf, if there is one.
func (l *leaves) alloc(class uint8) (uint32, bool) {
	if at := l.free[class&7]; at != 0 {
		c := l.at(at)
		l.free[class&7] = uint32(c.b)
		return at, true
	}
	n := uint32(1) << class
	at := (l.next + n - 1) &^ (n - 1)
	if at+n > l.end {
		return 0, false
	}
	l.next = at + n
	return at, true
}

// release gives back a leaf, whose cells are empty.
func (l *leaves) release(f leaf) {
	class := f.class() & 7
	l.at(f.first()).b = uint64(l.free[class])
	l.free[class] = f.first()
}

// idle tells whether a leaf has no blocks.
func (l *leaves) idle(f leaf) bool {
	for _, c := range unsafe.Slice(l.at(f.first()), 1<<f.class()) {
		if c.a != 0 {
			return false
		}
	}
	return true
}

// more makes slabs, half as many as there are. They are not touched before they
// are used.
func (l *leaves) more() {
	slabs := make([]slab, min(len(l.slabs)/2+1, slabsAtOnce))
	if uintptr(len(slabs)) > hugeFrom {
		hugePages(unsafe.Pointer(&slabs[0]), unsafe.Sizeof(slab{})*uintptr(len(slabs)))
	}
	for i := range slabs {
		l.slabs = append(l.slabs, &slabs[i])
	}
	l.end += uint32(len(slabs)) << slabBits
}
