package file

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hdb/capture/intern"
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
	// touchedBytes is roughly what the section may take before it is packed.
	touchedBytes = 2 << 10
	// A range larger than wideRange is stored by its ends; if there are more than maxRanges, one
	// range covers all.
	wideRange = 1 << 18
	maxRanges = 64
)

// An addrRange is addresses, the last one included.
type addrRange struct{ low, high uint64 }

// A pageSet collects addresses, after a reset.
type pageSet struct {
	near    [64]region // the region added last with some bits of its number
	regions []region
	index   intern.Table[uint64] // number of a region -> index
	masks   []*regionMasks
	crowd   regionMasks // of all regions, once they are more than maxMasked
	wide    []addrRange
	pages   []touchedPage
}

const (
	regionBits = 9 // of the pages in a region
	// Of more regions than maxMasked not even a page of each would be affordable.
	maxMasked = touchedBytes / 2
)

// regionMasks have for each page a bit for each 64th part that something touched.
type regionMasks [1 << regionBits]uint64

// A region is consecutive pages, so that most addresses are near the ones before.
type region struct {
	n     uint64 // the upper bits of its pages
	masks *regionMasks
}

// A touchedPage is one with its mask.
type touchedPage struct{ page, mask uint64 }

func (p *pageSet) reset() {
	for i := range p.near {
		p.near[i].n = 1<<64 - 1 // of no region
	}
	p.index.Reset()
	p.regions, p.wide, p.pages = p.regions[:0], p.wide[:0], p.pages[:0]
}

// add adds the size addresses from a on.
func (p *pageSet) add(a, size uint64) {
	end := touchedEnd(a, size, chunkSize(size))
	if m := p.nearOf(a, end); m != nil {
		m.add(a, end)
	} else {
		p.addPages(a, end)
	}
}

// about adds the size addresses from a on, unless a is 0.
func (p *pageSet) about(a, size uint64) {
	if a != 0 {
		p.add(a, size)
	}
}

// touchedEnd is the last address that is stored for a block: for a small one it is the last address
// of the largest of its class.
func touchedEnd(a, size, chunk uint64) uint64 {
	if size <= maxSmall {
		size = chunk - 8
	}
	return a + size - 1
}

// nearOf is the region of the addresses from a to end, nil if they are of more than one, or of
// one that has to be looked for, or a wide range.
func (p *pageSet) nearOf(a, end uint64) *regionMasks {
	r := &p.near[a>>(pageBits+regionBits)%uint64(len(p.near))]
	if r.n != a>>(pageBits+regionBits) || r.n != end>>(pageBits+regionBits) || end-a >= wideRange {
		return nil
	}
	return r.masks
}

// add adds addresses of the region.
func (r *regionMasks) add(a, end uint64) {
	page := a >> pageBits
	for ; page != end>>pageBits; page++ {
		r[page%uint64(len(r))] |= ^uint64(0) << (a >> grainBits & 63)
		a = (page + 1) << pageBits
	}
	r[page%uint64(len(r))] |= grains(a, end)
}

// grains are the bits of the addresses from a to end in the mask of their page.
func grains(a, end uint64) uint64 {
	return ^uint64(0) << (a >> grainBits & 63) & (^uint64(0) >> (^(end >> grainBits) & 63))
}

// addPages adds the addresses from a to end.
func (p *pageSet) addPages(a, end uint64) {
	if end-a >= wideRange {
		if end < a {
			end = 1<<64 - 1
		}
		if end-a >= wideRange {
			p.wide = append(p.wide, addrRange{a, end})
			return
		}
	}
	for {
		page := a >> pageBits
		n := page >> regionBits
		r := &p.near[n%uint64(len(p.near))]
		if r.n != n {
			p.find(n, r)
		}
		mask := &r.masks[page%uint64(len(r.masks))]
		if page == end>>pageBits {
			*mask |= grains(a, end)
			return
		}
		*mask |= ^uint64(0) << (a >> grainBits & 63)
		a = (page + 1) << pageBits
	}
}

// find makes near the region with a number, which may be new.
func (p *pageSet) find(n uint64, near *region) {
	i, found := p.index.At(n, int32(len(p.regions)))
	if !found {
		p.regions = append(p.regions, region{n, p.newMasks()})
	}
	*near = p.regions[i]
}

func (p *pageSet) newMasks() *regionMasks {
	i := len(p.regions)
	if i >= maxMasked {
		return &p.crowd
	}
	if i == len(p.masks) {
		p.masks = append(p.masks, new(regionMasks))
	} else {
		clear(p.masks[i][:])
	}
	return p.masks[i]
}

// append appends the section of a chunk of n events whose addresses were added since reset; nothing
// if they are few. What ended where an event of the chunk began is known from that event.
func (p *pageSet) append(b []byte, events int) []byte {
	if events < touchedFrom {
		return b
	}
	maskBytes, shift := p.collect()
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

// collect makes the pages, with the finest masks that are affordable: of 64 or 16 bits,
// or none; and larger pages, twice as large shift times, if even these are too many.
func (p *pageSet) collect() (maskBytes, shift int) {
	slices.SortFunc(p.regions, func(a, b region) int { return cmp.Compare(a.n, b.n) })
	if len(p.regions) > maxMasked {
		shift = regionBits
	}
	for _, r := range p.regions {
		if len(p.regions) > maxMasked {
			shift = p.collected(touchedPage{page: r.n << regionBits}, shift)
			continue
		}
		for i, mask := range r.masks {
			if mask != 0 {
				shift = p.collected(touchedPage{r.n<<regionBits | uint64(i), mask}, shift)
			}
		}
	}
	switch n := len(p.pages); {
	case shift > 0:
	case n*(8+2) <= touchedBytes:
		maskBytes = 8
	case n*(2+2) <= touchedBytes:
		maskBytes = 2
	}
	return maskBytes, shift
}

// collected takes the next page, and returns how much larger than it the pages have to
// be with it.
func (p *pageSet) collected(t touchedPage, shift int) int {
	t.page >>= shift
	if n := len(p.pages); shift > 0 && n > 0 && p.pages[n-1].page == t.page {
		return shift
	}
	p.pages = append(p.pages, t)
	for ; 2*len(p.pages) > touchedBytes; shift++ {
		for i := range p.pages {
			p.pages[i].page >>= 1
		}
		p.pages = slices.CompactFunc(p.pages, func(a, b touchedPage) bool { return a.page == b.page })
	}
	return shift
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

// parseTouched is the inverse of append of a pageSet.
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

// has reports whether the address may be touched.
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

// encodedAddresses is the section as it is stored, which is decoded when it is asked.
type encodedAddresses []byte

// Has reports whether the address may be touched. If the section is damaged, any may be.
func (b encodedAddresses) Has(addr uint64) bool {
	t, err := parseTouched(b)
	return err != nil || t.has(addr)
}
