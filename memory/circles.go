package memory

import (
	"encoding/binary"

	"hdb/capture"
	"hdb/heap/graph"
)

// maxCircle is how many blocks are looked at for a circle through one, and maxCircles for all circles of an answer.
const (
	maxCircle  = 1 << 10
	maxCircles = 1 << 22
)

// A Circle is lost blocks that hold each other.
type Circle struct {
	Blocks []int  // indexes, each of which points to the next, the last to the first
	Times  uint64 // how many circles there are of blocks with the same stacks
	alike  string // these stacks
}

// circles finds the circles that definitely lost blocks are on, and lets another of their blocks count as definitely lost: the one
// that the earliest stack allocated, as the one at the lowest address is now this one and now that one.
type circles struct {
	m      *Image
	g      *graph.Graph
	alike  func(capture.StackID) capture.StackID
	move   bool // another block is to count as definitely lost
	looked int
	heads  map[int]circleHead // by the block that counts as definitely lost
}

// A circleHead is the block of a circle that counts as definitely lost.
type circleHead struct {
	blocks []int
	alike  string
	with   graph.Sum // what is lost with it
}

// at finds the circle of a definitely lost block, and reports whether another of its blocks counts as definitely lost instead.
func (c *circles) at(i int) (moved bool) {
	lost := c.g.Lost(i)
	if lost.Blocks == 0 || c.looked > maxCircles {
		return false
	}
	found, looked := c.g.Circle(i, maxCircle)
	c.looked += looked
	if found == nil {
		return false
	}
	first := 0
	for n, b := range found {
		switch {
		case c.m.inArenas(c.m.Block(b).Addr):
			return false
		case c.move && c.stack(b) < c.stack(found[first]):
			first = n
		}
	}
	h := circleHead{blocks: append(found[first:len(found):len(found)], found[:first]...), with: lost}
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

// add adds a circle to the row of its first block.
func (r *LeakRow) addCircle(h circleHead) {
	if r.Circle.Blocks == nil {
		r.Circle = Circle{Blocks: h.blocks, alike: h.alike}
	}
	if r.Circle.alike == h.alike {
		r.Circle.Times++
	}
}
