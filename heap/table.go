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
// those into leaves of 512 bytes. Nothing is done when a leaf has lost its last
// block: such leaves are looked for when the memory of leaves is used up. The
// garbage collector finds no pointers in regions and leaves.
type blockTable struct {
	slots []slot  // a power of two of them, at most half of them used
	shift uint8   // hash>>shift is the index
	used  int     // slots that are not empty
	none  *region // one without leaves
	puts  int     // blocks that were ever put
	takes int     // blocks that are no more
	leaves

	// rest are blocks whose address is odd, and those that have a cell but not
	// room in it: their size, stack or number is beyond all measure. There are few
	// or none.
	rest map[uint64]Block
}

const (
	regionBits   = 17 // of the address within a region
	regionLeaves = 1 << (regionBits - leafBits)
	minSlots     = 16
)

// A slot of the hash table.
type slot struct {
	key     uint64 // address >> regionBits, and 1 more; 0: the slot is empty
	*region        // of an empty one blockTable.none
}

// A region has the indexes of its leaves, 0 of those that there are not.
type region [regionLeaves]uint32

func newBlockTable() blockTable {
	t := blockTable{leaves: newLeaves(), none: new(region)}
	t.resize(minSlots)
	return t
}

// len is how many blocks there are.
func (t *blockTable) len() int { return t.puts - t.takes }

// large tells whether the table is larger than the caches that a processor has to
// itself: than so many cells, in leaves and, three indexes a cell, in regions.
func (t *blockTable) large() bool { return int(t.next)+t.used*regionLeaves/3 > 1<<16 }

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

// leaf is that of the address. This and leaf.find are apart so that the compiler can
// put them where they are used.
func (t *blockTable) leaf(addr uint64) *leaf {
	return t.at(t.slot(keyOf(addr)).region[leafOf(addr)])
}

func leafOf(addr uint64) uint64 { return addr >> leafBits & (regionLeaves - 1) }

// get is the block at addr.
func (t *blockTable) get(addr uint64) (b Block, ok bool) {
	if c := t.leaf(addr).find(addr); c != nil && c.taken() {
		return c.block(), true
	}
	b, ok = t.rest[addr]
	return b, ok
}

// put stores b at addr and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	c := t.leaf(addr).find(addr)
	if c == nil || c.c != 0 || !fits(b.Size, b.Seq, b.Stack) {
		return t.replace(addr, b)
	}
	t.puts++
	c.set(b.Size, b.Seq, b.Stack, b.Logged)
	return old, false
}

// replace does what put does, where more is to be done than to write a cell.
func (t *blockTable) replace(addr uint64, b Block) (old Block, replaced bool) {
	old, replaced = t.take(addr)
	t.puts++
	if odd(addr) {
		t.putRest(addr, b)
		return old, replaced
	}
	c := t.leaf(addr).find(addr)
	if c == nil {
		c = t.insert(addr, b.Size)
	}
	if fits(b.Size, b.Seq, b.Stack) {
		c.set(b.Size, b.Seq, b.Stack, b.Logged)
	} else {
		c.c = cellRest
		t.putRest(addr, b)
	}
	return old, replaced
}

func (t *blockTable) putRest(addr uint64, b Block) {
	if t.rest == nil {
		t.rest = map[uint64]Block{}
	}
	t.rest[addr] = b
}

// take removes the block at addr.
func (t *blockTable) take(addr uint64) (b Block, ok bool) {
	c := t.leaf(addr).find(addr)
	if c != nil && c.taken() {
		b = c.block()
		c.c = 0
		t.takes++
		return b, true
	}
	if b, ok = t.rest[addr]; ok {
		t.takes++
		if delete(t.rest, addr); len(t.rest) == 0 {
			t.rest = nil
		}
		if c != nil {
			c.c = 0
		}
	}
	return b, ok
}

// logged marks the block at addr, if there is one, and gives it its stack.
func (t *blockTable) logged(addr uint64, stack capture.StackID) {
	c := t.leaf(addr).find(addr)
	if c != nil && c.taken() {
		b := c.block()
		if fits(0, 0, stack) {
			c.set(b.Size, b.Seq, stack, true)
			return
		}
		c.c = cellRest
		t.putRest(addr, Block{Seq: b.Seq, Size: b.Size, Stack: stack, Logged: true})
		return
	}
	if b, ok := t.rest[addr]; ok {
		b.Logged, b.Stack = true, stack
		t.rest[addr] = b
	}
}

// insert makes an empty cell for an address that has none and will get a block of
// that size.
func (t *blockTable) insert(addr, size uint64) *cell {
	at := t.slot(keyOf(addr)).region[leafOf(addr)]
	if at == 0 {
		at = t.addLeaf(addr, size)
	}
	c := t.at(at).insert(unit(addr))
	if c == nil {
		c = t.grow(addr).insert(unit(addr))
	}
	return c
}

// addLeaf gives addr a leaf.
func (t *blockTable) addLeaf(addr, size uint64) uint32 {
	at := t.room(t.firstClass(addr, size))
	key := keyOf(addr)
	s := t.slot(key)
	if s.key == 0 {
		if 2*(t.used+1) > len(t.slots) {
			t.rehash()
			s = t.slot(key)
		}
		*s = slot{key, new(region)}
		t.used++
	}
	s.region[leafOf(addr)] = at
	t.count++
	return at
}

// firstClass is the class of a new leaf whose first block has an address and a size:
// there will be as many as in the leaf before it, or of as many as there is room for
// if all have this size and the eight bytes that most allocators take in front.
func (t *blockTable) firstClass(addr, size uint64) uint32 {
	if i := leafOf(addr); i > 0 {
		if at := t.slot(keyOf(addr)).region[i-1]; at != 0 {
			return classOf(max(t.at(at).live(), 1))
		}
	}
	chunk := max(min(size, 1<<leafBits)+8, 64)
	return classOf(int(1<<leafBits/chunk) + 1)
}

// grow makes room for one more block in the leaf of an address, which is full.
func (t *blockTable) grow(addr uint64) *leaf {
	region := t.slot(keyOf(addr)).region
	at := region[leafOf(addr)]
	from := t.at(at)
	live, full := from.live(), int(rooms[from.class])
	if full-live > full/8 {
		from.move(from)
		return from
	}
	next := t.room(classOf(live + 1))
	to := t.at(next)
	from.move(to)
	t.release(at)
	region[leafOf(addr)] = next
	return to
}

// room is the index of a new leaf.
func (t *blockTable) room(class uint32) uint32 {
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
		for k, at := range r {
			if at != 0 && t.at(at).live() == 0 {
				t.release(at)
				t.count--
				r[k] = 0
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
		for k, at := range s.region {
			base, f := (s.key-1)<<regionBits+uint64(k)<<leafBits, t.at(at)
			i := 0
			for left := f.starts(); left != 0; left &= left - 1 {
				c := f.cell(i)
				addr := base + uint64(bits.TrailingZeros64(left))<<unitBits
				if c.taken() && !yield(addr, c.block()) {
					return
				}
				i++
			}
		}
	}
	for addr, b := range t.rest {
		if !yield(addr, b) {
			return
		}
	}
}
