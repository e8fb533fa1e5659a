package heap

import (
	"maps"
	"math/bits"
	"slices"
)

// from yields the blocks from an address on, ascending.
func (t *blockTable) from(low uint64, yield func(uint64, Block) bool) {
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(t.rest)), func(addr uint64) bool { return addr < low })
	cells := func(addr uint64, c *cell) bool {
		for len(rest) > 0 && rest[0] < addr {
			if !yield(rest[0], t.rest[rest[0]]) {
				return false
			}
			rest = rest[1:]
		}
		return !c.taken() || yield(addr, c.block())
	}
	if t.cellsFrom(low, cells) {
		for _, addr := range rest {
			if !yield(addr, t.rest[addr]) {
				return
			}
		}
	}
}

// cellsFrom yields the cells from an address on, ascending. It reports whether all were wanted.
func (t *blockTable) cellsFrom(low uint64, yield func(uint64, *cell) bool) bool {
	first := place((low + 1<<unitBits - 1) >> unitBits)
	if low > 1<<(placeBits+unitBits) {
		return true
	}
	for i := first >> spanBits; i < place(len(t.spans)); i++ {
		if t.spans[i] == nil {
			first = (i + 1) << spanBits
			continue
		}
		for k := first.region(); k < spanRegions; k++ {
			r := t.spans[i][k]
			if r == nil {
				continue
			}
			start := i<<spanBits + place(k)<<regionBits
			for n := max(first, start).leaf(); n < regionLeaves; n++ {
				if r[n] != 0 && !t.at(r[n]).from(start+place(n)<<leafBits, first, yield) {
					return false
				}
			}
		}
		first = (i + 1) << spanBits
	}
	return true
}

// from yields the cells of a leaf, which begins at start, from the place low on.
func (f *leaf) from(start, low place, yield func(uint64, *cell) bool) bool {
	i := 0
	for left := f.starts(); left != 0; left &= left - 1 {
		if p := start + place(bits.TrailingZeros64(left)); p >= low && !yield(p.addr(), f.cell(i)) {
			return false
		}
		i++
	}
	return true
}

// downFrom yields the cells at and below an address, descending.
func (t *blockTable) downFrom(high uint64, yield func(uint64, *cell) bool) {
	last := min(place(high>>unitBits), 1<<placeBits-1)
	for i := int(last >> spanBits); i >= 0; i-- {
		if t.spans[i] == nil {
			continue
		}
		end := min(last, place(i+1)<<spanBits-1) // the last place in the span that is asked for
		for k := int(end.region()); k >= 0; k-- {
			r := t.spans[i][k]
			if r == nil {
				continue
			}
			start := place(i)<<spanBits + place(k)<<regionBits
			for n := int(min(end, start+1<<regionBits-1).leaf()); n >= 0; n-- {
				if r[n] != 0 && !t.at(r[n]).down(start+place(n)<<leafBits, end, yield) {
					return
				}
			}
		}
	}
}

// down yields the cells of a leaf, which begins at start, from the place high down.
func (f *leaf) down(start, high place, yield func(uint64, *cell) bool) bool {
	i := bits.OnesCount64(f.starts())
	for left := f.starts(); left != 0; {
		unit := bits.Len64(left) - 1
		left &^= 1 << unit
		i--
		if p := start + place(unit); p <= high && !yield(p.addr(), f.cell(i)) {
			return false
		}
	}
	return true
}

// A Near is what lies around an address: blocks with their addresses, which are 0 where there is none.
type Near struct {
	In, Below, Above       Block // that holds it; the next one that begins there or before it; the next one behind it
	InAt, BelowAt, AboveAt uint64
}

// cellSpan is above all sizes of blocks in cells.
const cellSpan = 1 << 30

// Near finds the logged blocks around an address. Of several that hold it, it is the one that begins last.
func (l *Live) Near(addr uint64) (n Near) {
	t := &l.blocks
	take := func(at uint64, b Block) {
		if !b.Logged {
			return
		}
		if at > n.BelowAt {
			n.Below, n.BelowAt = b, at
		}
		if at > n.InAt && (at == addr || addr-at < b.Size) {
			n.In, n.InAt = b, at
		}
	}
	for at, b := range t.rest {
		if at <= addr {
			take(at, b)
		}
	}
	t.downFrom(addr, func(at uint64, c *cell) bool {
		if at < n.InAt || at < n.BelowAt && addr-at > cellSpan {
			return false
		}
		if c.taken() {
			take(at, c.block())
		}
		return true
	})
	t.from(addr+1, func(at uint64, b Block) bool {
		if b.Logged && addr+1 != 0 {
			n.Above, n.AboveAt = b, at
		}
		return n.AboveAt == 0
	})
	return n
}
