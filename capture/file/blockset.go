package file

import (
	"hdb/capture"
	"hdb/capture/intern"
)

// A LiveBlocks is the blocks that live at a moment of a recording that is read, by their addresses:
// what their ends are to describe them. A block takes 64 bytes or less. Its zero value is empty.
type LiveBlocks struct {
	slots []LiveBlock // an open hash table with linear probing
	count int
}

// Len is the number of blocks.
func (s *LiveBlocks) Len() int { return s.count }

// A LiveBlock is empty if addr is 0.
type LiveBlock struct {
	Addr  uint64
	Seq   uint64 // of the event that made the block
	Size  uint64
	Stack capture.StackID
}

// home is where a is looked for first.
func (s *LiveBlocks) home(a uint64) int { return int(intern.HashAddr(a) >> 1 & uint64(len(s.slots)-1)) }

// slot is where a is, or the empty slot where it belongs.
func (s *LiveBlocks) slot(a uint64) int {
	i := s.home(a)
	for s.slots[i].Addr != 0 && s.slots[i].Addr != a {
		i = (i + 1) & (len(s.slots) - 1)
	}
	return i
}

// Put adds the block that an event made, which is kept as #seq.
func (s *LiveBlocks) Put(e *capture.Event, seq uint64) {
	if 4*(s.count+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]LiveBlock, max(2*len(old), 1024))
		for _, b := range old {
			if b.Addr != 0 {
				s.slots[s.slot(b.Addr)] = b
			}
		}
	}
	m := &s.slots[s.slot(e.Addr)]
	if m.Addr == 0 {
		s.count++
	}
	*m = LiveBlock{e.Addr, seq, e.Size, e.Stack}
}

// at is the event of the block at a, if there is one.
func (s *LiveBlocks) at(a uint64) (seq uint64, ok bool) {
	if s.count == 0 || a == 0 {
		return 0, false
	}
	m := s.slots[s.slot(a)]
	return m.Seq, m.Addr != 0
}

// Take takes the block at a out, if there is one.
func (s *LiveBlocks) Take(a uint64) (b LiveBlock, ok bool) {
	if s.count == 0 || a == 0 {
		return b, false
	}
	hole := s.slot(a)
	if s.slots[hole].Addr == 0 {
		return b, false
	}
	b = s.slots[hole]
	s.count--
	// What is behind the hole moves into it, if it may be there.
	mask := len(s.slots) - 1
	for i := (hole + 1) & mask; s.slots[i].Addr != 0; i = (i + 1) & mask {
		if (i-s.home(s.slots[i].Addr))&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = LiveBlock{}
	return b, true
}

// Clear takes out all. Of a nil set it does nothing.
func (s *LiveBlocks) Clear() {
	if s != nil {
		clear(s.slots)
		s.count = 0
	}
}

// Settle takes out the block that an event says it ended, and notes in the event which
// one made it. It is false if the set does not have that block.
func (s *LiveBlocks) Settle(e *capture.Event) bool {
	if !e.Ended.Recorded {
		return true
	}
	b, ok := s.Take(e.EndedAt())
	e.Ended.Seq = b.Seq
	return ok
}

// Add adds an event that was settled to a recording, and the block that it made to the
// set.
func (s *LiveBlocks) Add(c *Writer, e *capture.Event) {
	seq := c.AddEvent(e)
	if e.Allocates() {
		s.Put(e, seq)
	}
}

// EndUnseen ends the block that is still at the address of a new one: its end was in a part of
// the recording that is lost. Either the event ends it or, if it ends another one, an event
// of its own does, which is added in front.
func (s *LiveBlocks) EndUnseen(c *Writer, e *capture.Event) {
	if !e.Allocates() {
		return
	}
	b, ok := s.Take(e.Addr)
	if !ok {
		return
	}
	end := capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq}
	if e.EndedAt() == e.Addr {
		e.Ended = end
		return
	}
	free := capture.Event{Time: e.Time, Kind: capture.Free, Addr: e.Addr, Size: b.Size, TID: e.TID, Func: c.FuncIndex(capture.UnseenFree), Ended: end}
	e.Seq = max(e.Seq, c.AddEvent(&free)+1)
}
