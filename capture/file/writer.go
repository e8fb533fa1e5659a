package file

import (
	"io"
	"math"
	"sync"
	"time"

	"hdb/capture"
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

	stacks    *stackEncoder // that are not yet written
	interned  *stackTable
	functions map[string]uint16 // indexes by name
	funcs     int               // functions there are
	modules   []capture.Module
	losses    lossWriter
	pending   [chunkExecs + 1]recordWriter // by kind of chunk

	queue   queue
	out     chunkWriter
	columns chan *eventColumns // memory to use again
	sets    int                // of such memory, beside the encoder's
	builder *checkpointBuilder // of the queue's jobs; nil: there are no checkpoints
	spares  sync.Pool          // of *stackEncoder
}

// NewWriter begins a capture on w, usually an empty file. It writes nothing but
// whole chunks, each with one call of w.Write.
func NewWriter(w io.Writer, info capture.Info) (*Writer, error) {
	c := &Writer{interned: newStackTable(), functions: map[string]uint16{}, stacks: newStackEncoder(1), columns: make(chan *eventColumns, maxQueued)}
	c.out.w, c.queue.failed = w, c.out.fail
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

// Stack is the stack that was interned as id, which must exist.
func (c *Writer) Stack(id capture.StackID) capture.Stack { return c.interned.stack(id) }

// Stacks is the number of stacks interned.
func (c *Writer) Stacks() int { return len(c.interned.stacks) }

// StackReasons is how many different reasons the interned stacks have for missing frames.
func (c *Writer) StackReasons() int { return len(c.interned.reasons) }

// Frames is how many frames are kept in memory for the interned stacks, which share
// most of their outer ones.
func (c *Writer) Frames() int { return c.interned.nodes }

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
	c.queue.add(func() {
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

// Intern is the ID of a stack; equal stacks have one ID.
func (c *Writer) Intern(s capture.Stack) capture.StackID {
	s = clampStack(s)
	id, added := c.interned.intern(s)
	if added {
		c.addStack(s)
	}
	return id
}

// addStack writes the stack with the next ID.
func (c *Writer) addStack(s capture.Stack) {
	if c.stacks.full() {
		c.flushStacks()
	}
	c.stacks.add(s)
}

// FuncIndex is the index of a function, as of Log.FuncIndex.
func (c *Writer) FuncIndex(name string) uint16 {
	i, ok := c.functions[name]
	switch {
	case ok:
	case c.funcs > math.MaxUint16:
		i = math.MaxUint16
	default:
		i = uint16(c.funcs)
		c.AddFunctions([]string{name})
	}
	return i
}

// AddFunctions adds functions under the next indexes; of equal names FuncIndex finds the
// first.
func (c *Writer) AddFunctions(names []string) {
	for _, name := range names {
		if _, ok := c.functions[name]; !ok {
			c.functions[name] = uint16(c.funcs)
		}
		c.records(chunkFunctions).function(c.funcs, name)
		c.funcs++
	}
}

// records is where records of the kind are collected.
func (c *Writer) records(kind chunkKind) *recordWriter {
	if w := &c.pending[kind]; w.full() {
		c.flushRecords(kind)
	}
	return &c.pending[kind]
}

// AddModule appends a module and returns its index in Modules.
func (c *Writer) AddModule(m capture.Module) int {
	i := len(c.modules)
	c.modules = append(c.modules, m)
	c.records(chunkModules).module(i, m)
	return i
}

// EndModule notes that module i was unmapped before event to.
func (c *Writer) EndModule(i int, to uint64) {
	c.modules[i].To = to
	c.records(chunkModules).module(i, c.modules[i])
}

// Module is the module with an index in Modules.
func (c *Writer) Module(i int) capture.Module { return c.modules[i] }

// Remap notes for the events of which numbers module i was mapped.
func (c *Writer) Remap(i int, from, to uint64) {
	c.modules[i].From, c.modules[i].To = from, to
	c.records(chunkModules).module(i, c.modules[i])
}

// AddThread adds a thread, or replaces the one with the same Num.
func (c *Writer) AddThread(t capture.Thread) { c.records(chunkThreads).thread(t) }

// AddStop appends the record of a stop.
func (c *Writer) AddStop(s capture.StopRecord) { c.records(chunkStops).stop(s) }

// AddMark names a moment.
func (c *Writer) AddMark(m capture.MarkRecord) { c.records(chunkMarks).mark(m) }

// AddSample notes how much memory is resident.
func (c *Writer) AddSample(s capture.SampleRecord) { c.records(chunkSamples).sample(s) }

// AddConsole appends a line of the console.
func (c *Writer) AddConsole(l capture.ConsoleLine) { c.records(chunkConsole).consoleLine(l) }

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
	c.queue.wait()
	return c.Err()
}

// flushTables writes what events refer to: it must be in the file before them.
func (c *Writer) flushTables() {
	c.flushRecords(chunkFunctions)
	c.flushRecords(chunkThreads)
	c.flushRecords(chunkModules)
	c.flushRecords(chunkExecs)
	if c.stacks.count > 0 {
		c.flushStacks()
	}
}

func (c *Writer) flushRecords(kind chunkKind) {
	w := c.pending[kind]
	if len(w.records) == 0 {
		return
	}
	c.pending[kind] = recordWriter{}
	c.queue.add(func() { c.out.records(kind, &w) })
}

func (c *Writer) flushStacks() {
	s := c.stacks
	next, _ := c.spares.Get().(*stackEncoder)
	if next == nil {
		next = new(stackEncoder)
	}
	next.start(s.first + capture.StackID(s.count))
	c.stacks = next
	c.queue.add(func() {
		c.out.stacks(s)
		c.spares.Put(s)
	})
}

// Embed writes the symbols and source lines of all stacks interned so far, which
// makes the capture one that opens anywhere. It is called once, when the modules
// are known and before Close.
func (c *Writer) Embed(sym capture.Embedder) error {
	if err := c.Flush(); err != nil { // the events before their names: a cut costs less
		return err
	}
	c.embed(embedding{sym: sym, modules: c.modules}, c.interned.codes())
	c.queue.wait()
	return c.Err()
}

// EmbedFrom writes, as Embed does, the symbols and source lines that another recording
// keeps of these stacks.
func (c *Writer) EmbedFrom(src capture.Source) {
	c.embed(embedding{src: src, modules: c.modules}, c.interned.codes())
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
	c.queue.add(c.out.close)
	c.queue.wait()
	return c.Err()
}
