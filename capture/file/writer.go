package file

import (
	"io"
	"time"

	"hdb/capture"
	"hdb/capture/intern"
	"hdb/internal/addr"
)

// eventsPerChunk are collected before a chunk is written. More would compress a
// little better, but a reader decodes a chunk to find one event.
const eventsPerChunk = 1 << 16

var (
	_ capture.Recorder = (*Log)(nil)
	_ capture.Recorder = (*Writer)(nil)
)

// A Writer appends a recording to a file. What it was given can be read from
// the file after Flush, also when nothing more is ever written. It belongs to
// one goroutine; another one, which it starts, compresses and writes.
//
// It keeps the interned stacks in memory and the encoded events of a few chunks.
// When the file takes events slower than they come, AddEvent waits for it.
//
// The first error of the underlying writer is kept: nothing is written after
// it, what is added is dropped but counted, nothing waits any more, and Err,
// Flush and Close return it.
type Writer struct {
	info      capture.Info
	infoStale bool           // info has changed since it was written, other than by events
	written   capture.Totals // that were written with info
	encoder   eventEncoder
	sums      *intervalSums // nil unless they are kept instead of events
	seq       uint64        // of the last event

	stackWriter
	tableWriter
	losses lossWriter

	out     chunkWriter
	columns chan *eventColumns // memory to use again
	sets    int                // of such memory, in addition to the encoder's
	copied  capture.Source     // whose stacks are written under the same IDs; nil: they are interned
	builder *checkpointBuilder // of the queue's jobs; nil: there are no checkpoints
}

// NewWriter begins a capture on w, usually an empty file. It writes nothing but
// whole chunks, each with one call of w.Write.
func NewWriter(w io.Writer, info capture.Info) (*Writer, error) {
	c := &Writer{columns: make(chan *eventColumns, maxQueued)}
	c.out.w, c.out.queue.failed = w, c.out.fail
	c.stackWriter = stackWriter{out: &c.out, interned: intern.NewStacks(), pending: newStackEncoder(1)}
	c.tableWriter = tableWriter{out: &c.out, functions: map[string]uint16{}}
	c.builder, c.encoder.following = newCheckpointBuilder(), true
	info.Totals = capture.Totals{}
	c.info = normalInfo(info)
	c.infoStale = true
	c.out.write(appendFileHeader(nil))
	return c, c.Flush()
}

// Err is the first error of writing, or nil. An error may be found a little
// after the call that it belongs to.
func (c *Writer) Err() error { return c.out.err() }

// Size is the length of the file so far, in bytes.
func (c *Writer) Size() int64 { return c.out.offset.Load() }

// Flushed is the number of events that are in the file.
func (c *Writer) Flushed() uint64 { return c.out.flushed.Load() }

// Pending is the number of events that the next Push makes a chunk of, of sums that
// Flush does.
// A few hundred may as well wait for more: small chunks take several bytes for
// each event.
func (c *Writer) Pending() int { return c.encoder.head.count }

// Events is the number of events added.
func (c *Writer) Events() uint64 { return c.Totals().Events }

// Totals are those of the events and losses added.
func (c *Writer) Totals() capture.Totals {
	t := c.info.Totals // up to the chunk that is encoded
	c.encoder.count(&t)
	return t
}

// LastSeq is the number of the last event.
func (c *Writer) LastSeq() uint64 { return c.seq }

// Last is the time of the last event.
func (c *Writer) Last() time.Duration { return c.Totals().Last }

// AddEvent appends an event and returns its number, as Log.AddEvent does. It
// encodes it at once: to keep it for another processor would cost more.
func (c *Writer) AddEvent(e *capture.Event) uint64 {
	seq := numberAfter(e, c.seq)
	c.seq = seq
	now := ticks(e.Time)
	if c.sums != nil {
		c.info.Totals.Add(e, time.Duration(now)*capture.Resolution)
		c.sums.add(e, seq, now, &c.info.Totals)
		if c.sums.events() == sumsMost {
			c.cut()
		}
		return seq
	}
	if c.encoder.head.count == 0 {
		c.encoder.begin(seq, now)
	}
	c.encoder.event(e, seq, now)
	if c.encoder.head.count == eventsPerChunk {
		c.cut()
	}
	return seq
}

// AddEvents appends events, as AddEvent does.
func (c *Writer) AddEvents(events []capture.Event) uint64 {
	for len(events) > 0 {
		if c.encoder.head.count == 0 || c.sums != nil {
			c.AddEvent(&events[0])
			events = events[1:]
			continue
		}
		n := min(len(events), eventsPerChunk-c.encoder.head.count)
		c.encoder.events(events[:n])
		c.seq = c.encoder.head.last
		if c.encoder.head.count == eventsPerChunk {
			c.cut()
		}
		events = events[n:]
	}
	return c.seq
}

// cut has the events so far written, behind what they refer to.
func (c *Writer) cut() {
	c.noteTypes()
	c.flushTables()
	if c.sums != nil {
		c.writeSums()
	}
	if c.encoder.head.count == 0 {
		return
	}
	c.encoder.count(&c.info.Totals)
	columns, totals := c.spareColumns(), c.info.Totals
	*columns = c.encoder.end(*columns)
	c.out.queue.add(func() {
		defer func() { c.columns <- columns }()
		if c.out.events(columns, &totals); c.out.err() == nil {
			c.followChunk(columns)
		}
	})
}

// spareColumns is memory for a chunk. It takes new memory only while none is done with,
// so that what is used stays in the processor's cache, and waits while too many chunks
// are to be written.
func (c *Writer) spareColumns() *eventColumns {
	select {
	case spare := <-c.columns:
		return spare
	default:
	}
	if c.sets == maxQueued {
		return <-c.columns
	}
	c.sets++
	spare := new(eventColumns)
	for id, b := range c.encoder.columns { // of about the same size
		spare.columns[id] = make([]byte, 0, len(b)+len(b)/4)
	}
	return spare
}

// Replaced notes that the program was replaced (exec): no block lives on.
func (c *Writer) Replaced() { c.replacedAt(c.seq + 1) }

// ReplacedUpTo notes the replacements before events up to #seq. It returns the later ones.
func (c *Writer) ReplacedUpTo(execs []uint64, seq uint64) (later []uint64) {
	for len(execs) > 0 && execs[0] <= seq {
		c.replacedAt(execs[0])
		execs = execs[1:]
	}
	return execs
}

// replacedAt is Replaced before the event #first.
func (c *Writer) replacedAt(first uint64) {
	c.cut()
	c.records(chunkExecs).exec(first)
	c.encoder.sum.replaced()
	if c.sums != nil {
		c.sums.state, c.sums.fresh = heapState{}, true
	}
}

// AddLoss notes that calls are missing.
func (c *Writer) AddLoss(l capture.Loss) {
	c.info.Totals.Lost += l.Count
	c.infoStale = true
	c.losses.add(clampLoss(l), c.records)
}

// SetInfo replaces what is known about the session, except the Totals.
func (c *Writer) SetInfo(info capture.Info) {
	info.Totals, info.Aggregate = c.info.Totals, c.info.Aggregate
	c.info = normalInfo(info)
	c.infoStale = true
}

// AddPartial adds reasons to Info.Partial why events are not there, each once.
func (c *Writer) AddPartial(why ...capture.Reason) {
	c.info.AddPartial(why...)
	c.infoStale = true
}

// Push has everything so far written soon, and waits for nothing unless much is
// waiting already. It costs next to nothing if nothing was added. A chunk of
// fewer events takes more bytes for each: once a second does little harm.
func (c *Writer) Push() {
	if c.sums == nil {
		c.cut()
	} else if c.sums.pushes++; c.sums.pushes >= sumsEvery {
		c.cut()
	}
	c.push()
}

// push is Push without the events.
func (c *Writer) push() {
	c.flushRecords(chunkStops)
	c.flushRecords(chunkMarks)
	c.flushRecords(chunkSamples)
	c.flushRecords(chunkConsole)
	c.losses.flush(c.records)
	c.flushRecords(chunkLosses)
	c.flushRecords(chunkExecs)
	if c.infoStale {
		c.infoStale, c.written = false, c.info.Totals
		c.records(chunkInfo).info(c.info)
		c.flushRecords(chunkInfo)
	}
}

// Flush writes everything so far, so that a reader of the file finds it.
func (c *Writer) Flush() error {
	c.cut()
	c.push()
	c.out.queue.wait()
	return c.Err()
}

// flushTables writes what events refer to: it must be in the file before them.
func (c *Writer) flushTables() {
	c.flushRecords(chunkFunctions)
	c.flushRecords(chunkThreads)
	c.flushRecords(chunkModules)
	c.flushRecords(chunkExecs)
	c.flushRecords(chunkSymbols)
	c.flushRecords(chunkTypes)
	c.flushStacks()
}

// Keep writes the function chain of a return address that is in no module, at once: it cannot be
// found later.
func (c *Writer) Keep(pc addr.Run, chain []capture.Frame) {
	c.records(chunkSymbols).symbol(symbolKey{pc, 0, true}, chain)
}

// Embed writes the symbols and source lines of all stacks interned so far, which
// makes the capture one that opens anywhere. It is called once, when the modules
// are known and before Close.
func (c *Writer) Embed(sym capture.Embedder) error {
	if err := c.Flush(); err != nil { // the events before their names: a cut costs less
		return err
	}
	c.embed(embedding{sym: sym, modules: c.modules}, c.interned.Codes())
	c.out.queue.wait()
	return c.Err()
}

// EmbedFrom writes, as Embed does, the symbols and source lines that another recording
// keeps of these stacks.
func (c *Writer) EmbedFrom(src capture.Source) {
	c.embed(embedding{src: src, modules: c.modules}, c.interned.Codes())
}

// Close flushes and writes the index, which makes the capture complete. It does
// not close the underlying writer.
func (c *Writer) Close() error {
	if c.written != c.Totals() {
		c.infoStale = true // so that they are found without reading the events
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.out.queue.add(c.out.close)
	c.out.queue.wait()
	return c.Err()
}
