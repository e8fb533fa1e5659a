package jemalloc

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"hdb/internal/addr"
)

// edataSize is the size of the struct of an extent: extent_t up to 5.2, edata_t from 5.3 on.
const edataSize = 128

// Where its fields are. Those in e_bits differ.
const (
	edataAddr   = 8
	edataBytes  = 16 // with a serial number in the low bits
	edataBitmap = 64 // of a slab: a set bit is a free region
	slabBit     = 12 // in e_bits, above the number of the arena
	slabWords   = 8  // of the bitmap
	mostRegions = 64 * slabWords
	noClass     = 225 // from there on no class is used, and SC_NSIZES says that there is none
)

// A layout is where e_bits has its fields.
type layout struct {
	version      string
	state        uint // shift
	stateBits    uint
	class, nfree uint   // shifts; class has 8 bits, nfree 10
	leafState    bool   // the words of leaves have the state, too
	hpa          uint64 // in e_bits: the extent is part of a huge page
}

var layouts = [...]layout{
	{version: "5.3", state: 17, stateBits: 3, class: 20, nfree: 28, leafState: true, hpa: 1 << 14},
	{version: "5.2", state: 16, stateBits: 2, class: 18, nfree: 26},
}

// edata is what a struct of an extent says.
type edata struct {
	at    addr.Run // of the struct
	addr  addr.Run // of the first byte: of a large block the block's
	size  uint64
	arena int
	slab  bool
	state State
	class int
	nfree int
	hpa   bool // part of a huge page that is cut up (opt.hpa)
}

func (l *layout) decode(at addr.Run, b []byte) edata {
	e := binary.LittleEndian.Uint64(b)
	return edata{
		at: at, addr: addr.Run(binary.LittleEndian.Uint64(b[edataAddr:])), size: binary.LittleEndian.Uint64(b[edataBytes:]) &^ (pageSize - 1),
		arena: int(e & (1<<slabBit - 1)), slab: e>>slabBit&1 != 0, state: State(e >> l.state & (1<<l.stateBits - 1)),
		class: int(e >> l.class & 0xff), nfree: int(e >> l.nfree & 0x3ff), hpa: e&l.hpa != 0,
	}
}

// pages are the whole pages of the extent.
func (e *edata) pages() addr.Range {
	start := e.addr &^ (pageSize - 1)
	return start.To(start + addr.Run(e.size))
}

// placed reports whether an extent can lie there.
func (e *edata) placed() bool {
	r := e.pages()
	return e.size != 0 && r.End > r.Start && r.End <= maxAddress
}

// sound reports whether the extent can be one.
func (e *edata) sound() bool { return e.placed() && e.state <= Transition }

// A slot is what a leaf has for a page. In 8 bytes it has the class in the upper 16 bits, the address of the struct,
// and flags below; in 16 the address, and the rest behind it.
type slot struct {
	lo, hi uint64
	wide   bool
}

func (g *geometry) decode(b []byte) slot {
	if g.slot == 8 {
		return slot{lo: binary.LittleEndian.Uint64(b)}
	}
	return slot{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), true}
}

// empty reports whether no extent has the page. The class of one that is gone may be left.
func (s slot) empty() bool { return s.edata() == 0 && s.plausible() }

// edata is the struct's address, a multiple of 64.
func (s slot) edata() addr.Run { return addr.Run(s.lo) & (maxAddress - 1) &^ 63 }

// plausible reports whether any layout has such a slot.
func (s slot) plausible() bool {
	if s.wide {
		return s.lo < maxAddress && s.lo&63 == 0
	}
	return s.lo>>56 == 0 && s.lo&maxAddress == 0 && s.lo&0x20 == 0
}

// fields are what a slot says of its extent. state is Active in versions that do not have it there.
func (l *layout) fields(s slot) (class int, slab bool, state State, ok bool) {
	switch {
	case !s.wide && l.leafState:
		return int(s.lo >> 48), s.lo&1 != 0, State(s.lo >> 2 & 7), true
	case !s.wide:
		return int(s.lo >> 48), s.lo&1 != 0, Active, s.lo&0x3e == 0
	case l.leafState:
		return int(uint32(s.hi) >> 5), s.hi&1 != 0, State(s.hi >> 2 & 7), true
	}
	return int(uint32(s.hi)), s.hi>>32&1 != 0, Active, s.hi>>33&0x7f == 0 // behind the flag are bytes of no meaning
}

// agrees reports whether the slot and the struct that it leads to say the same of a page. The class and
// the flag of slabs are up to date for active extents only, and of large ones for the first page.
func (l *layout) agrees(w slot, page addr.Run, e *edata) bool {
	if !e.sound() || !e.pages().Contains(page) {
		return false
	}
	class, slab, state, ok := l.fields(w)
	if !ok || l.leafState && state != e.state {
		return false
	}
	told := e.state == Active && e.class < noClass && (e.slab || page == e.pages().Start)
	return !told || class == e.class && slab == e.slab
}

// classes are size classes by their index, as in sz_index2size_tab.
type classes struct {
	sizes []uint64
	small int // how many are cut from slabs
}

const (
	groupClasses = 4 // SC_NGROUP
	largeLeast   = 4 * pageSize
	mostBytes    = 7 << 60 // SC_LARGE_MAXCLASS
)

// quanta are the lg_quantum that jemalloc is configured with: 4 as it comes, 3 by redis.
var quanta = [...]uint{4, 3}

// newClasses are those of jemalloc with that lg_quantum: powers of two from 8 up to the quantum, then its
// multiples up to four of it, then four classes up to each power of two (sc.c).
func newClasses(lgQuantum uint) classes {
	c := classes{}
	for lg := uint(3); lg < lgQuantum; lg++ {
		c.sizes = append(c.sizes, 1<<lg)
	}
	quantum := uint64(1) << lgQuantum
	for i := range uint64(groupClasses) {
		c.sizes = append(c.sizes, quantum*(i+1))
	}
	for base := quantum * groupClasses; ; base *= 2 {
		for i := range uint64(groupClasses) {
			size := base + base/groupClasses*(i+1)
			if size > mostBytes || size < base {
				return c
			}
			if size < largeLeast {
				c.small = len(c.sizes) + 1
			}
			c.sizes = append(c.sizes, size)
		}
	}
}

// size is the bytes of a class, 0 if there is none of that number.
func (c *classes) size(class int) uint64 {
	if class < 0 || class >= len(c.sizes) {
		return 0
	}
	return c.sizes[class]
}

// slabBytes is the size of a class's slabs, unless the program set it (slab_sizes): the least number of pages
// that regions fill.
func (c *classes) slabBytes(class int) uint64 {
	size := c.size(class)
	return max(pageSize, size>>min(uint(bits.TrailingZeros64(size)), 12)*pageSize)
}

// fits reports whether an active extent has the size that its class would have.
func (c *classes) fits(e *edata) bool {
	size := c.size(e.class)
	switch {
	case size == 0 || e.slab && e.class >= c.small:
		return false
	case e.slab:
		return e.size == c.slabBytes(e.class)
	case e.class < c.small: // a sampled block of a small class (prof) has an extent of its own
		return e.size == largeLeast || e.size == largeLeast+pageSize
	}
	return c.of(e.size) == e.class || c.of(e.size-pageSize) == e.class
}

// of is the least class that a large block of some bytes fits in, -1 if it is not large.
func (c *classes) of(size uint64) int {
	if size < largeLeast {
		return -1
	}
	n, _ := slices.BinarySearch(c.sizes, size)
	return n
}

// padding is how many bytes large extents have beyond their blocks: what the classes of most extents say.
func (c *classes) padding(all []edata) uint64 {
	votes := 0
	for i := range all {
		e := &all[i]
		if e.state != Active || e.slab || e.class < c.small {
			continue
		}
		switch with, without := c.of(e.size-pageSize) == e.class, c.of(e.size) == e.class; {
		case with && !without, with && e.addr%pageSize != 0:
			votes++
		case without && !with:
			votes--
		}
	}
	if votes < 0 {
		return 0
	}
	return pageSize
}

// fills reports whether the bitmap of a slab has as many regions as its class would have, whatever its size.
func (c *classes) fills(e *edata, free *[slabWords]uint64) bool {
	if e.class >= c.small {
		return false
	}
	n := e.size / c.size(e.class)
	unused := 0
	for k, w := range free {
		if w&^regionMask(int(min(n, mostRegions)), k) != 0 {
			return false
		}
		unused += bits.OnesCount64(w)
	}
	return n > 0 && n <= mostRegions && unused == e.nfree
}

// regionMask are the bits of word k of the bitmap of n regions.
func regionMask(n, k int) uint64 {
	switch rest := n - 64*k; {
	case rest <= 0:
		return 0
	case rest < 64:
		return 1<<rest - 1
	}
	return ^uint64(0)
}
