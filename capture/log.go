package capture

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"sync"

	"hdb/internal/addr"
)

// A Log is a recording in memory. One goroutine may add to it while any number
// read it. Events are kept encoded as in a file, in blocks, except for the last
// ones: tens of millions take tens of megabytes.
type Log struct {
	mu        sync.RWMutex // held for short steps only, never while events are yielded
	info      Info
	blocks    []eventBlock // all events but the last ones
	sealed    int          // events in blocks
	tail      []Event      // the last ones; elements are never changed
	seq       uint64       // of the last event
	encoder   eventEncoder // of the writing goroutine
	reader    eventReader
	broken    error // a block could not be decoded
	functions []string
	funcIndex map[string]uint16
	stacks    *stackTable
	modules   []Module
	threads   []Thread
	stops     []StopRecord
	losses    []Loss
}

var _ Source = (*Log)(nil)

// An eventBlock is the payload of a chunk of events.
type eventBlock struct {
	head    eventHead
	payload []byte
}

// NewLog starts a recording. It fills in info.Version and counts info.Totals.
func NewLog(info Info) *Log {
	info.Totals = Totals{}
	return &Log{info: info.normal(), funcIndex: map[string]uint16{}, stacks: newStackTable()}
}

// AddEvent appends an event and returns its number: e.Seq if that is above the
// last event's, else the next one. The time is cut to whole units of
// Resolution.
func (l *Log) AddEvent(e Event) uint64 {
	e = e.normal(l.seq)
	l.mu.Lock()
	l.seq = e.Seq
	l.tail = append(l.tail, e)
	l.info.Totals.add(&e)
	l.mu.Unlock()
	if len(l.tail) == eventsPerChunk {
		l.seal()
	}
	return e.Seq
}

// seal makes a block of the tail. Only the writing goroutine changes the tail,
// so that readers need not wait while it encodes.
func (l *Log) seal() {
	block := eventBlock{headOf(l.tail), l.encoder.encode(nil, l.tail, nil)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks = append(l.blocks, block)
	l.sealed += len(l.tail)
	l.tail = make([]Event, 0, eventsPerChunk) // readers may hold the old one
}

// Intern is the ID of a stack; equal stacks have one ID.
func (l *Log) Intern(s Stack) StackID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := l.stacks.intern(s.clamp())
	return id
}

// FuncIndex is the index of an allocator function's name in Functions, which
// it is added to if new. Names beyond the 65,536th share the last index.
func (l *Log) FuncIndex(name string) uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.funcIndex[name]; ok {
		return i
	}
	if len(l.functions) > math.MaxUint16 {
		return math.MaxUint16
	}
	i := uint16(len(l.functions))
	l.functions = append(l.functions, name)
	l.funcIndex[name] = i
	return i
}

// AddModule appends a module and returns its index in Modules.
func (l *Log) AddModule(m Module) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.modules = append(l.modules, m)
	return len(l.modules) - 1
}

// EndModule notes that module i was unmapped before event to.
func (l *Log) EndModule(i int, to uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.modules = slices.Clone(l.modules) // readers may hold the old slice
	l.modules[i].To = to
}

// AddThread adds a thread, or replaces the one with the same Num: a thread
// renames itself, and its number tells it from a later one with its TID.
func (l *Log) AddThread(t Thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.threads {
		if l.threads[i].Num == t.Num {
			l.threads = slices.Clone(l.threads)
			l.threads[i] = t
			return
		}
	}
	l.threads = append(l.threads, t)
}

// AddStop appends the record of a stop. Its time is cut as an event's is.
func (l *Log) AddStop(s StopRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Time = s.Time.Truncate(Resolution)
	l.stops = append(l.stops, s)
}

// AddLoss notes that calls are missing.
func (l *Log) AddLoss(loss Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses = addLoss(l.losses, loss.clamp())
	l.info.Totals.Lost += loss.Count
}

// SetInfo replaces what is known about the session, except the Version and the
// Totals.
func (l *Log) SetInfo(info Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info.Totals = l.info.Totals
	l.info = info.normal()
}

// Info describes the session; its Totals are those of this moment.
func (l *Log) Info() Info {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.info
}

// Len is the number of events so far.
func (l *Log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sealed + len(l.tail)
}

// Events yields the events from #from to the last at the time of the call.
func (l *Log) Events(from uint64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		l.mu.RLock()
		blocks, tail := l.blocks, l.tail
		l.mu.RUnlock()
		load := func(i int) ([]byte, error) { return blocks[i].payload, nil }
		first := sort.Search(len(blocks), func(i int) bool { return blocks[i].head.last >= from })
		if !l.reader.each(first, len(blocks), from, load, l.fail, yield) {
			return
		}
		for _, e := range tail[searchEvents(tail, from):] {
			if !yield(e) {
				return
			}
		}
	}
}

// fail keeps what would be an error of this package: that it cannot decode what
// it encoded.
func (l *Log) fail(block int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = fmt.Errorf("log: block %d: %w", block, err)
}

// Event finds the event #seq.
func (l *Log) Event(seq uint64) (Event, bool) {
	for e := range l.Events(seq) {
		return e, e.Seq == seq
	}
	return Event{}, false
}

// searchEvents is the index of the first event with Seq >= seq.
func searchEvents(events []Event, seq uint64) int {
	i, _ := slices.BinarySearchFunc(events, seq, func(e Event, seq uint64) int {
		switch {
		case e.Seq < seq:
			return -1
		case e.Seq > seq:
			return 1
		}
		return 0
	})
	return i
}

// Functions are the allocator functions seen so far.
func (l *Log) Functions() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clip(l.functions)
}

// Stack is the stack interned as id.
func (l *Log) Stack(id StackID) Stack {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if id == 0 || int(id) > len(l.stacks.stacks) {
		return noStack(id)
	}
	return l.stacks.stack(id)
}

// noStack stands for a stack that is not there.
func noStack(id StackID) Stack {
	if id == 0 {
		return Stack{Truncated: "no stack was recorded"}
	}
	return Stack{Truncated: fmt.Sprintf("stack %d is not in the capture", id)}
}

// Stacks is the number of stacks interned so far.
func (l *Log) Stacks() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.stacks.stacks)
}

// Modules are all modules that are or were mapped.
func (l *Log) Modules() []Module {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clip(l.modules)
}

// Threads are all threads that are or were running.
func (l *Log) Threads() []Thread {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clip(l.threads)
}

// Stops are the stops so far, in order.
func (l *Log) Stops() []StopRecord {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clip(l.stops)
}

// Losses are the places where calls are missing, in order.
func (l *Log) Losses() []Loss {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.losses)
}

// Symbol is false: a live session asks the modules themselves.
func (l *Log) Symbol(addr.Run, bool, uint64) ([]Frame, bool) { return nil, false }

// SourceLines is nil: a live session reads the files themselves.
func (l *Log) SourceLines(string) []Excerpt { return nil }

// SourceFiles is nil, as SourceLines.
func (l *Log) SourceFiles() []string { return nil }

// Damage is nil: memory loses nothing.
func (l *Log) Damage() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.broken
}
