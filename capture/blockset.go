package capture

// A blockSet is the blocks that live at a moment of a recording that is read, by their
// addresses: what their ends are to tell of them. A block takes 64 bytes or less. Its
// zero value is empty.
type blockSet struct {
	slots []blockSlot // an open hash table with linear probing
	len   int
}

// A blockSlot is empty if addr is 0.
type blockSlot struct {
	addr  uint64
	seq   uint64 // of the event that made the block
	size  uint64
	stack StackID
}

// home is where a is looked for first.
func (s *blockSet) home(a uint64) int { return int(hashAddr(a) >> 1 & uint64(len(s.slots)-1)) }

// slot is where a is, or the empty slot where it belongs.
func (s *blockSet) slot(a uint64) int {
	i := s.home(a)
	for s.slots[i].addr != 0 && s.slots[i].addr != a {
		i = (i + 1) & (len(s.slots) - 1)
	}
	return i
}

// put adds the block that an event made, which is kept as #seq.
func (s *blockSet) put(e *Event, seq uint64) {
	if 4*(s.len+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]blockSlot, max(2*len(old), 1024))
		for _, b := range old {
			if b.addr != 0 {
				s.slots[s.slot(b.addr)] = b
			}
		}
	}
	m := &s.slots[s.slot(e.Addr)]
	if m.addr == 0 {
		s.len++
	}
	*m = blockSlot{e.Addr, seq, e.Size, e.Stack}
}

// at is the event of the block at a, if there is one.
func (s *blockSet) at(a uint64) (seq uint64, ok bool) {
	if s.len == 0 || a == 0 {
		return 0, false
	}
	m := s.slots[s.slot(a)]
	return m.seq, m.addr != 0
}

// take takes the block at a out, if there is one.
func (s *blockSet) take(a uint64) (b blockSlot, ok bool) {
	if s.len == 0 || a == 0 {
		return b, false
	}
	hole := s.slot(a)
	if s.slots[hole].addr == 0 {
		return b, false
	}
	b = s.slots[hole]
	s.len--
	// What stands behind the hole moves into it, if it may stand there.
	mask := len(s.slots) - 1
	for i := (hole + 1) & mask; s.slots[i].addr != 0; i = (i + 1) & mask {
		if (i-s.home(s.slots[i].addr))&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = blockSlot{}
	return b, true
}

// clear takes out all. Of a nil set it does nothing.
func (s *blockSet) clear() {
	if s != nil {
		clear(s.slots)
		s.len = 0
	}
}

// settle takes out the block that an event says it ended, and notes in the event which
// one made it. It is false if the set does not have that block.
func (s *blockSet) settle(e *Event) bool {
	if !e.Ended.Recorded {
		return true
	}
	b, ok := s.take(e.EndedAt())
	e.Ended.Seq = b.seq
	return ok
}

// add adds an event that was settled to a recording, and the block that it made to the
// set.
func (s *blockSet) add(c *Writer, e *Event) {
	seq := c.AddEvent(e)
	if e.Allocates() {
		s.put(e, seq)
	}
}

// unseen ends the block that is still at the address of a new one: its end was in a part of
// the recording that is lost. Either the event ends it or, if it ends another one, an event
// of its own does, which is added in front.
func (s *blockSet) unseen(c *Writer, e *Event) {
	if !e.Allocates() {
		return
	}
	b, ok := s.take(e.Addr)
	if !ok {
		return
	}
	end := Ended{Size: b.size, Stack: b.stack, Recorded: true, Seq: b.seq}
	if e.EndedAt() == e.Addr {
		e.Ended = end
		return
	}
	free := Event{Time: e.Time, Kind: Free, Addr: e.Addr, Size: b.size, TID: e.TID, Func: c.FuncIndex(UnseenFree), Ended: end}
	e.Seq = max(e.Seq, c.AddEvent(&free)+1)
}
