package heap

import (
	"math/bits"

	"hdb/capture"
)

// A blockTable maps addresses to blocks. What lies together in the program lies
// together here: a program that goes through its heap from one end to the other,
// as most do, finds the next block in a cache line that it has.
//
// The addresses are divided into regions of 128 KiB, found by a hash table, and
// those into leaves of a KiB. A leaf is an array of 1 to 128 cells, each for as
// many bytes of the KiB, at most one block in each. It begins with as many as suit
// its first block and doubles when two blocks fall into one cell. Nothing is done
// when it has lost its last block: such leaves are looked for when the memory of
// leaves is used up. The garbage collector finds no pointers in regions and leaves.
type blockTable struct {
	slots []slot  // a power of two of them, at most half of them used
	shift uint8   // hash>>shift is the index
	used  int     // slots that are not empty
	none  *region // one without leaves
	puts  int     // blocks that were ever put
	takes int     // blocks that are no more
	moves int     // times that blocks got other cells
	leaves

	// rest are blocks that have no cell: their address is odd, or their size or
	// number beyond all measure. There are few or none.
	rest map[uint64]Block
}

const (
	regionBits   = 17 // of the address within a region
	leafBits     = 10 // of the address within a leaf
	unitBits     = 3  // of the address within the bytes of the smallest cell
	regionLeaves = 1 << (regionBits - leafBits)
	maxClass     = leafBits - unitBits // of leaves with 1<<maxClass cells
	minSlots     = 16
	inLeaf       = 1<<leafBits - 1 // mask
)

// A slot of the hash table.
type slot struct {
	key     uint64 // address >> regionBits, and 1 more; 0: the slot is empty
	*region        // of an empty one blockTable.none
}

// A region knows where its leaves are.
type region [regionLeaves]leaf

// newRegion is one without leaves.
func newRegion() *region {
	r := new(region)
	for i := range r {
		r[i] = noLeaf
	}
	return r
}

// A leaf is the index of its first cell << leafIndex, and how far an address
// within it is to be shifted to get the index of its cell among them: unitBits to
// leafBits.
type leaf uint64

const (
	leafIndex = 8    // shift
	leafShift = 0x3f // mask

	// noLeaf is that of addresses that have none. It has one cell, which no block
	// can be put into.
	noLeaf leaf = leafBits
)

// newLeaf is the leaf of a class whose first cell has that index.
func newLeaf(at uint32, class uint8) leaf {
	return leaf(at)<<leafIndex | leaf(leafBits-class)
}

func (f leaf) class() uint8 { return leafBits - uint8(f&leafShift) }

func (f leaf) first() uint32 { return uint32(f >> leafIndex) }

// index is that of the cell for the address.
func (f leaf) index(addr uint64) uint32 {
	return uint32(f>>leafIndex) + uint32(addr&inLeaf>>(f&leafShift))
}

// A cell is a block, in 16 bytes:
//
//	a  bits 0-9 its address within the leaf, 10 there is one, 11 logged, 12-18 size above 32 bits, 19-63 seq
//	b  bits 0-31 size, 32-63 stack
type cell struct{ a, b uint64 }

const (
	cellTaken  = 1 << leafBits
	cellLogged = 1 << 11
	cellHigh   = 12 // shift
	cellSeq    = 19

	maxSize = 1<<39 - 1
	maxSeq  = 1<<45 - 1
)

// fits tells whether a block at the address can have a cell.
func fits(addr, size, seq uint64) bool {
	return addr&(1<<unitBits-1)|size>>39|seq>>45 == 0
}

// newCell is the cell of a block at addr that fits.
func newCell(addr uint64, b Block) cell {
	a := addr&inLeaf | cellTaken | b.Size>>32<<cellHigh | b.Seq<<cellSeq
	if b.Logged {
		a |= cellLogged
	}
	return cell{a, b.Size&(1<<32-1) | uint64(b.Stack)<<32}
}

func (c *cell) block() Block {
	return Block{
		Seq: c.a >> cellSeq, Size: c.b&(1<<32-1) | c.a>>cellHigh&(1<<7-1)<<32,
		Stack: capture.StackID(c.b >> 32), Logged: c.a&cellLogged != 0,
	}
}

// holds tells whether the cell has the block at that address.
func (c *cell) holds(addr uint64) bool {
	return c.a&(cellTaken|inLeaf) == addr&inLeaf|cellTaken
}

// classFor is the class of leaves that suits blocks of a size, with the eight
// bytes that most allocators take in front and 32 in all.
func classFor(size uint64) uint8 {
	chunk := max(min(size, 1<<leafBits)+8, 32)
	return uint8(max(leafBits+1-bits.Len64(chunk), 0))
}

func newBlockTable() blockTable {
	t := blockTable{leaves: newLeaves(), none: newRegion()}
	t.resize(minSlots)
	return t
}

// len is how many blocks there are.
func (t *blockTable) len() int { return t.puts - t.takes }

func keyOf(addr uint64) uint64 { return addr>>regionBits + 1 }

// first is the slot where the search for a region begins.
func (t *blockTable) first(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> (t.shift & 63) }

// slot is the one with the key, or the empty one where it belongs.
func (t *blockTable) slot(key uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := t.first(key); ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// leaf is that of the address. This, index and at are apart so that the compiler
// can put them where they are used.
func (t *blockTable) leaf(addr uint64) leaf { return t.slot(keyOf(addr)).region[leafOf(addr)] }

func leafOf(addr uint64) uint64 { return addr >> leafBits & (regionLeaves - 1) }

// get is the block at addr.
func (t *blockTable) get(addr uint64) (b Block, ok bool) {
	if c := t.at(t.leaf(addr).index(addr)); c.holds(addr) {
		return c.block(), true
	}
	b, ok = t.rest[addr]
	return b, ok
}

// put stores b at addr and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	c := t.at(t.leaf(addr).index(addr))
	if c.a != 0 || t.rest != nil || !fits(addr, b.Size, b.Seq) {
		return t.replace(addr, b)
	}
	t.puts++
	*c = newCell(addr, b)
	return old, false
}

// replace does what put does, where more is to be done than to write a cell.
func (t *blockTable) replace(addr uint64, b Block) (old Block, replaced bool) {
	old, replaced = t.take(addr)
	t.puts++
	t.moves++
	if !fits(addr, b.Size, b.Seq) {
		if t.rest == nil {
			t.rest = map[uint64]Block{}
		}
		t.rest[addr] = b
		return old, replaced
	}
	f := t.leaf(addr)
	if f == noLeaf {
		f = t.addLeaf(addr, classFor(b.Size))
	}
	for t.at(f.index(addr)).a != 0 {
		f = t.grow(addr)
	}
	*t.at(f.index(addr)) = newCell(addr, b)
	return old, replaced
}

// take removes the block at addr.
func (t *blockTable) take(addr uint64) (b Block, ok bool) {
	if c := t.at(t.leaf(addr).index(addr)); c.holds(addr) {
		return t.empty(c), true
	}
	return t.takeRest(addr)
}

// empty empties a cell.
func (t *blockTable) empty(c *cell) Block {
	b := c.block()
	c.a = 0
	t.takes++
	return b
}

// takeRest removes the block at addr, which has no cell.
func (t *blockTable) takeRest(addr uint64) (b Block, ok bool) {
	if b, ok = t.rest[addr]; ok {
		t.takes++
		if delete(t.rest, addr); len(t.rest) == 0 {
			t.rest = nil
		}
	}
	return b, ok
}

// logged marks the block at addr, if there is one, and gives it its stack.
func (t *blockTable) logged(addr uint64, stack capture.StackID) {
	if c := t.at(t.leaf(addr).index(addr)); c.holds(addr) {
		c.a |= cellLogged
		c.b = c.b&(1<<32-1) | uint64(stack)<<32
		return
	}
	if b, ok := t.rest[addr]; ok {
		b.Logged, b.Stack = true, stack
		t.rest[addr] = b
	}
}

// addLeaf gives addr a leaf.
func (t *blockTable) addLeaf(addr uint64, class uint8) leaf {
	f := newLeaf(t.room(class), class)
	key := keyOf(addr)
	s := t.slot(key)
	if s.key == 0 {
		if 2*(t.used+1) > len(t.slots) {
			t.rehash()
			s = t.slot(key)
		}
		*s = slot{key, newRegion()}
		t.used++
	}
	s.region[leafOf(addr)] = f
	t.count++
	return f
}

// grow gives the leaf of an address twice as many cells.
func (t *blockTable) grow(addr uint64) leaf {
	at := &t.slot(keyOf(addr)).region[leafOf(addr)]
	class := at.class() + 1
	from, to := *at, newLeaf(t.room(class), class)
	*at = to
	for k := range uint32(1) << (class - 1) {
		if c := t.at(from.first() + k); c.a != 0 {
			*t.at(to.index(c.a)) = *c
			c.a = 0
		}
	}
	t.release(from)
	return to
}

// room is the index of the first cell of a new leaf.
func (t *blockTable) room(class uint8) uint32 {
	at, ok := t.alloc(class)
	if ok {
		return at
	}
	t.sweep()
	for at, ok = t.alloc(class); !ok; at, ok = t.alloc(class) {
		t.more()
	}
	return at
}

// sweep gives back the leaves without blocks, if there can be so many of them that
// the way through all leaves is worth it.
func (t *blockTable) sweep() {
	if t.takes-t.swept <= t.count/2 {
		return
	}
	t.swept = t.takes
	for i := range t.slots {
		r := t.slots[i].region
		if r == t.none {
			continue
		}
		for k, f := range r {
			if f != noLeaf && t.idle(f) {
				t.release(f)
				t.count--
				r[k] = noLeaf
			}
		}
	}
}

// rehash drops the regions without leaves, and makes more room if those are few.
func (t *blockTable) rehash() {
	t.sweep()
	old := t.slots
	t.used = 0
	for i := range old {
		if *old[i].region != *t.none {
			t.used++
		}
	}
	n := len(old)
	if 4*t.used > n {
		n *= 2
	}
	t.resize(n)
	for i := range old {
		if *old[i].region != *t.none {
			*t.slot(old[i].key) = old[i]
		}
	}
}

// resize makes n slots, all of them empty.
func (t *blockTable) resize(n int) {
	t.slots, t.shift = make([]slot, n), uint8(64-bits.TrailingZeros(uint(n)))
	for i := range t.slots {
		t.slots[i].region = t.none
	}
}

// each calls yield for all blocks until it returns false.
func (t *blockTable) each(yield func(uint64, Block) bool) {
	for i := range t.slots {
		s := &t.slots[i]
		if s.key == 0 {
			continue
		}
		for k, f := range s.region {
			if f == noLeaf {
				continue
			}
			base := (s.key-1)<<regionBits + uint64(k)<<leafBits
			for j := range uint32(1) << f.class() {
				if c := t.at(f.first() + j); c.a != 0 && !yield(base+c.a&inLeaf, c.block()) {
					return
				}
			}
		}
	}
	for addr, b := range t.rest {
		if !yield(addr, b) {
			return
		}
	}
}
