package heap

import (
	"math/bits"
	"slices"

	"hdb/capture"
)

// A blockTable maps addresses to blocks. What lies together in the program lies
// together here: a program that goes through its heap from one end to the other,
// as most do, finds the next block in a cache line that it has.
//
// The addresses are divided into leaves of 512 bytes, which two directories lead to: one
// for each region of 128 KiB, found by one for each span of 4 GiB. Nothing is done when
// a leaf has lost its last block: such leaves are looked for when the memory of leaves
// is used up. The garbage collector finds no pointers in regions and leaves.
type blockTable struct {
	regions []regionAt // of all spans
	enough  int        // how many regions there may be before those without leaves are dropped
	puts    int        // blocks that were ever put
	takes   int        // blocks that are no more
	leaves

	// rest are blocks that have no place or are beyond the spans, and those that have a
	// cell but not room in it: their size, stack or number is beyond all measure. There
	// are few or none.
	rest map[uint64]Block

	spans  [1 << (placeBits - spanBits)]*span // nil where no block has a cell
	opened int                                // of them
}

const (
	regionBits   = 14 // of the place within a region
	spanBits     = 29 // within a span
	regionLeaves = 1 << (regionBits - leafBits)
	spanRegions  = 1 << (spanBits - regionBits)
	minRegions   = 16
	// maxSpans bounds the memory of spans, 256 KiB each: a capture may tell anything of
	// the blocks of a program, whose own are in a few spans. Those in others are in rest.
	maxSpans = 1 << 8
)

// A span has its regions, nil where there are no blocks.
type span [spanRegions]*region

// A region has the indexes of its leaves, 0 of those that there are not.
type region [regionLeaves]uint32

// A regionAt is the region from a place on.
type regionAt struct {
	first place
	*region
}

func (t *blockTable) init() { t.leaves, t.enough = newLeaves(), minRegions }

// len is how many blocks there are.
func (t *blockTable) len() int { return t.puts - t.takes }

// large reports whether the table is larger than the caches that a processor has to itself: than
// this number of cells, in leaves and, three indexes a cell, in regions.
func (t *blockTable) large() bool { return 3*int(t.next)+len(t.regions)*regionLeaves > 3<<16 }

// takesIn reports whether a block at the place can have a cell.
func (t *blockTable) takesIn(p place) bool {
	return p.ok() && (t.spans[p>>spanBits] != nil || t.opened < maxSpans)
}

// index is the index of the leaf with a place, 0 if there is none.
func (t *blockTable) index(p place) uint32 {
	if i := p >> spanBits; i < place(len(t.spans)) {
		if s := t.spans[i]; s != nil {
			if r := s[p.region()]; r != nil {
				return r[p.leaf()]
			}
		}
	}
	return 0
}

// cell is the cell of the block at a place, nil if it has none.
func (t *blockTable) cell(p place) *cell { return t.at(t.index(p)).find(p) }

// region is the one with a place, which is made if there is none. The table must take
// the place in.
func (t *blockTable) region(p place) *region {
	if s := t.spans[p>>spanBits&(1<<(placeBits-spanBits)-1)]; s != nil {
		if r := s[p.region()]; r != nil {
			return r
		}
	}
	return t.addRegion(p)
}

// addRegion makes the region with a place.
func (t *blockTable) addRegion(p place) *region {
	s := &t.spans[p>>spanBits]
	if *s == nil {
		*s = new(span)
		t.opened++
	}
	if len(t.regions) == t.enough {
		t.dropRegions()
	}
	r := new(region)
	(*s)[p.region()] = r
	t.regions = append(t.regions, regionAt{p &^ (1<<regionBits - 1), r})
	return r
}

// dropRegions drops the regions without leaves.
func (t *blockTable) dropRegions() {
	t.sweep()
	t.regions = slices.DeleteFunc(t.regions, func(r regionAt) bool {
		empty := *r.region == region{}
		if empty {
			t.spans[r.first>>spanBits][r.first>>regionBits&(spanRegions-1)] = nil
		}
		return empty
	})
	t.enough = max(2*len(t.regions), minRegions)
}

// get is the block at addr.
func (t *blockTable) get(addr uint64) (b Block, ok bool) {
	if c := t.cell(placeOf(addr)); c != nil && c.taken() {
		return c.block(), true
	}
	b, ok = t.rest[addr]
	return b, ok
}

// put stores b at addr and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	c := t.cell(placeOf(addr))
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
	p := placeOf(addr)
	if !t.takesIn(p) {
		t.putRest(addr, b)
		return old, replaced
	}
	c := t.cellFor(p, b.Size)
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
	c := t.cell(placeOf(addr))
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
	c := t.cell(placeOf(addr))
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

// cellFor is the cell of a place that will get a block of that size, an empty one if it
// has none. The table must take the place in.
func (t *blockTable) cellFor(p place, size uint64) *cell {
	r := t.region(p)
	at := &r[p.leaf()]
	f := t.at(*at)
	c := f.find(p)
	switch {
	case c != nil:
	case *at == 0:
		*at = t.room(r.firstClass(t, p, size))
		t.count++
		c = t.at(*at).first(p)
	default:
		if c = f.insert(p.unit()); c == nil {
			c = t.grow(at).insert(p.unit())
		}
	}
	return c
}

// firstClass is the class of a new leaf whose first block has a place and a size: there
// will be as many as the leaf before it has cells for, or of as many as there is room for if all
// have this size and the eight bytes that most allocators take in front.
func (r *region) firstClass(t *blockTable, p place, size uint64) uint32 {
	if k := p.leaf(); k > 0 {
		if at := r[k-1]; at != 0 {
			return classOf(max(t.at(at).count(), 1))
		}
	}
	const bytes = 1 << (leafBits + unitBits)
	chunk := max(min(size, bytes)+8, 64)
	return classOf(int(bytes/chunk) + 1)
}

// grow makes room for one more block in the leaf with that index, which is full. It may
// get another index.
func (t *blockTable) grow(at *uint32) *leaf {
	from := t.at(*at)
	live, full := from.live(), int(rooms[from.class])
	if full-live > full/8 {
		from.move(from)
		return from
	}
	if t.extend(*at) {
		return from
	}
	next := t.room(classOf(live + 1))
	to := t.at(next)
	from.move(to)
	t.release(*at)
	*at = next
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

// sweep returns the leaves without blocks, if there can be enough of them that the way through all
// leaves is worth it.
func (t *blockTable) sweep() {
	if t.takes-t.swept <= t.count/2 {
		return
	}
	t.swept = t.takes
	for _, r := range t.regions {
		for k, at := range r.region {
			if at != 0 && t.at(at).live() == 0 {
				t.release(at)
				t.count--
				r.region[k] = 0
			}
		}
	}
}

// each calls yield for all blocks until it returns false.
func (t *blockTable) each(yield func(uint64, Block) bool) {
	for _, r := range t.regions {
		for k, at := range r.region {
			first, f := r.first+place(k)<<leafBits, t.at(at)
			i := 0
			for left := f.starts(); left != 0; left &= left - 1 {
				c := f.cell(i)
				p := first + place(bits.TrailingZeros64(left))
				if c.taken() && !yield(p.addr(), c.block()) {
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
