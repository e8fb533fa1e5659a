package capture

// events adds events, of which there must be at least one, as event does one after
// the other. The chunk must have room for them.
func (c *eventEncoder) events(events []Event) {
	usual := c.usual()
	for i := range events {
		if e := &events[i]; usual && e.TID == c.tid && e.Seq == c.head.last+1 && e.plain() {
			c.plain(e)
		} else {
			c.event(e, max(e.Seq, c.head.last+1), ticks(e.Time))
			usual = c.usual()
		}
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

// plain does what event does, in half the time, for a plain event of the thread of the
// event before, whose number it follows on.
func (c *eventEncoder) plain(e *Event) {
	index := c.head.count
	if e.Time != c.time {
		if now := ticks(e.Time); now != c.head.end {
			c.later(index, now)
		}
	}
	c.head.count, c.head.last = index+1, e.Seq
	m := &c.model
	t := &m.threads[c.thread]
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
		moves |= c.plainAlloc(e, t, h, k)
	}
	u := &c.lastOps[stack]
	if key := opKey(e, moves); u.key != key {
		*u = c.recentOp(key)
	}
	c.put(secOp, uint64(u.index))
	c.counts[u.index]++
	if e.Kind != Free {
		c.makes(e, index, stack, u.index)
	}
}

// plainAlloc encodes that a block is made.
func (c *eventEncoder) plainAlloc(e *Event, t *threadModel, h *habit, k *class) (moves uint32) {
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
	return moves
}

// plainFree encodes that a block is given back.
func (c *eventEncoder) plainFree(e *Event, h *habit, index int) (moves uint32) {
	if i := e.Gone.Seq - c.head.first; i < uint64(index) && c.isMaker(int(i), &e.Gone, e.Addr) {
		of := int(i)
		moves = c.putMaker(h, index, of)
		c.countEnd(&c.sum.flows[c.made[of].stack], e)
	} else {
		moves = refLiteral << moveRef
		c.putLiteral(e.Addr)
		if e.Size != h.size {
			moves |= moveSize
			c.put(secSize, e.Size)
		}
		moves |= c.ended(e, -1)
	}
	h.size = e.Size
	return moves
}
