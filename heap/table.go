package heap

import (
	"math/bits"

	"hdb/capture"
)

// A blockTable maps addresses to blocks: pages of open hash tables, and a
// directory that the upper bits of an address's hash count through. A page that
// fills up is split in two, which takes a microsecond or two: there is never a
// moment at which the whole table is copied. The garbage collector finds no
// pointers in pages.
type blockTable struct {
	dir   []*page // a power of two of them; several may be one page
	shift uint8   // hash>>shift is the index
	len   int
	spare *page // empty, to copy to

	// rest are blocks whose page is full and cannot be split: their addresses
	// are too near to one another, or chosen to collide. There are few or none.
	rest map[uint64]*slot
}

const (
	groups     = 31
	groupSlots = 8
	pageSlots  = groups * groupSlots
)

// A page holds the blocks whose hashes begin with the same bits. It takes 8 KiB,
// an even size for the allocator. Each slot has a tag, and eight are compared at
// once: to find a block takes no branch that depends on the neighbours.
type page struct {
	tags   [groups]uint64  // of group g the slots 8*g to 8*g+7, the first in the lowest byte
	len    uint16          // blocks
	filled uint16          // tags other than free
	depth  uint8           // bits that the hashes have in common
	slots  [pageSlots]slot // their addr is 0 if free or deleted
}

// Tags. A search ends at the first group that has a free slot. So a slot of a
// full group does not become free but deleted; then the search goes on.
const (
	tagFree    = 0x00
	tagDeleted = 0x01
	tagTaken   = 0x80 // and seven bits of the hash

	everyByte = 0x0101010101010101
	everyTop  = 0x8080808080808080
)

// maxFilled is how many tags of a page may be filled. A page with half as many
// blocks is swept of deleted ones, one with more is split.
const maxFilled = pageSlots * 3 / 4

// A slot is half a cache line.
type slot struct {
	addr   uint64
	seq    uint64
	size   uint64
	stack  capture.StackID
	logged bool
}

func (s *slot) block() Block {
	return Block{Seq: s.seq, Size: s.size, Stack: s.stack, Logged: s.logged}
}

// A hash is the page in the upper bits, the group in the lowest eight and the
// tag in the next. Blocks of one KiB are in one page, because programs mostly
// use what lies together and so find it in the cache; there they are scattered.
type hash uint64

func hashOf(addr uint64) hash {
	hi, lo := bits.Mul64(addr>>10^0x8bb84b93962eacc9, 0x9e3779b97f4a7c15)
	h := hi ^ lo
	return hash(h&^0xffff | (h+addr*0x9dbb)>>4&0xffff)
}

// group is where to look first.
func (h hash) group() uint { return uint(h&0xff) * groups >> 8 }

func (h hash) tag() uint64 { return uint64(h>>8&0x7f | tagTaken) }

func newBlockTable() blockTable { return blockTable{dir: []*page{new(page)}, shift: 64} }

func (t *blockTable) page(h hash) *page { return t.dir[h>>t.shift] }

// matches has the top bit set of each byte of w that equals tag, and perhaps of
// others.
func matches(w, tag uint64) uint64 {
	x := w ^ tag*everyByte
	return (x - everyByte) &^ x & everyTop
}

// hasFree tells whether one of the tags is tagFree.
func hasFree(w uint64) bool { return ^w&^(w<<7)&everyTop != 0 }

// slotOf is the slot of group g that the lowest bit of m names.
func slotOf(g uint, m uint64) uint { return g*groupSlots + uint(bits.TrailingZeros64(m))/8 }

func next(g uint) uint {
	if g++; g == groups {
		g = 0
	}
	return g
}

// find is the index of the slot of the block at addr.
func (p *page) find(h hash, addr uint64) (uint, bool) {
	tag := h.tag()
	for g := h.group(); ; g = next(g) {
		w := p.tags[g]
		for m := matches(w, tag); m != 0; m &= m - 1 {
			if i := slotOf(g, m); p.slots[i].addr == addr {
				return i, true
			}
		}
		if hasFree(w) {
			return 0, false
		}
	}
}

// add is the slot for a block that the page does not have.
func (p *page) add(h hash) *slot {
	g := h.group()
	for p.tags[g]&everyTop == everyTop {
		g = next(g)
	}
	w := p.tags[g]
	i := slotOf(g, ^w&everyTop)
	at := i % groupSlots * 8
	if w>>at&0xff == tagFree {
		p.filled++
	}
	p.tags[g] = w&^(0xff<<at) | h.tag()<<at
	p.len++
	return &p.slots[i]
}

// remove empties slot i.
func (p *page) remove(i uint) {
	g, at := i/groupSlots, i%groupSlots*8
	w := p.tags[g]
	if hasFree(w) {
		p.tags[g] = w &^ (0xff << at)
		p.filled--
	} else {
		p.tags[g] = w&^(0xff<<at) | tagDeleted<<at
	}
	p.slots[i].addr = 0
	p.len--
}

// at is the slot of the block at addr, or nil.
func (t *blockTable) at(addr uint64) *slot {
	h := hashOf(addr)
	p := t.page(h)
	if i, ok := p.find(h, addr); ok {
		return &p.slots[i]
	}
	if t.rest != nil {
		return t.rest[addr]
	}
	return nil
}

// put stores b at addr and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	s := slot{addr: addr, seq: b.Seq, size: b.Size, stack: b.Stack, logged: b.Logged}
	h := hashOf(addr)
	p := t.page(h)
	if i, ok := p.find(h, addr); ok {
		old = p.slots[i].block()
		p.slots[i] = s
		return old, true
	}
	if t.rest != nil {
		if there := t.rest[addr]; there != nil {
			old = there.block()
			*there = s
			return old, true
		}
	}
	t.len++
	for p.filled == maxFilled {
		if !t.makeRoom(h) {
			t.putRest(s)
			return old, false
		}
		p = t.page(h)
	}
	*p.add(h) = s
	return old, false
}

func (t *blockTable) putRest(s slot) {
	if t.rest == nil {
		t.rest = map[uint64]*slot{}
	}
	t.rest[s.addr] = &s
}

// take removes the block at addr.
func (t *blockTable) take(addr uint64) (b Block, ok bool) {
	h := hashOf(addr)
	p := t.page(h)
	if i, ok := p.find(h, addr); ok {
		b = p.slots[i].block()
		p.remove(i)
		t.len--
		return b, true
	}
	if t.rest == nil {
		return b, false
	}
	s := t.rest[addr]
	if s == nil {
		return b, false
	}
	delete(t.rest, addr)
	t.len--
	return s.block(), true
}

// makeRoom sweeps or splits the page that h belongs to. It is false if that
// would take a directory out of proportion to the blocks.
func (t *blockTable) makeRoom(h hash) bool {
	old := t.page(h)
	split := old.len > maxFilled/2
	if split && old.depth == 64-t.shift {
		if len(t.dir) > 64+t.len/4 {
			return false
		}
		t.double()
	}
	fresh := t.spare
	if fresh == nil {
		fresh = new(page)
	}
	fresh.depth = old.depth
	upper := fresh
	if split {
		fresh.depth++
		upper = &page{depth: fresh.depth}
	}
	old.move(fresh, upper)
	t.replace(h, fresh, upper)
	*old = page{}
	t.spare = old
	return true
}

// move adds the page's blocks to one of two others, as the bit of their hash
// says that is the last of the others' depth.
func (p *page) move(lower, upper *page) {
	for i := range p.slots {
		s := &p.slots[i]
		if s.addr == 0 {
			continue
		}
		h := hashOf(s.addr)
		if h>>(64-upper.depth)&1 == 0 {
			*lower.add(h) = *s
		} else {
			*upper.add(h) = *s
		}
	}
}

// replace puts the pages lower and upper in the place of the one that h belongs
// to, which has n neighbouring entries in the directory.
func (t *blockTable) replace(h hash, lower, upper *page) {
	old := t.page(h)
	i := int(h >> t.shift)
	for i > 0 && t.dir[i-1] == old {
		i--
	}
	n := i
	for n < len(t.dir) && t.dir[n] == old {
		n++
	}
	half := (i + n + 1) / 2
	for k := i; k < n; k++ {
		if k < half {
			t.dir[k] = lower
		} else {
			t.dir[k] = upper
		}
	}
}

// double gives each entry of the directory a twin.
func (t *blockTable) double() {
	dir := make([]*page, 0, 2*len(t.dir))
	for _, p := range t.dir {
		dir = append(dir, p, p)
	}
	t.dir = dir
	t.shift--
}

// each calls yield for all blocks until it returns false.
func (t *blockTable) each(yield func(*slot) bool) {
	var before *page
	for _, p := range t.dir {
		if p == before {
			continue
		}
		before = p
		for i := range p.slots {
			if s := &p.slots[i]; s.addr != 0 && !yield(s) {
				return
			}
		}
	}
	for _, s := range t.rest {
		if !yield(s) {
			return
		}
	}
}
