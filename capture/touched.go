package capture

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// The addresses that a chunk's events are about, so that who asks for the events
// about one address need not read the others. It says of some addresses too many
// that the chunk is about them, of none too few.

const (
	pageBits  = 12 // of the addresses in a page, at first
	grainBits = 6  // of those in the 64th part of one: a bit of its mask
	// touchedFrom is how many events a chunk needs to tell its addresses: fewer are
	// read in no time.
	touchedFrom = 4096
	// touchedBytes is about what the section may take before it is packed.
	touchedBytes = 2 << 10
	// A range larger than wideRange is told by its ends; if there are more than
	// maxRanges, by those of all.
	wideRange = 1 << 18
	maxRanges = 64
)

// An addrRange is addresses, the last one included.
type addrRange struct{ low, high uint64 }

// A pageSet collects addresses. Its zero value is ready.
type pageSet struct {
	index table[uint64] // page -> index
	pages []touchedPage
	last  int // index of the page added last
	wide  []addrRange
}

// A touchedPage has a bit for each 64th part that something touched.
type touchedPage struct{ page, mask uint64 }

// add adds the size addresses from a on.
func (p *pageSet) add(a, size uint64) {
	end := a + max(size, 1) - 1
	if end < a {
		end = 1<<64 - 1
	}
	if end-a >= wideRange {
		p.wide = append(p.wide, addrRange{a, end})
		return
	}
	for a>>pageBits != end>>pageBits {
		*p.page(a >> pageBits) |= ^uint64(0) << (a >> grainBits & 63)
		a = (a>>pageBits + 1) << pageBits
	}
	*p.page(a >> pageBits) |= ^uint64(0) << (a >> grainBits & 63) & (^uint64(0) >> (63 - end>>grainBits&63))
}

// page is the mask of a page.
func (p *pageSet) page(n uint64) *uint64 {
	if p.last >= len(p.pages) || p.pages[p.last].page != n {
		p.find(n)
	}
	return &p.pages[p.last].mask
}

// find makes the page the last one.
func (p *pageSet) find(n uint64) {
	i, found := p.index.at(n, int32(len(p.pages)))
	if !found {
		p.pages = append(p.pages, touchedPage{page: n})
	}
	p.last = int(i)
}

// appendTouched appends the section of a chunk; nothing if its events are few, or
// not all that they did is known. What ended where an event of the chunk began it is
// told by that.
func (p *pageSet) appendTouched(b []byte, head eventHead, o *outcome) []byte {
	if head.count < touchedFrom || !o.whole {
		return b
	}
	p.index.reset()
	p.pages, p.wide, p.last = p.pages[:0], p.wide[:0], 0
	for i := range o.born.all() {
		p.add(o.made[i].addr, o.made[i].size)
	}
	for _, t := range o.others {
		p.add(t.addr, t.size)
	}
	slices.SortFunc(p.pages, func(a, b touchedPage) int { return cmp.Compare(a.page, b.page) })
	// The finest masks that are affordable: of 64, 16 or 1 bit; else larger pages.
	maskBytes, shift := 8, 0
	switch n := len(p.pages); {
	case n*(8+2) <= touchedBytes:
	case n*(2+2) <= touchedBytes:
		maskBytes = 2
	default:
		maskBytes = 0
		for ; 2*len(p.pages) > touchedBytes; shift++ {
			for i := range p.pages {
				p.pages[i].page >>= 1
			}
			p.pages = slices.CompactFunc(p.pages, func(a, b touchedPage) bool { return a.page == b.page })
		}
	}
	b = binary.AppendUvarint(b, uint64(maskBytes))
	b = binary.AppendUvarint(b, uint64(pageBits+shift))
	wide := p.ranges()
	b = binary.AppendUvarint(b, uint64(len(wide)))
	for _, w := range wide {
		b = binary.AppendUvarint(b, w.low)
		b = binary.AppendUvarint(b, w.high-w.low)
	}
	next := uint64(0)
	for _, t := range p.pages {
		b = binary.AppendUvarint(b, t.page-next)
		next = t.page + 1
		switch maskBytes {
		case 8:
			b = binary.LittleEndian.AppendUint64(b, t.mask)
		case 2:
			b = binary.LittleEndian.AppendUint16(b, fewer(t.mask))
		}
	}
	return b
}

// fewer has a bit for four of the mask.
func fewer(mask uint64) (m uint16) {
	for ; mask != 0; mask &= mask - 1 {
		m |= 1 << (bits.TrailingZeros64(mask) / 4)
	}
	return m
}

// ranges are the wide ones.
func (p *pageSet) ranges() []addrRange {
	slices.SortFunc(p.wide, func(a, b addrRange) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high)) })
	p.wide = slices.Compact(p.wide)
	if len(p.wide) <= maxRanges {
		return p.wide
	}
	all := p.wide[0]
	for _, w := range p.wide {
		all.high = max(all.high, w.high)
	}
	return []addrRange{all}
}

// A touched is what such a section says.
type touched struct {
	maskBytes uint64
	pageBits  uint64
	wide      []addrRange
	pages     []touchedPage // ascending
}

// parseTouched is the inverse of appendTouched.
func parseTouched(b []byte) (*touched, error) {
	c := cursor{name: "addresses", b: b}
	t := &touched{maskBytes: c.uvarint(), pageBits: c.uvarint()}
	if t.maskBytes != 0 && t.maskBytes != 2 && t.maskBytes != 8 || t.pageBits < pageBits || t.pageBits > 63 {
		c.fail(fmt.Sprintf("masks of %d bytes for 2^%d addresses", t.maskBytes, t.pageBits))
	}
	t.wide = make([]addrRange, c.count(maxRanges))
	for i := range t.wide {
		t.wide[i].low = c.uvarint()
		t.wide[i].high = t.wide[i].low + c.uvarint()
	}
	for next := uint64(0); len(c.b) > 0; {
		p := touchedPage{page: next + c.uvarint()}
		if p.page < next || uint64(len(c.b)) < t.maskBytes {
			c.fail("a page is cut off or out of order")
			break
		}
		switch t.maskBytes {
		case 8:
			p.mask = binary.LittleEndian.Uint64(c.b)
		case 2:
			p.mask = uint64(binary.LittleEndian.Uint16(c.b))
		}
		c.b = c.b[t.maskBytes:]
		next = p.page + 1
		t.pages = append(t.pages, p)
	}
	return t, c.err
}

// has tells whether the address may be touched.
func (t *touched) has(a uint64) bool {
	if slices.ContainsFunc(t.wide, func(s addrRange) bool { return s.low <= a && a <= s.high }) {
		return true
	}
	i, ok := slices.BinarySearchFunc(t.pages, a>>t.pageBits, func(p touchedPage, n uint64) int { return cmp.Compare(p.page, n) })
	switch {
	case !ok || t.maskBytes == 0:
		return ok
	case t.maskBytes == 2:
		return t.pages[i].mask>>(a>>(grainBits+2)&15)&1 != 0
	}
	return t.pages[i].mask>>(a>>grainBits&63)&1 != 0
}

// MayTouch tells whether an event of the run can be about a block or a mapping that
// holds the address: where it is false, none is.
func (s *Summary) MayTouch(addr uint64) bool {
	if s.touched == nil {
		return true
	}
	t, err := parseTouched(s.touched)
	return err != nil || t.has(addr)
}
