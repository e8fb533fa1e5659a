package file

import (
	"slices"

	"hdb/capture"
)

// How the encoder names blocks: those that exist, and the places of new ones.

// ref puts the address of a block that exists. of is the event of the chunk that
// made it, -1 if it is not named so.
func (c *eventEncoder) ref(e *capture.Event, a uint64, h *prediction, index int) (of int, moves uint32) {
	if of = c.maker(e.Kind, &e.Ended, a); of < 0 {
		c.putLiteral(a)
		return -1, refLiteral << moveRef
	}
	return of, c.putMaker(h, index, of)
}

// putMaker puts that event #of made the block which event #index is about.
func (c *eventEncoder) putMaker(h *prediction, index, of int) (moves uint32) {
	m := &c.model
	switch next, ok := m.named.next(m.next); {
	case ok && next == of:
		moves = refNext << moveRef
	case index-of == int(h.age):
		moves = refPredicted << moveRef
	default:
		c.put(secAge, uint64(index-of))
	}
	m.ref(h, index, of)
	return moves
}

func (c *eventEncoder) putLiteral(a uint64) {
	c.put(secLiteral, distance(c.model.literal, a))
	c.model.literal = a
}

// maker is the event of the chunk that made the block at a which ended, -1 if that
// is not known.
func (c *eventEncoder) maker(kind capture.Kind, g *capture.Ended, a uint64) int {
	i := g.Seq - c.head.first
	if !g.Recorded || i >= c.head.last-c.head.first || !kind.CanEnd() {
		return -1
	}
	of := int(i)
	if c.gapped {
		at, ok := slices.BinarySearch(c.seqs, g.Seq)
		if !ok {
			return -1
		}
		of = at
	}
	if _, ok := c.isMaker(of, g, a); !ok {
		return -1
	}
	return of
}

// isMaker reports whether event #of made the block g at a, and no ref has named it since; and with
// what stack, by its index.
func (c *eventEncoder) isMaker(of int, g *capture.Ended, a uint64) (stack uint32, ok bool) {
	if !c.model.named.has(of) {
		return 0, false
	}
	addr, size, stack := c.block(&c.made[of])
	return stack, addr == a && size == g.Size && c.stacks[stack] == g.Stack
}

// place is the first place that names e.Addr.
func (c *eventEncoder) place(e *capture.Event, t *threadModel, k *class) uint32 {
	a, n := e.Addr, len(k.free)
	switch {
	case a == e.Old:
		return placeOld
	case n > 0 && k.free[n-1] == a:
		k.free = k.free[:n-1]
		return placeTop
	case t.bump == a:
		return placeBump
	case k.last+(k.last-k.prev) == a:
		return placeStride
	}
	if u := c.model.unknown(t); u != nil && len(u.free) > 0 && u.free[len(u.free)-1] == a {
		u.taken(0)
		return placeUnknown
	}
	if depth := k.below(a); depth > 0 {
		c.put(secDepth, uint64(depth))
		k.taken(int(depth))
		return placeDeeper
	}
	c.put(secPlaced, distance(t.bump, a))
	return placeLiteral
}
