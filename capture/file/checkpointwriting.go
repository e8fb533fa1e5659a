package file

// followChunk follows the events of a chunk, and writes a checkpoint if it is time for one.
func (c *Writer) followChunk(columns *eventColumns) {
	if c.builder == nil {
		return
	}
	made := c.builder.chunk(&columns.head, &columns.chunkEffects)
	if made == nil {
		return
	}
	before := c.out.offset.Load()
	c.out.chunk(chunkRef{kind: chunkCheckpoint}, func(b []byte) []byte { return made.append(b, &c.out.packer) })
	c.builder.wrote(made, int(c.out.offset.Load()-before))
}

// checkpoint follows the events that were encoded last, and keeps a checkpoint if it
// is time for one.
func (l *Log) checkpoint(s *spill) []eventBlock {
	c := &l.encoder.eventColumns
	made := l.builder.chunk(&c.head, &c.chunkEffects)
	if made == nil {
		return nil
	}
	block := eventBlock{head: eventHead{last: made.after}}
	payload := made.append(nil, &l.packer)
	s.add(&block, payload)
	l.builder.wrote(made, len(payload))
	return []eventBlock{block}
}

// dropCheckpoints has no checkpoints written from here on.
func (c *Writer) dropCheckpoints() {
	c.encoder.following = false
	c.out.queue.wait()
	c.builder = nil
}

// copyCheckpoints writes those of a log whose events before #next were copied. They
// end there: what is live then, the log knows.
func (c *Writer) copyCheckpoints(l *Log, next uint64) {
	for _, b := range l.checkpointsTo(next) {
		payload, err := b.load()
		if err != nil {
			break
		}
		c.out.queue.add(func() {
			c.out.chunk(chunkRef{kind: chunkCheckpoint}, func(dst []byte) []byte { return append(dst, payload...) })
		})
	}
	c.dropCheckpoints()
}
