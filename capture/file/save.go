package file

import (
	"io"
	"iter"
	"math"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// stacksBetweenErrors is how many stacks WriteSource adds between two looks at Err.
const stacksBetweenErrors = 4096

// WriteSource writes src to w as a complete capture. It keeps the symbols and
// source lines that sym knows, or else src; sym may be nil.
func WriteSource(w io.Writer, src capture.Source, sym capture.Embedder) error {
	c, err := NewWriter(w, src.Info())
	if err != nil {
		return err
	}
	c.copied = src
	c.AddFunctions(src.Functions())
	for _, t := range src.Threads() {
		c.AddThread(t)
	}
	for _, m := range src.Modules() {
		c.AddModule(m)
	}
	// Stacks go as far ahead as the events need them. A Log may grow meanwhile:
	// those of later events are only written if a stop may need them.
	stacks := 0
	upTo := func(id int) {
		for ; stacks < id; stacks++ {
			if stacks%stacksBetweenErrors == 0 && c.Err() != nil {
				return // as the events will
			}
			c.addStack(src.Stack(capture.StackID(stacks + 1)))
		}
	}
	upTo(src.Stacks())
	from := uint64(0)
	if l, ok := src.(*Log); ok {
		from = c.copyBlocks(l)
	}
	if s, ok := src.(interface{ file() *File }); ok {
		if err := c.copySums(s.file()); err != nil {
			return err
		}
	}
	execs := src.Execs()
	for len(execs) > 0 && (execs[0] < from || src.Info().Aggregate) { // copied with the blocks, or the sums
		c.records(chunkExecs).exec(execs[0])
		execs = execs[1:]
	}
	made := new(LiveBlocks)
	if _, ok := src.(*Log); ok {
		made = nil // a log tells which events made the blocks that end
	}
	for e := range src.Events(from) {
		if len(execs) > 0 && execs[0] <= e.Seq {
			execs = c.ReplacedUpTo(execs, e.Seq)
			made.Clear()
		}
		if int(e.Stack) > stacks {
			upTo(src.Stacks())
		}
		if made == nil {
			c.AddEvent(&e)
		} else {
			settled := made.Settle(&e)
			if src.Damage() != nil { // beginnings and ends may be lost
				if !settled {
					e.Ended = capture.Ended{}
				}
				made.EndUnseen(c, &e)
			}
			made.Add(c, &e)
		}
		if c.Err() != nil {
			return c.Err()
		}
	}
	c.ReplacedUpTo(execs, math.MaxUint64)
	c.addMoments(src)
	upTo(src.Stacks())
	if err := c.Flush(); err != nil { // the events before their names: a cut costs less
		return err
	}
	c.embed(embedding{src: src, sym: sym, modules: src.Modules()}, codesOf(src))
	return c.Close()
}

// addMoments adds what a source knows in addition to its events: stops, marks, samples, the console
// and losses.
func (c *Writer) addMoments(src capture.Source) {
	for _, s := range src.Stops() {
		c.AddStop(s)
	}
	for _, m := range src.Marks() {
		c.AddMark(m)
	}
	for _, m := range src.Samples() {
		c.AddSample(m)
	}
	for _, l := range src.Console() {
		c.AddConsole(l)
	}
	for _, l := range src.Losses() {
		c.AddLoss(l)
	}
}

// copyBlocks writes the events of a log that are encoded already, and returns
// the number from which they are not.
func (c *Writer) copyBlocks(l *Log) (from uint64) {
	s := l.snapshot()
	defer l.release(s)
	for _, ref := range l.notedTypes() {
		c.types.refs.include(ref)
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		payload, err := b.load()
		if err != nil {
			from = b.head.first // who reads it there says what is lost
			break
		}
		lost := c.info.Totals.Lost
		c.info.Totals = b.totals
		c.info.Totals.Lost = lost
		c.seq = b.head.last
		c.flushTables()
		c.out.queue.add(func() {
			c.out.chunk(b.head.ref(), func(dst []byte) []byte { return append(dst, payload...) })
		})
		c.encoder.sum.state = b.after
		from = b.head.last + 1
	}
	c.copyCheckpoints(l, from)
	return from
}

// copySums writes the sums of a capture that has sums instead of events.
func (c *Writer) copySums(f *File) error {
	if len(f.events) > 0 {
		return nil
	}
	for _, ref := range f.sums {
		payload, err := f.chunks.chunk(ref)
		if err != nil {
			f.fail(ref, err)
			continue
		}
		if t, ok := totalsOf(payload); ok {
			t.Lost = c.info.Totals.Lost
			c.info.Totals = t
		}
		c.flushTables()
		c.out.queue.add(func() {
			c.out.chunk(ref, func(dst []byte) []byte { return append(dst, payload...) })
		})
	}
	return c.Err()
}

// codesOf yields the code addresses of all stacks, and whether they are return
// addresses.
func codesOf(src capture.Source) iter.Seq2[addr.Run, bool] {
	return func(yield func(addr.Run, bool) bool) {
		for id := range src.Stacks() {
			s := src.Stack(capture.StackID(id + 1))
			for i, pc := range s.PCs {
				if !yield(pc, !s.IsPC(i)) {
					return
				}
			}
		}
	}
}

// Save writes src to a file, as WriteSource does.
func Save(to outfile.File, src capture.Source, sym capture.Embedder) error {
	return to.Write(func(w io.Writer) error { return WriteSource(w, src, sym) })
}
