package heap

import (
	"math/bits"
	"slices"

	"hdb/capture"
)

// Pools keeps what allocators of the program's own hand out: pools, which cut their blocks from
// blocks of another allocator, their chunks. A chunk is not a block any more as soon as a block of
// a pool is in it, so that no byte counts twice; the part of it that is not handed out counts for
// no caller. It sees each event before a Ledger posts it.
type Pools struct {
	l *Ledger
	members
	chunks blockTable
	last   [2]uint64 // from where to where the chunk lies that was found last
	ends   []capture.Event
}

// NewPools is for the pools of a ledger's heap.
func NewPools(l *Ledger) *Pools {
	p := &Pools{l: l, members: newMembers()}
	p.chunks.init()
	return p
}

// Made prepares an event by which a pool hands out a block, or resizes one. It returns the end of
// the chunk that the block is in, if that was a block until now: an event without number, function
// and stack, to be recorded before e.
func (p *Pools) Made(e *capture.Event, pool uint64) []capture.Event {
	p.ends = p.ends[:0]
	if e.Old != 0 {
		if _, ours := p.of[e.Old]; ours {
			p.forget(e.Old)
		} else if _, other := p.l.At(e.Old); other {
			e.Old = 0 // not seen by whom: what lies there is another allocator's
		}
	}
	if !e.Allocates() {
		return nil
	}
	if !p.inChunk(e.Addr) {
		at, b, ok := p.l.blocks.around(e.Addr)
		if owner, pooled := p.of[at]; ok && !(pooled && owner == pool) {
			p.end(e, at)
			p.chunks.put(at, b)
		}
	}
	p.join(e.Addr, pool)
	return p.ends
}

// inChunk reports whether an address is in a chunk.
func (p *Pools) inChunk(addr uint64) bool {
	if p.last[0] <= addr && addr < p.last[1] {
		return true
	}
	at, b, ok := p.chunks.around(addr)
	if ok {
		p.last = [2]uint64{at, at + b.Size}
	}
	return ok
}

// Freed prepares an event by which a pool takes a block back. It reports whether the block may be
// one of a pool: what other allocators have there does not end.
func (p *Pools) Freed(e *capture.Event) bool {
	if _, ours := p.of[e.Addr]; ours {
		p.forget(e.Addr)
		return true
	}
	_, other := p.l.At(e.Addr)
	return !other
}

// Destroyed returns the ends of all blocks of a pool, in the order of their addresses, as Made
// does. e is the call that ends them, which is not an event of its own.
func (p *Pools) Destroyed(e *capture.Event, pool uint64) []capture.Event {
	p.ends = p.ends[:0]
	for _, at := range p.take(pool) {
		p.end(e, at)
	}
	return p.ends
}

// Other prepares an event of another allocator. If it gives a chunk back, the ends of the
// blocks in it are returned, as Made does, and a free is given the chunk's size.
func (p *Pools) Other(e *capture.Event) []capture.Event {
	p.ends = p.ends[:0]
	at := e.Addr
	switch {
	case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
		at = e.Old
	case e.Kind != capture.Free:
		return nil
	}
	chunk, ok := p.chunks.take(at)
	if !ok {
		p.forget(at) // a pool's block that is freed as another's
		return nil
	}
	p.last = [2]uint64{}
	if e.Kind == capture.Free {
		e.Size = chunk.Size
	}
	for inner := range p.l.blocks.within(at, chunk.Size) {
		if _, ours := p.of[inner]; ours {
			p.end(e, inner)
		}
	}
	return p.ends
}

// end takes a block out of the heap by e. If it was recorded, its end is, too.
func (p *Pools) end(e *capture.Event, at uint64) {
	p.forget(at)
	if end, logged := p.l.End(e, at); logged {
		p.ends = append(p.ends, end)
	}
}

// farthest bounds how far before an address the block is looked for that it is in, in bytes.
const farthest = 1 << 32

// around is the block that an address is in. Blocks beyond the table's spans, or that start at no
// multiple of eight, are only found at their own address.
func (t *blockTable) around(addr uint64) (at uint64, b Block, ok bool) {
	if b, ok = t.get(addr); ok {
		return addr, b, true
	}
	p := placeOf(addr &^ (1<<unitBits - 1))
	if !p.ok() {
		return 0, b, false
	}
	for first := p - min(p, farthest>>unitBits); ; {
		span := t.spans[p>>spanBits]
		switch {
		case span == nil:
			p &^= 1<<spanBits - 1
		case span[p.region()] == nil:
			p &^= 1<<regionBits - 1
		default:
			if at, b, ok = t.lastUpTo(p); ok {
				return at, b, addr-at < b.Size
			}
			r, i := span[p.region()], p.leaf()
			for i > 0 && r[i-1] == 0 {
				i--
			}
			p = p&^(1<<regionBits-1) | place(i)<<leafBits
		}
		if p <= first {
			return 0, b, false
		}
		p--
	}
}

// lastUpTo is the last block of a place's leaf that is not behind the place.
func (t *blockTable) lastUpTo(p place) (at uint64, b Block, ok bool) {
	f := t.at(t.index(p))
	for starts := f.upTo(p); starts != 0; {
		behind := place(bits.LeadingZeros64(starts))
		at = (p - behind).addr()
		if b, ok = t.get(at); ok {
			return at, b, true
		}
		starts &^= 1 << (63 - behind)
	}
	return 0, b, false
}

// within yields the blocks that start in size bytes from an address on, in order. They may be
// taken out meanwhile.
func (t *blockTable) within(addr, size uint64) func(yield func(at uint64) bool) {
	return func(yield func(at uint64) bool) {
		var odd []uint64
		for at := range t.rest {
			if at-addr < size {
				odd = append(odd, at)
			}
		}
		for p, end := placeOf((addr+7)&^7), placeOf((addr+size+7)&^7); p < end && p.ok(); {
			switch s := t.spans[p>>spanBits]; {
			case s == nil:
				p = (p | (1<<spanBits - 1)) + 1
				continue
			case s[p.region()] == nil:
				p = (p | (1<<regionBits - 1)) + 1
				continue
			}
			f := t.at(t.index(p))
			for starts := f.starts() >> p.unit() << p.unit(); starts != 0; starts &= starts - 1 {
				at := p&^lastUnit + place(bits.TrailingZeros64(starts))
				if at >= end {
					break
				}
				if c := t.cell(at); c.taken() && !yield(at.addr()) {
					return
				}
			}
			p = (p | lastUnit) + 1
		}
		slices.Sort(odd)
		for _, at := range odd {
			if !yield(at) {
				return
			}
		}
	}
}
