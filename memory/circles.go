package memory

import (
	"encoding/binary"

	"hdb/capture"
	"hdb/heap/graph"
)

// maxCircle is how many pointers are looked at for a circle through a block, and maxCircles for all circles of an answer.
const (
	maxCircle  = 1 << 18
	maxCircles = 1 << 24
)

// Circles are lost blocks that hold each other.
type Circles struct {
	Blocks []int  // indexes of one of the most frequent kind, each of which points to the next, the last to the first
	Times  uint64 // how many circles there are of blocks with the same stacks
	Others uint64 // circles of other kinds
	Cut    uint64 // blocks for which no circle was found before the search was cut off
	kinds  map[string]*circleKind
}

type circleKind struct {
	blocks []int
	times  uint64
}

// circles finds the circles that definitely lost blocks are on, and lets another of their blocks count as definitely lost: the one
// that the earliest stack allocated, as the one at the lowest address is now this one and now that one.
type circles struct {
	m      *Image
	g      *graph.Graph
	alike  func(capture.StackID) capture.StackID
	holds  func(graph.Edge) bool
	move   bool // another block is to count as definitely lost
	looked int
	heads  map[int]circleHead // by the block that counts as definitely lost
}

// A circleHead is the block of a circle that counts as definitely lost.
type circleHead struct {
	blocks []int     // none: the search was cut off
	alike  string    // their stacks
	with   graph.Sum // what is lost with it
}

// at finds the circle of a definitely lost block, and reports whether another of its blocks counts as definitely lost instead.
func (c *circles) at(i int) (moved bool) {
	h := circleHead{with: c.g.Lost(i)}
	cut := c.looked > maxCircles
	if !cut {
		var looked int
		h.blocks, looked, cut = c.g.Circle(i, maxCircle, c.holds)
		c.looked += looked
	}
	if cut {
		c.heads[i] = h
	}
	if h.blocks == nil {
		return false
	}
	first := 0
	for n, b := range h.blocks {
		switch {
		case c.m.inArenas(c.m.Block(b).Addr):
			return false
		case c.move && c.stack(b) != 0 && (c.stack(h.blocks[first]) == 0 || c.stack(b) < c.stack(h.blocks[first])):
			first = n
		}
	}
	h.blocks = append(h.blocks[first:len(h.blocks):len(h.blocks)], h.blocks[:first]...)
	head := h.blocks[0]
	if head < i { // it has been counted
		return false
	}
	h.with.Bytes += c.m.Block(i).Size - c.m.Block(head).Size
	var key []byte
	for _, b := range h.blocks {
		key = binary.AppendUvarint(key, uint64(c.stack(b)))
	}
	h.alike = string(key)
	c.heads[head] = h
	return head != i
}

func (c *circles) stack(i int) capture.StackID {
	id := c.m.Block(i).Stack
	if id != 0 && c.alike != nil {
		return c.alike(id)
	}
	return id
}

// add adds the circle of a block.
func (c *Circles) add(h circleHead) {
	if h.blocks == nil {
		c.Cut++
		return
	}
	if c.kinds == nil {
		c.kinds = map[string]*circleKind{}
	}
	kind := c.kinds[h.alike]
	if kind == nil {
		kind = &circleKind{blocks: h.blocks}
		c.kinds[h.alike] = kind
	}
	if kind.times++; kind.times > c.Times {
		c.Blocks, c.Times = kind.blocks, kind.times
	}
	c.Others = 0
	for _, k := range c.kinds {
		c.Others += k.times
	}
	c.Others -= c.Times
}
