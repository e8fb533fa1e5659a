package heap

import (
	"math/bits"
	"unsafe"

	"hdb/capture"
)

// A blockTable maps addresses to blocks. What lies together in the program lies
// together here: a program that goes through its heap from one end to the other,
// as most do, finds the next block in a cache line that it has.
//
// The addresses are divided into rows of 8 KiB, found by a hash table, and those
// into leaves of a KiB. A leaf is an array of 1 to 128 cells, each for as many
// bytes of the KiB, at most one block in each. It begins with as many as suit its
// first block and doubles when two blocks fall into one cell. The garbage
// collector finds no pointers in rows and leaves.
type blockTable struct {
	rows  []row // a power of two of them, at most half of them used
	shift uint8 // hash>>shift is the index
	used  int   // rows whose key is not 0
	len   int
	leaves

	// rest are blocks that have no cell: their address is odd, or their size or
	// number beyond all measure. There are few or none.
	rest map[uint64]Block
}

const (
	rowBits    = 13 // of the address within a row
	leafBits   = 10 // of the address within a leaf
	unitBits   = 3  // of the address within the bytes of the smallest cell
	rowLeaves  = 1 << (rowBits - leafBits)
	maxClass   = leafBits - unitBits
	minRows    = 16
	unitOfLeaf = 1<<maxClass - 1 // mask
)

// A row is a cache line.
type row struct {
	key   uint64            // address >> rowBits, and 1 more; 0: no row
	leaf  [rowLeaves]uint32 // index of its first cell, if it has blocks
	class [rowLeaves]uint8  // of a leaf of 1<<class cells; of one without blocks the last
	count [rowLeaves]uint8  // blocks
	_     [8]byte
}

// A cell is a block, in 16 bytes:
//
//	a  bit 0 there is one, 1 logged, 2-8 its address in units, 9-15 size above 32 bits, 16-63 seq
//	b  bits 0-31 size, 32-63 stack
type cell struct{ a, b uint64 }

const (
	cellTaken  = 1 << 0
	cellLogged = 1 << 1
	cellUnit   = 2 // shift
	cellHigh   = 9
	cellSeq    = 16

	maxSize = 1<<39 - 1
	maxSeq  = 1<<48 - 1
)

// cellOf is the cell of b at addr, if it fits into one.
func cellOf(addr uint64, b *Block) (c cell, ok bool) {
	if addr&(1<<unitBits-1) != 0 || b.Size > maxSize || b.Seq > maxSeq {
		return c, false
	}
	c.a = cellTaken | unitOf(addr)<<cellUnit | b.Size>>32<<cellHigh | b.Seq<<cellSeq
	if b.Logged {
		c.a |= cellLogged
	}
	c.b = b.Size&(1<<32-1) | uint64(b.Stack)<<32
	return c, true
}

func (c cell) block() Block {
	return Block{
		Seq: c.a >> cellSeq, Size: c.b&(1<<32-1) | c.a>>cellHigh&(1<<7-1)<<32,
		Stack: capture.StackID(c.b >> 32), Logged: c.a&cellLogged != 0,
	}
}

// unitOf is where in its leaf an address lies.
func unitOf(addr uint64) uint64 { return addr >> unitBits & unitOfLeaf }

// holds tells whether the cell has the block of that unit.
func (c *cell) holds(unit uint64) bool {
	return c.a&(cellTaken|unitOfLeaf<<cellUnit) == cellTaken|unit<<cellUnit
}

// classFor is the class of leaves that suits blocks of a size, with the eight
// bytes that most allocators take in front and 32 in all.
func classFor(size uint64) uint8 {
	chunk := max(min(size, 1<<leafBits)+8, 32)
	return uint8(max(leafBits+1-bits.Len64(chunk), 0))
}

func newBlockTable() blockTable {
	return blockTable{rows: make([]row, minRows), shift: uint8(64 - bits.TrailingZeros(minRows))}
}

// row is the one with the key, or the empty one where it belongs.
func (t *blockTable) row(key uint64) *row {
	mask := uint64(len(t.rows) - 1)
	hi, lo := bits.Mul64(key^0x8bb84b93962eacc9, 0x9e3779b97f4a7c15)
	for i := (hi ^ lo) >> (t.shift & 63); ; i++ {
		if r := &t.rows[i&mask]; r.key == key || r.key == 0 {
			return r
		}
	}
}

func keyOf(addr uint64) uint64 { return addr>>rowBits + 1 }

func leafOf(addr uint64) uint64 { return addr >> leafBits & (rowLeaves - 1) }

// cell is the cell of the block at addr with its row, or nil.
func (t *blockTable) cell(addr uint64) (*row, *cell) {
	if addr&(1<<unitBits-1) != 0 {
		return nil, nil
	}
	r, i, unit := t.row(keyOf(addr)), leafOf(addr), unitOf(addr)
	if r.count[i] == 0 {
		return r, nil
	}
	if c := t.at(r.leaf[i] + uint32(unit>>(maxClass-r.class[i]&7))); c.holds(unit) {
		return r, c
	}
	return r, nil
}

// get is the block at addr.
func (t *blockTable) get(addr uint64) (b Block, ok bool) {
	if _, c := t.cell(addr); c != nil {
		return c.block(), true
	}
	b, ok = t.rest[addr]
	return b, ok
}

// line is where the cell of the block at addr lies, 0 if there is no leaf for it.
func (t *blockTable) line(addr uint64) uintptr {
	r, i := t.row(keyOf(addr)), leafOf(addr)
	if r.count[i] == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(t.at(r.leaf[i] + uint32(unitOf(addr)>>(maxClass-r.class[i]&7)))))
}

// put stores b at addr and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	c, fits := cellOf(addr, &b)
	if !fits || len(t.rest) > 0 {
		old, replaced = t.take(addr)
	}
	t.len++
	if !fits {
		if t.rest == nil {
			t.rest = map[uint64]Block{}
		}
		t.rest[addr] = b
		return old, replaced
	}
	r, i, unit := t.row(keyOf(addr)), leafOf(addr), unitOf(addr)
	if r.count[i] == 0 {
		r = t.addLeaf(r, addr, classFor(b.Size))
	}
	at := t.at(r.leaf[i] + uint32(unit>>(maxClass-r.class[i]&7)))
	for at.a != 0 {
		if at.holds(unit) {
			t.len--
			old, *at = at.block(), c
			return old, true
		}
		t.grow(r, i)
		at = t.at(r.leaf[i] + uint32(unit>>(maxClass-r.class[i]&7)))
	}
	r.count[i]++
	*at = c
	return old, replaced
}

// take removes the block at addr.
func (t *blockTable) take(addr uint64) (b Block, ok bool) {
	if r, c := t.cell(addr); c != nil {
		b = c.block()
		*c = cell{}
		t.len--
		i := leafOf(addr)
		if r.count[i]--; r.count[i] == 0 {
			t.release(r.leaf[i], r.class[i])
		}
		return b, true
	}
	if len(t.rest) == 0 {
		return b, false
	}
	if b, ok = t.rest[addr]; ok {
		delete(t.rest, addr)
		t.len--
	}
	return b, ok
}

// logged marks the block at addr, if there is one, and gives it its stack.
func (t *blockTable) logged(addr uint64, stack capture.StackID) {
	if _, c := t.cell(addr); c != nil {
		c.a |= cellLogged
		c.b = c.b&(1<<32-1) | uint64(stack)<<32
		return
	}
	if b, ok := t.rest[addr]; ok {
		b.Logged, b.Stack = true, stack
		t.rest[addr] = b
	}
}

// addLeaf gives addr a leaf in the row r, which is where its row belongs or is.
func (t *blockTable) addLeaf(r *row, addr uint64, class uint8) *row {
	key, i := keyOf(addr), leafOf(addr)
	if r.key == 0 {
		if 2*(t.used+1) > len(t.rows) {
			t.rehash()
			r = t.row(key)
		}
		*r = row{key: key}
		t.used++
	}
	r.class[i] = max(r.class[i], class)
	r.leaf[i] = t.alloc(r.class[i])
	return r
}

// rehash drops the rows without blocks, and makes more room if those are few.
func (t *blockTable) rehash() {
	old := t.rows
	t.used = 0
	for i := range old {
		if old[i].count != [rowLeaves]uint8{} {
			t.used++
		}
	}
	n := len(old)
	if 4*t.used > n {
		n *= 2
	}
	t.rows, t.shift = make([]row, n), uint8(64-bits.TrailingZeros(uint(n)))
	for i := range old {
		if old[i].count != [rowLeaves]uint8{} {
			*t.row(old[i].key) = old[i]
		}
	}
}

// grow gives leaf i of a row twice as many cells.
func (t *blockTable) grow(r *row, i uint64) {
	from, class := r.leaf[i], r.class[i]
	to := t.alloc(class + 1)
	for k := range uint32(1) << class {
		c := t.at(from + k)
		if c.a != 0 {
			*t.at(to + uint32(c.a>>cellUnit&unitOfLeaf)>>(maxClass-class-1)) = *c
			*c = cell{}
		}
	}
	t.release(from, class)
	r.leaf[i], r.class[i] = to, class+1
}

// each calls yield for all blocks until it returns false.
func (t *blockTable) each(yield func(uint64, Block) bool) {
	for i := range t.rows {
		r := &t.rows[i]
		for l, n := range r.count {
			if n == 0 {
				continue
			}
			base := (r.key-1)<<rowBits + uint64(l)<<leafBits
			for k := range uint32(1) << r.class[l] {
				if c := t.at(r.leaf[l] + k); c.a != 0 && !yield(base+c.a>>cellUnit&unitOfLeaf<<unitBits, c.block()) {
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
