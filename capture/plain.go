package capture

// events adds events, of which there must be at least one, as event does one after
// the other. The chunk must have room for them.
func (c *eventEncoder) events(events []Event) {
	for len(events) > 0 {
		if c.usual() {
			if events = events[c.plain(events):]; len(events) == 0 {
				return
			}
		}
		e := &events[0]
		c.event(e, max(e.Seq, c.head.last+1), ticks(e.Time))
		events = events[1:]
	}
}

// usual tells whether the next event may be a plain one.
func (c *eventEncoder) usual() bool { return c.thread >= 0 && !c.gapped && !c.unfollowed }

// plain tells whether the event is what most are: a block made, and not of another, or
// a recorded block given back, with a stack.
func (e *Event) plain() bool {
	if e.Failed || e.Abandoned || e.Old != 0 || e.Addr == 0 || e.Size == 0 || e.Stack == 0 {
		return false
	}
	if e.Kind == Free {
		return e.Gone.Recorded && e.Gone.Size == e.Size && e.Aux == 0
	}
	return (e.Kind == Alloc || e.Kind == Realloc) && !e.Gone.Recorded
}

// plain does what event does, in half the time, for the events up to the first that is
// not a plain one of the thread of the event before, whose number it follows on. It returns
// how many they are.
func (c *eventEncoder) plain(events []Event) int {
	m := &c.model
	t := &m.threads[c.thread]
	seq, tid := c.head.last+1, c.tid
	for i := range events {
		e := &events[i]
		if e.TID != tid || e.Seq != seq || !e.plain() {
			return i
		}
		index := c.head.count
		if e.Time != c.time {
			if now := ticks(e.Time); now != c.head.end {
				c.later(index, now)
			}
		}
		c.head.count, c.head.last = index+1, seq
		seq++
		moves := uint32(hasStack | hasSize | hasAddr)
		stack := m.habits[t.stack].next
		h := &m.habits[stack]
		if h.id != e.Stack {
			moves |= moveStack
			stack = c.otherStack(t, e.Stack)
			h = &m.habits[stack]
		}
		t.stack = stack
		k := m.class(t, classOf(e.Size))
		if e.Kind == Free {
			moves |= c.plainFree(e, h, index)
			k.released(e.Addr)
		} else {
			if e.Aux != 0 {
				moves |= c.aux(e, h)
			}
			if size := e.Size; h.size != size {
				h.size = size
				moves |= moveSize
				c.put(secSize, size)
			}
			if last := len(k.free) - 1; last >= 0 && k.free[last] == e.Addr {
				k.free = k.free[:last] // placeTop
			} else {
				moves |= c.place(e, t, k) << movePlace
			}
			k.prev, k.last = k.last, e.Addr
			t.bump = e.Addr + chunkSize(e.Size)
		}
		if key := opKey(e, moves); h.key != key {
			c.otherOp(h, key)
		}
		c.put(secOp, uint64(h.op))
		c.counts[h.op]++
		if e.Kind != Free {
			c.makes(e, index, stack, moves, h.op)
		}
	}
	return len(events)
}

// plainFree encodes that a block is given back.
func (c *eventEncoder) plainFree(e *Event, h *habit, index int) (moves uint32) {
	if i := e.Gone.Seq - c.head.first; i < uint64(index) {
		if stack, ok := c.isMaker(int(i), &e.Gone, e.Addr); ok {
			h.size = e.Size
			if c.sum.ended(&c.sum.flows[stack], e) {
				c.temporary(e)
			}
			return c.putMaker(h, index, int(i))
		}
	}
	moves = refLiteral << moveRef
	c.putLiteral(e.Addr)
	if e.Size != h.size {
		h.size = e.Size
		moves |= moveSize
		c.put(secSize, e.Size)
	}
	o := &c.model.origins[e.Size%numOrigins]
	if !o.recorded || o.stack != e.Gone.Stack {
		return moves | c.ended(e, -1)
	}
	o.size = e.Size
	c.noteEnd(e.Gone.Seq)
	c.about(e.Addr, e.Size)
	if c.sum.ended(&c.sum.origins[o.at], e) {
		c.temporary(e)
	}
	return moves
}
