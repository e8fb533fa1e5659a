package capture

// events adds events, of which there must be at least one, as event does one after
// the other. The chunk must have room for them.
//
// Those that most are take half the time: blocks made and given back by the thread of
// the event before, with a stack and with numbers that follow on one another.
func (c *eventEncoder) events(events []Event) {
	usual := c.usual()
	for i := range events {
		e := &events[i]
		if usual && e.TID == c.tid && e.Seq == c.head.last+1 && !e.Failed && !e.Abandoned &&
			e.Old == 0 && e.Addr != 0 && e.Size != 0 && e.Stack != 0 {
			switch e.Kind {
			case Free:
				if e.Gone.Recorded && e.Gone.Size == e.Size && e.Aux == 0 {
					c.plainFree(e)
					continue
				}
			case Alloc, Realloc:
				if !e.Gone.Recorded {
					c.plainAlloc(e)
					continue
				}
			}
		}
		c.event(e, max(e.Seq, c.head.last+1), ticks(e.Time))
		usual = c.usual()
	}
}

// usual tells whether the next event may be a plain one.
func (c *eventEncoder) usual() bool { return c.thread >= 0 && !c.gapped && !c.unfollowed }

// plainAlloc adds a block that is made, and not of another.
func (c *eventEncoder) plainAlloc(e *Event) {
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
	if e.Aux != 0 {
		moves |= c.aux(e, h)
	}
	size := e.Size
	if h.size != size {
		h.size = size
		moves |= moveSize
		c.put(secSize, size)
	}
	k := m.class(t, classOf(size))
	if last := len(k.free) - 1; last >= 0 && k.free[last] == e.Addr {
		k.free = k.free[:last] // placeTop
	} else {
		moves |= c.place(e, t, k) << movePlace
	}
	k.prev, k.last = k.last, e.Addr
	t.bump = e.Addr + chunkSize(size)
	u := &c.lastOps[stack]
	if key := opKey(e, moves); u.key != key {
		*u = c.recentOp(key)
	}
	c.put(secOp, uint64(u.index))
	c.counts[u.index]++
	c.makes(e, index, stack, u.index)
}

// plainFree adds the end of a block.
func (c *eventEncoder) plainFree(e *Event) {
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
	if i := e.Gone.Seq - c.head.first; i < uint64(index) && c.isMaker(int(i), &e.Gone, e.Addr) {
		of := int(i)
		moves |= c.putMaker(h, index, of)
		c.countEnd(&c.sum.flows[c.made[of].stack], e)
	} else {
		moves |= refLiteral << moveRef
		c.putLiteral(e.Addr)
		if e.Size != h.size {
			moves |= moveSize
			c.put(secSize, e.Size)
		}
		moves |= c.ended(e, -1)
	}
	h.size = e.Size
	k := m.class(t, classOf(e.Size))
	k.free = append(k.free, e.Addr)
	u := &c.lastOps[stack]
	if key := opKey(e, moves); u.key != key {
		*u = c.recentOp(key)
	}
	c.put(secOp, uint64(u.index))
	c.counts[u.index]++
}
