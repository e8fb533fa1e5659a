package capture

// A madeBy tells which event made the block at an address other than 0, in 32 bytes
// for each or less. Its zero value is empty.
type madeBy struct {
	slots []madeSlot // an open hash table with linear probing
	len   int
}

// A madeSlot is empty if addr is 0.
type madeSlot struct{ addr, seq uint64 }

// home is where a is looked for first.
func (s *madeBy) home(a uint64) int { return int(hashAddr(a) >> 1 & uint64(len(s.slots)-1)) }

// slot is where a is, or the empty slot where it belongs.
func (s *madeBy) slot(a uint64) int {
	i := s.home(a)
	for s.slots[i].addr != 0 && s.slots[i].addr != a {
		i = (i + 1) & (len(s.slots) - 1)
	}
	return i
}

// put makes seq the event of the block at a, and returns the one before, or 0.
func (s *madeBy) put(a, seq uint64) (before uint64) {
	if 4*(s.len+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]madeSlot, max(2*len(old), 1024))
		for _, b := range old {
			if b.addr != 0 {
				s.slots[s.slot(b.addr)] = b
			}
		}
	}
	m := &s.slots[s.slot(a)]
	if m.addr == 0 {
		s.len++
	}
	before, *m = m.seq, madeSlot{a, seq}
	return before
}

// at is the event of the block at a, if there is one.
func (s *madeBy) at(a uint64) (seq uint64, ok bool) {
	if s.len == 0 || a == 0 {
		return 0, false
	}
	m := s.slots[s.slot(a)]
	return m.seq, m.addr != 0
}

// take takes a out and returns its event, if it was in.
func (s *madeBy) take(a uint64) (seq uint64, ok bool) {
	if s.len == 0 || a == 0 {
		return 0, false
	}
	hole := s.slot(a)
	if s.slots[hole].addr == 0 {
		return 0, false
	}
	seq = s.slots[hole].seq
	s.len--
	// What stands behind the hole moves into it, if it may stand there.
	mask := len(s.slots) - 1
	for i := (hole + 1) & mask; s.slots[i].addr != 0; i = (i + 1) & mask {
		if (i-s.home(s.slots[i].addr))&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = madeSlot{}
	return seq, true
}

// ends takes out the block that the event says it ends, and returns the event that
// made it, if it was in.
func (s *madeBy) ends(e *Event) (seq uint64, ok bool) {
	if e.Kind == Realloc && e.Old != 0 {
		if seq, ok = s.take(e.Old); ok {
			return seq, true
		}
	}
	return s.take(e.Addr)
}

// add adds an event to a recording, and follows the block that it makes. Of a nil
// madeBy it only adds it.
func (s *madeBy) add(c *Writer, e *Event) {
	seq := c.AddEvent(e)
	if s == nil || !e.Allocates() {
		return
	}
	if unseen := s.put(e.Addr, seq); unseen != 0 {
		c.Ended(unseen)
	}
}

// clear takes out all. Of a nil madeBy it does nothing.
func (s *madeBy) clear() {
	if s != nil {
		clear(s.slots)
		s.len = 0
	}
}
