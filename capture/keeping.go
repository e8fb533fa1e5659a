package capture

// keep follows the events of a chunk, and writes a checkpoint if it is time for one.
func (c *Writer) keep(columns *eventColumns) {
	if c.keeper == nil {
		return
	}
	made := c.keeper.chunk(&columns.head, &columns.outcome)
	if made == nil {
		return
	}
	before := c.out.offset.Load()
	c.out.chunk(chunkRef{kind: chunkCheckpoint}, func(b []byte) []byte { return made.append(b, &c.out.packer) })
	c.keeper.wrote(made, int(c.out.offset.Load()-before))
}

// checkpoint follows the events that were encoded last, and keeps a checkpoint if it
// is time for one.
func (l *Log) checkpoint(s *spill) []eventBlock {
	c := &l.encoder.eventColumns
	c.ended = append(c.ended, l.endedUpTo(c.head.last)...)
	made := l.keeper.chunk(&c.head, &c.outcome)
	if made == nil {
		return nil
	}
	block := eventBlock{head: eventHead{last: made.after}}
	payload := made.append(nil, &l.packer)
	s.add(&block, payload)
	l.keeper.wrote(made, len(payload))
	return []eventBlock{block}
}

// unfollow says that nobody knows which blocks the events end.
func (c *Writer) unfollow() {
	c.encoder.unfollowed = true
	c.dropKeeper()
}

// dropKeeper has no checkpoints written from here on.
func (c *Writer) dropKeeper() {
	c.encoder.following = false
	c.queue.wait()
	c.keeper = nil
}

// Ended notes that the last event ended a block that it does not tell, beside the
// one that it tells: that which event #seq made.
func (c *Writer) Ended(seq uint64) {
	if c.encoder.following {
		c.encoder.noteEnd(seq)
		c.encoder.roomTo = 0 // it took the room of an event
	}
}

// Ended is as of a Writer.
func (l *Log) Ended(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, unseenEnd{l.seq, seq})
}

// An unseenEnd is the end of a block that event #by does not tell.
type unseenEnd struct{ by, seq uint64 }

// endedUpTo takes the ends of blocks that the events up to #last do not tell.
func (l *Log) endedUpTo(last uint64) (ended []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ended) > 0 && l.ended[0].by <= last {
		ended = append(ended, l.ended[0].seq)
		l.ended = l.ended[1:]
	}
	return ended
}

// copyCheckpoints writes those of a log whose events before #next were copied. They
// end there: what is live then, the log knows.
func (c *Writer) copyCheckpoints(l *Log, next uint64) {
	for _, b := range l.checkpointsTo(next) {
		payload, err := b.load()
		if err != nil {
			break
		}
		c.queue.add(func() {
			c.out.chunk(chunkRef{kind: chunkCheckpoint}, func(dst []byte) []byte { return append(dst, payload...) })
		})
	}
	c.dropKeeper()
}
