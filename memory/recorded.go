package memory

import (
	"cmp"
	"slices"
)

// Recorded are the live blocks of a recording, of one moment.
type Recorded interface {
	// From fills room with those from an address on, ascending, and tells how many. It is less than there is room for
	// only if there are no more.
	From(low uint64, room []Block) int
	// At is the one that begins at an address.
	At(addr uint64) (Block, bool)
}

// A RecordedList has its blocks itself, ascending by address.
type RecordedList []Block

// ListRecorded is a list of blocks in any order. It takes the slice.
func ListRecorded(blocks []Block) RecordedList {
	slices.SortFunc(blocks, func(a, b Block) int { return cmp.Compare(a.Addr, b.Addr) })
	return blocks
}

func (l RecordedList) find(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(l, addr, func(b Block, addr uint64) int { return cmp.Compare(b.Addr, addr) })
}

// From fills room with blocks.
func (l RecordedList) From(low uint64, room []Block) int {
	i, _ := l.find(low)
	return copy(room, l[i:])
}

// At is the block that begins at an address.
func (l RecordedList) At(addr uint64) (Block, bool) {
	i, ok := l.find(addr)
	if !ok {
		return Block{}, false
	}
	return l[i], true
}

// A cursor goes through recorded blocks, ascending.
type cursor struct {
	of      Recorded // nil: none
	buf     []Block
	pending []Block // of buf, that are not taken
	next    uint64  // what is asked for next begins here
	end     bool    // nothing does
}

// cursorRoom is how many blocks are asked for at once.
const cursorRoom = 1 << 14

// more reads on, behind what is had, and reports whether there was more.
func (c *cursor) more() bool {
	if c.of == nil || c.end {
		return false
	}
	n := len(c.pending)
	if cap(c.buf) < n+cursorRoom {
		c.buf = make([]Block, max(2*n, cursorRoom)+cursorRoom)
	}
	all := c.buf[:cap(c.buf)]
	copy(all, c.pending)
	k := c.of.From(c.next, all[n:])
	c.end = n+k < len(all)
	c.pending = all[:n+k]
	if k > 0 {
		c.next = c.pending[n+k-1].Addr + 1
		c.end = c.end || c.next == 0
	}
	return k > 0
}

// peek is the next block, nil at the end.
func (c *cursor) peek() *Block {
	if len(c.pending) == 0 && !c.more() {
		return nil
	}
	return &c.pending[0]
}

// skip passes the next one over.
func (c *cursor) skip() { c.pending = c.pending[1:] }

// below takes the blocks that begin below an address. They are good until the next call.
func (c *cursor) below(high uint64) []Block {
	n := 0
	for {
		for n < len(c.pending) && c.pending[n].Addr < high {
			n++
		}
		if n < len(c.pending) || !c.more() {
			out := c.pending[:n]
			c.pending = c.pending[n:]
			return out
		}
	}
}

// at passes over what begins below an address, and takes the block that begins there, if there is one.
func (c *cursor) at(addr uint64) *Block {
	for {
		b := c.peek()
		if b == nil || b.Addr > addr {
			return nil
		}
		if c.skip(); b.Addr == addr {
			return b
		}
	}
}
