package heap

import (
	"math/bits"
	"unsafe"

	"hdb/capture"
)

// A leaf is the blocks of as many addresses as a word has bits: a head and some
// cells behind it, those of the blocks in their order. A block that is no more
// leaves an empty cell, because the next one is likely to start where it did.
// Memory that is never touched is time saved: where a program has one block in 512
// bytes, there is one cell.
//
// A head is as large as a cell.
type leaf struct {
	low, high   uint32 // a bit for each address that has a cell; in a freed leaf low is the index of the next
	class, left uint16 // left is how many cells more there is room for
}

// A place is an address as one among those that a block with a cell can have, which
// are multiples of eight in the memory of users. Turned to the right by these three bits,
// all other addresses are beyond them.
type place uint64

const (
	unitBits  = 3  // of the address, which a block is a multiple of
	placeBits = 44 // of the place: 47 of the address
	leafBits  = 6  // of the place within a leaf
	lastUnit  = 1<<leafBits - 1
)

func placeOf(addr uint64) place { return place(bits.RotateLeft64(addr, -unitBits)) }

func (p place) addr() uint64 { return bits.RotateLeft64(uint64(p), unitBits) }

// ok reports whether a block at the place can have a cell.
func (p place) ok() bool { return p>>placeBits == 0 }

// unit is the number of the place's bit in its leaf.
func (p place) unit() uint64 { return uint64(p & lastUnit) }

// region is the number of the region in its span.
func (p place) region() uint64 { return uint64(p >> regionBits & (spanRegions - 1)) }

// leaf is the number of the leaf in its region.
func (p place) leaf() uint64 { return uint64(p >> leafBits & (regionLeaves - 1)) }

// starts has a bit for each address that has a cell.
func (f *leaf) starts() uint64 { return uint64(f.low) | uint64(f.high)<<32 }

func (f *leaf) setStarts(s uint64) { f.low, f.high = uint32(s), uint32(s>>32) }

// upTo has a bit for each place up to this that has a cell; the highest is its own.
func (f *leaf) upTo(p place) uint64 { return f.starts() << (^p & lastUnit) }

// below is how many of the starts are before that unit.
func below(starts, unit uint64) int { return bits.OnesCount64(starts & (1<<(unit&lastUnit) - 1)) }

// cell is one of those behind the head.
func (f *leaf) cell(i int) *cell {
	return (*cell)(unsafe.Add(unsafe.Pointer(f), uintptr(i+1)*cellBytes))
}

// cells are the first n.
func (f *leaf) cells(n int) []cell { return unsafe.Slice(f.cell(0), n) }

// find is the cell for the place, nil if there is none.
func (f *leaf) find(p place) *cell {
	if s := f.upTo(p); int64(s) < 0 {
		return f.cell(bits.OnesCount64(s) - 1)
	}
	return nil
}

// count is how many cells there are.
func (f *leaf) count() int { return int(rooms[f.class]) - int(f.left) }

// live is how many cells are not empty.
func (f *leaf) live() (n int) {
	for _, c := range f.cells(bits.OnesCount64(f.starts())) {
		if c.c != 0 {
			n++
		}
	}
	return n
}

// first makes the first cell of a new leaf, which is empty, at a place.
func (f *leaf) first(p place) *cell {
	f.setStarts(1 << p.unit())
	f.left--
	c := f.cell(0)
	c.c = 0
	return c
}

// insert makes an empty cell for a unit that has none, nil if there is no room. An empty one next
// to its place becomes this cell: freed memory is often cut in another way.
func (f *leaf) insert(unit uint64) *cell {
	s, bit := f.starts(), uint64(1)<<unit
	i, n := below(s, unit), bits.OnesCount64(s)
	before, after := s&(bit-1), s&^(bit-1)
	switch {
	case f.left > 0:
		f.left--
		if i < n {
			copy(f.cells(n + 1)[i+1:], f.cells(n)[i:])
		}
		f.cell(i).c = 0
	case after != 0 && f.cell(i).c == 0:
		s &^= after & -after
	case before != 0 && f.cell(i-1).c == 0:
		s &^= 1 << (bits.Len64(before) - 1)
		i--
	default:
		return nil
	}
	f.setStarts(s | bit)
	return f.cell(i)
}

// move moves the blocks to another leaf, or together.
func (f *leaf) move(to *leaf) {
	moved, i, k := uint64(0), 0, 0
	for s := f.starts(); s != 0; s &= s - 1 {
		if c := f.cell(i); c.c != 0 {
			*to.cell(k) = *c
			moved |= s & -s
			k++
		}
		i++
	}
	to.setStarts(moved)
	to.left = uint16(int(rooms[to.class]) - k)
}

// A cell is a block, in 12 bytes:
//
//	a, b  bits 0-23 stack, 24-63 seq
//	c     bits 0-29 size, 30 there is a block, 31 logged; all of it 0: empty; only bit 31: the block is in blockTable.rest
type cell struct{ a, b, c uint32 }

const (
	cellBytes  = unsafe.Sizeof(cell{})
	cellTaken  = 1 << cellState
	cellLogged = 1 << (cellState + 1)
	cellRest   = cellLogged
	cellState  = 30 // shift, of these two bits
	cellSeq    = 24 // shift

	maxSize  = 1<<30 - 1
	maxStack = 1<<24 - 1
	maxSeq   = 1<<40 - 1
)

// fits reports whether a cell has room for a block.
func fits(size, seq uint64, stack capture.StackID) bool {
	return size <= maxSize && seq <= maxSeq && stack <= maxStack
}

// cellFlags are those of a cell with a block.
func cellFlags(logged bool) uint32 {
	if logged {
		return cellTaken | cellLogged
	}
	return cellTaken
}

// set puts the block, which fits, into the cell.
func (c *cell) set(size, seq uint64, stack capture.StackID, logged bool) {
	c.setMade(seq, stack)
	c.c = uint32(size) | cellFlags(logged)
}

// setMade says which event made the block.
func (c *cell) setMade(seq uint64, stack capture.StackID) {
	made := uint64(stack) | seq<<cellSeq
	c.a, c.b = uint32(made), uint32(made>>32)
}

// made is stack, and seq above it.
func (c *cell) made() uint64 { return uint64(c.a) | uint64(c.b)<<32 }

// taken reports whether the cell has a block.
func (c *cell) taken() bool { return c.c&cellTaken != 0 }

func (c *cell) size() uint64 { return uint64(c.c & maxSize) }

func (c *cell) seq() uint64 { return c.made() >> cellSeq }

func (c *cell) stack() capture.StackID { return capture.StackID(c.a & maxStack) }

func (c *cell) logged() bool { return c.c&cellLogged != 0 }

func (c *cell) block() Block {
	return Block{Seq: c.seq(), Size: c.size(), Stack: c.stack(), Logged: c.logged()}
}

// gone tells what the event that ends the block says of it.
func (c *cell) gone(g *capture.Ended) {
	if !c.logged() {
		*g = capture.Ended{}
		return
	}
	c.recorded(g)
}

// recorded does what gone does of a block that is logged. To write field by field
// takes a third of the time that a copy takes.
func (c *cell) recorded(g *capture.Ended) {
	made := c.made()
	g.Size, g.Stack, g.Recorded, g.Temporary, g.Seq = c.size(), capture.StackID(made&maxStack), true, false, made>>cellSeq
}

// rooms says by class how many cells a leaf has room for.
var rooms = [...]uint8{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64}

// classes says by number of blocks which is the least class of leaves with room for them.
var classes = func() (classes [1<<leafBits + 1]uint8) {
	class := uint8(0)
	for n := range classes {
		if n > int(rooms[class]) {
			class++
		}
		classes[n] = class
	}
	return classes
}()

// classOf is the least class of leaves with room for n blocks.
func classOf(n int) uint32 { return uint32(classes[n]) }

// leaves is the memory of the leaves.
type leaves struct {
	slabs []*slab
	next  uint32             // cells from here on were never in a leaf
	end   uint32             // of the cells that there are
	free  [len(rooms)]uint32 // by class the first of the freed leaves, 0 none
	count int                // leaves in use
	swept int                // blocks that were no more when leaves were last looked through
}

// A slab is 48 KiB.
type slab [1 << slabBits]cell

const (
	slabBits    = 12
	slabPointer = unsafe.Sizeof((*slab)(nil))
	// slabsAtOnce bounds what is asked of the runtime at a time, 12 MiB.
	slabsAtOnce = 256
)

// newLeaves is memory with one leaf, for addresses that have none: it has no cells.
func newLeaves() leaves {
	l := leaves{next: 1}
	l.more()
	return l
}

// at is the leaf with that index, which is one of those that there are. An index
// expression would ask whether it is, and look at the slab's first cell, too, to find
// out whether there is a slab.
func (l *leaves) at(i uint32) *leaf {
	s := *(**slab)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(l.slabs)), uintptr(i>>slabBits)*slabPointer))
	return (*leaf)(unsafe.Add(unsafe.Pointer(s), uintptr(i&(1<<slabBits-1))*cellBytes))
}

// alloc is the index of a new leaf, if there is room. Leaves are in one slab, and there is a cell
// behind each, so that a pointer there is one into the slab.
func (l *leaves) alloc(class uint32) (uint32, bool) {
	if at := l.free[class]; at != 0 {
		f := l.at(at)
		l.free[class] = f.low
		f.low, f.high, f.left = 0, 0, uint16(rooms[class])
		return at, true
	}
	n, at := 1+uint32(rooms[class]), l.next
	if left := -at & (1<<slabBits - 1); left <= n && left != 0 {
		at += left
	}
	if at+n > l.end {
		return 0, false
	}
	l.next = at + n
	f := l.at(at)
	f.class, f.left = uint16(class), uint16(rooms[class])
	return at, true
}

// extend gives the leaf with that index, which is full, the room of the next class, if it
// is the last one and its slab has it.
func (l *leaves) extend(at uint32) bool {
	f := l.at(at)
	room := uint32(rooms[f.class])
	if at+1+room != l.next || int(f.class) == len(rooms)-1 {
		return false
	}
	more := uint32(rooms[f.class+1]) - room
	if at>>slabBits != (l.next+more)>>slabBits {
		return false
	}
	l.next += more
	f.class++
	f.left = uint16(more)
	return true
}

// release returns a leaf.
func (l *leaves) release(at uint32) {
	f := l.at(at)
	f.low = l.free[f.class]
	l.free[f.class] = at
}

// more makes slabs, half as many as there are. They are not touched before they
// are used.
func (l *leaves) more() {
	slabs := make([]slab, min(len(l.slabs)/2+1, slabsAtOnce))
	for i := range slabs {
		l.slabs = append(l.slabs, &slabs[i])
	}
	l.end += uint32(len(slabs)) << slabBits
}
