package capture

import (
	"fmt"
	"io"
	"math"
)

// eventsPerChunk are collected before a chunk is written. More would compress a
// little better, but a reader decodes a chunk to find one event.
const eventsPerChunk = 1 << 16

// A Recorder is what a recording is made with: a *Log in memory or a *Writer to
// a file. Its methods belong to one goroutine.
type Recorder interface {
	AddEvent(Event) (seq uint64)
	Intern(Stack) StackID
	FuncIndex(name string) uint16
	AddModule(Module) (index int)
	EndModule(index int, to uint64)
	AddThread(Thread)
	AddStop(StopRecord)
	AddLoss(Loss)
	SetInfo(Info)
}

var (
	_ Recorder = (*Log)(nil)
	_ Recorder = (*Writer)(nil)
)

// A Writer appends a recording to a file. What it was given can be read from
// the file after Flush, also when nothing more is ever written. It keeps at
// most one chunk of events and the interned stacks in memory. It belongs to one
// goroutine.
//
// The first error of the underlying writer is kept: nothing is written after
// it, and Err, Flush and Close return it.
type Writer struct {
	w      io.Writer
	err    error
	offset int64
	index  []chunkRef

	info      Info
	infoStale bool // info has changed since it was written
	packer    packer
	events    []Event
	encoder   eventEncoder
	seq       uint64 // of the last event

	stacks    stackEncoder
	interned  *stackTable
	functions map[string]uint16
	modules   []Module
	losses    lossWriter

	pending [chunkLosses + 1]recordWriter // by kind of chunk
}

// NewWriter begins a capture on w, usually an empty file. It writes nothing but
// whole chunks, each with one call of w.Write.
func NewWriter(w io.Writer, info Info) (*Writer, error) {
	c := &Writer{w: w, interned: newStackTable(), functions: map[string]uint16{}}
	info.Totals = Totals{}
	c.info = info.normal()
	c.infoStale = true
	c.stacks.start(1)
	c.write(appendFileHeader(nil))
	return c, c.Flush()
}

// Err is the first error of writing, or nil.
func (c *Writer) Err() error { return c.err }

func (c *Writer) write(b []byte) {
	if c.err != nil {
		return
	}
	if _, err := c.w.Write(b); err != nil {
		c.err = fmt.Errorf("write capture: %w", err)
		return
	}
	c.offset += int64(len(b))
}

// chunk writes a chunk, and ref completed with where it lies to the index.
func (c *Writer) chunk(ref chunkRef, payload []byte) {
	if c.err == nil && len(payload) > maxChunk {
		c.err = fmt.Errorf("write capture: a chunk of %v would have %d bytes", ref.kind, len(payload))
	}
	ref.offset = c.offset
	h := chunkHeader{number: uint32(len(c.index)), kind: ref.kind, length: uint32(len(payload)), crc: checksum(payload)}
	c.write(append(h.append(make([]byte, 0, chunkHeaderSize+len(payload))), payload...))
	c.index = append(c.index, ref)
}

// AddEvent appends an event and returns its number, as Log.AddEvent does.
func (c *Writer) AddEvent(e Event) uint64 {
	e = e.normal(c.seq)
	c.seq = e.Seq
	c.info.Totals.add(&e)
	c.infoStale = true
	c.events = append(c.events, e)
	if len(c.events) == eventsPerChunk {
		c.flushTables()
		c.flushEvents()
	}
	return e.Seq
}

// Intern is the ID of a stack; equal stacks have one ID.
func (c *Writer) Intern(s Stack) StackID {
	s = s.clamp()
	id, added := c.interned.intern(s)
	if added {
		c.addStack(s)
	}
	return id
}

// addStack writes the stack with the next ID.
func (c *Writer) addStack(s Stack) {
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
	case len(c.functions) > math.MaxUint16:
		i = math.MaxUint16
	default:
		i = uint16(len(c.functions))
		c.functions[name] = i
		c.records(chunkFunctions).function(int(i), name)
	}
	return i
}

// records is where records of the kind are collected.
func (c *Writer) records(kind chunkKind) *recordWriter {
	if w := &c.pending[kind]; w.full() {
		c.flushRecords(kind)
	}
	return &c.pending[kind]
}

// AddModule appends a module and returns its index in Modules.
func (c *Writer) AddModule(m Module) int {
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

// AddThread adds a thread, or replaces the one with the same Num.
func (c *Writer) AddThread(t Thread) { c.records(chunkThreads).thread(t) }

// AddStop appends the record of a stop.
func (c *Writer) AddStop(s StopRecord) { c.records(chunkStops).stop(s) }

// AddLoss notes that calls are missing.
func (c *Writer) AddLoss(l Loss) {
	c.info.Totals.Lost += l.Count
	c.infoStale = true
	c.losses.add(l.clamp(), c.records)
}

// SetInfo replaces what is known about the session, except the Totals.
func (c *Writer) SetInfo(info Info) {
	info.Totals = c.info.Totals
	c.info = info.normal()
	c.infoStale = true
}

// Flush writes everything so far, so that a reader of the file finds it. Chunks
// are the larger and better compressed the less often it is called: once a
// second does no harm.
func (c *Writer) Flush() error {
	c.flushTables()
	if len(c.events) > 0 {
		c.flushEvents()
	}
	c.flushRecords(chunkStops)
	c.losses.flush(c.records)
	c.flushRecords(chunkLosses)
	if c.infoStale {
		c.infoStale = false
		c.records(chunkInfo).info(c.info)
		c.flushRecords(chunkInfo)
	}
	return c.err
}

// flushTables writes what events refer to: it must be in the file before them.
func (c *Writer) flushTables() {
	c.flushRecords(chunkFunctions)
	c.flushRecords(chunkThreads)
	c.flushRecords(chunkModules)
	if c.stacks.count > 0 {
		c.flushStacks()
	}
}

func (c *Writer) flushRecords(kind chunkKind) {
	if w := &c.pending[kind]; len(w.records) > 0 {
		c.chunk(chunkRef{kind: kind}, w.payload(&c.packer))
	}
}

func (c *Writer) flushStacks() {
	first, count := c.stacks.first, c.stacks.count
	c.chunk(chunkRef{kind: chunkStacks, first: uint64(first), count: count}, c.stacks.payload(&c.packer))
	c.stacks.start(first + StackID(count))
}

func (c *Writer) flushEvents() {
	head := headOf(c.events)
	c.chunk(head.ref(), c.encoder.encode(nil, c.events))
	c.events = c.events[:0]
}

// Close flushes and writes the index, which makes the capture complete. It does
// not close the underlying writer.
func (c *Writer) Close() error {
	if err := c.Flush(); err != nil {
		return err
	}
	c.chunk(chunkRef{kind: chunkIndex}, indexPayload(&c.packer, c.index))
	return c.err
}
