package file

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"hdb/capture"
	"hdb/capture/intern"
	"hdb/internal/addr"
)

// A Log is a recording in memory. One goroutine may add to it while any number
// read it. Events are kept encoded as in a file, in blocks, except for the last
// ones; blocks that need more than a few megabytes are spilled to a temporary
// file, so that the memory of a recording does not grow with its events.
type Log struct {
	recordTables                 // info.Totals is without the events of the tail
	blocks       []eventBlock    // the first events
	checkpoints  []eventBlock    // their heads tell the last event only
	waiting      []run           // those after them, old tails that wait to become blocks; never changed, but replaced
	sealed       int             // events in blocks and waiting
	tail         []capture.Event // the last ones, and room for more
	fresh        bool            // the program was replaced before the tail
	renumbered   bool            // an event of the tail was given another number than it had
	spill        spill
	broken       error // a block could not be decoded

	// The writing goroutine puts an event in the tail and then counts it, so
	// that readers need no lock to see it. It alone replaces the tail.
	filled atomic.Int64 // events in the tail

	// Readers hold snapshots of waiting and tail. While there are any, the
	// memory of old tails is not used again.
	snapshots atomic.Int64
	spare     []capture.Event // an old tail for the next one

	seq     uint64 // of the last event; the writing goroutine's, as are:
	queue   queue
	encoder eventEncoder       // of the queue's jobs
	builder *checkpointBuilder // of the queue's jobs
	packer  packer             // of the queue's jobs
	buf     []byte             // of the queue's jobs
	reader  eventReader

	funcIndex map[string]uint16
	stacks    *intern.Stacks
	kept      map[addr.Run][]capture.Frame // of return addresses
	types     typeWriter
}

var _ capture.Source = (*Log)(nil)

// NewLog starts a recording. It fills in info.Version and counts info.Totals.
func NewLog(info capture.Info) *Log {
	info.Totals = capture.Totals{}
	l := &Log{
		builder: newCheckpointBuilder(), encoder: eventEncoder{following: true},
		recordTables: recordTables{info: normalInfo(info)}, funcIndex: map[string]uint16{}, stacks: intern.NewStacks(), kept: map[addr.Run][]capture.Frame{},
		spill: spill{create: createStore, keep: keptPayloads},
	}
	l.queue.failed = func(err error) { l.fail(len(l.blocks), err) }
	return l
}

// AddEvent appends an event and returns its number: e.Seq if that is above the
// last event's, else the next one. The time is cut to whole units of
// Resolution.
func (l *Log) AddEvent(e *capture.Event) uint64 {
	n := int(l.filled.Load())
	if n == len(l.tail) {
		n = l.makeRoom()
	}
	kept := &l.tail[n]
	storeEvent(kept, e, l.seq)
	l.seq = kept.Seq
	if renumbered(e, l.seq) {
		l.renumbered = true
	}
	l.filled.Store(int64(n + 1))
	return l.seq
}

// AddEvents appends events, as AddEvent does.
func (l *Log) AddEvents(events []capture.Event) uint64 {
	for i := range events {
		l.AddEvent(&events[i])
	}
	return l.seq
}

// makeRoom makes the tail longer, or begins a new one. It returns how many
// events are in it.
func (l *Log) makeRoom() (n int) {
	old := l.tail
	if len(old) < eventsPerChunk {
		tail := make([]capture.Event, min(max(2*len(old), 512), eventsPerChunk))
		copy(tail, old)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tail = tail
		return len(old)
	}
	l.seal(old)
	return 0
}

// seal has events, which are the tail, become a block.
func (l *Log) seal(events []capture.Event) {
	l.mu.Lock()
	for i := range events {
		l.info.Totals.Add(&events[i], events[i].Time)
	}
	totals := l.info.Totals
	l.waiting = append(slices.Clone(l.waiting), run{events, l.fresh, l.renumbered})
	l.fresh, l.renumbered = false, false
	l.sealed += len(events)
	l.tail, l.spare = l.spare, nil
	if l.tail == nil {
		l.tail = make([]capture.Event, eventsPerChunk)
	}
	l.filled.Store(0)
	l.mu.Unlock()
	l.queue.add(func() { l.encode(totals) })
}

// Replaced notes that the program was replaced (exec): no block lives on.
func (l *Log) Replaced() {
	if n := int(l.filled.Load()); n > 0 {
		l.seal(l.tail[:n])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	l.execs = append(l.execs, l.seq+1)
}

// encode makes a block of the first tail that waits. It is a job of the queue.
func (l *Log) encode(totals capture.Totals) {
	l.mu.RLock()
	first := l.waiting[0]
	l.mu.RUnlock()
	events := first.events
	block := eventBlock{head: headOf(events), totals: totals}
	if first.fresh {
		l.encoder.sum.replaced()
	}
	l.buf = l.encoder.encode(l.buf[:0], &l.packer, events, nil)
	l.encoder.chunkEffects.renumbered = l.encoder.chunkEffects.renumbered || first.renumbered
	block.after = l.encoder.sum.state
	l.mu.Lock()
	spill := l.spill
	l.mu.Unlock()
	spill.add(&block, l.buf)
	kept := l.checkpoint(&spill)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spill = spill
	l.encoder.notes(func(fn uint16, _ uint64, stack capture.StackID, word uint32) {
		if l.types.makers[fn] {
			l.types.refs.note(stack, word, l.stacks.Stack)
		}
	})
	l.blocks = append(l.blocks, block)
	l.checkpoints = append(l.checkpoints, kept...)
	l.waiting = slices.Clone(l.waiting[1:])
	if l.snapshots.Load() == 0 && len(events) == eventsPerChunk {
		l.spare = events
	}
}

// Keep keeps the function chain of a return address.
func (l *Log) Keep(pc addr.Run, chain []capture.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[pc] = chain
}

// Intern is the ID of a stack; equal stacks of the same modules have one ID.
func (l *Log) Intern(s capture.Stack) capture.StackID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := l.stacks.Intern(clampStack(s))
	return id
}

// Occupy tells which module has the addresses [low, high) from here on. Stacks that lead
// through another one are others, even if their addresses are equal.
func (l *Log) Occupy(low, high addr.Run, module uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stacks.Occupy(low, high, module)
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
	l.types.function(len(l.functions), name)
	l.functions = append(l.functions, name)
	l.funcIndex[name] = i
	return i
}

// AddModule appends a module and returns its index in Modules.
func (l *Log) AddModule(m capture.Module) int {
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

// SetGoTypes keeps how the types of Go are known that module i has.
func (l *Log) SetGoTypes(i int, types capture.GoTypes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.types.set(i, types)
}

// notedTypes are the types that events in blocks have.
func (l *Log) notedTypes() []typeRef {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Collect(maps.Keys(l.types.refs.all))
}

// AddThread adds a thread, or replaces the one with the same Num: a thread
// renames itself, and its number tells it from a later one with its TID.
func (l *Log) AddThread(t capture.Thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.threadAt[t.Num]; known {
		l.threads = slices.Clone(l.threads) // readers may hold the old slice
	}
	l.putThread(t)
}

// AddStop appends the record of a stop. Its time is cut as an event's is.
func (l *Log) AddStop(s capture.StopRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Time = s.Time.Truncate(capture.Resolution)
	l.stops = append(l.stops, s)
}

// AddMark names a moment.
func (l *Log) AddMark(m capture.MarkRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.Time = m.Time.Truncate(capture.Resolution)
	l.marks = append(l.marks, m)
}

// AddSample notes how much memory is resident.
func (l *Log) AddSample(s capture.SampleRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Time = s.Time.Truncate(capture.Resolution)
	l.samples = append(l.samples, s)
}

// SetConsole keeps what the console has typed and printed, instead of what was kept
// before.
func (l *Log) SetConsole(lines []capture.ConsoleLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.console = slices.Clone(lines)
	for i := range l.console {
		l.console[i].Time = l.console[i].Time.Truncate(capture.Resolution)
	}
}

// AddLoss notes that calls are missing.
func (l *Log) AddLoss(loss capture.Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses = addLoss(l.losses, clampLoss(loss))
	l.info.Totals.Lost += loss.Count
}

// SetInfo replaces what is known about the session, except the Version and the
// Totals.
func (l *Log) SetInfo(info capture.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info.Totals = l.info.Totals
	l.info = normalInfo(info)
}

// Info describes the session; its Totals are those of this moment.
func (l *Log) Info() capture.Info {
	l.mu.RLock()
	defer l.mu.RUnlock()
	info := l.info
	for i := range l.tail[:l.filled.Load()] {
		info.Totals.Add(&l.tail[i], l.tail[i].Time)
	}
	return info
}

// Len is the number of events so far.
func (l *Log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sealed + int(l.filled.Load())
}

// Size is the length in bytes of the events that are encoded, in memory and
// spilled: the last ones are not yet.
func (l *Log) Size() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.spill.kept + l.spill.size
}

// A run is consecutive events.
type run struct {
	events     []capture.Event
	fresh      bool // the program was replaced before them
	renumbered bool // one of them was given another number than it had
}

// A snapshot is the events of a Log at a moment.
type snapshot struct {
	blocks []eventBlock
	last   []run // after the blocks
}

// snapshot is the log as it is now. It has to be released.
func (l *Log) snapshot() snapshot {
	l.mu.RLock()
	defer l.mu.RUnlock()
	l.snapshots.Add(1)
	tail := l.tail[:l.filled.Load()]
	return snapshot{l.blocks, append(slices.Clip(l.waiting), run{tail, l.fresh, l.renumbered})}
}

func (l *Log) release(snapshot) { l.snapshots.Add(-1) }

// Events yields the events from #from to the last at the time of the call.
func (l *Log) Events(from uint64) iter.Seq[capture.Event] {
	return func(yield func(capture.Event) bool) {
		s := l.snapshot()
		defer l.release(s)
		load := func(i int) ([]byte, error) { return s.blocks[i].load() }
		first := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].head.last >= from })
		if !l.reader.each(first, len(s.blocks), from, load, l.fail, yield) {
			return
		}
		for _, r := range s.last {
			for _, e := range r.events[searchEvents(r.events, from):] {
				e.Ended.Seq = 0 // as of those that are encoded
				if !yield(e) {
					return
				}
			}
		}
	}
}

// fail keeps what would be an error of this package, or of the disk: that it
// cannot decode what it encoded.
func (l *Log) fail(block int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = fmt.Errorf("log: block %d: %w", block, err)
}

// Event finds the event #seq.
func (l *Log) Event(seq uint64) (capture.Event, bool) {
	for e := range l.Events(seq) {
		return e, e.Seq == seq
	}
	return capture.Event{}, false
}

// searchEvents is the index of the first event with Seq >= seq.
func searchEvents(events []capture.Event, seq uint64) int {
	i, _ := slices.BinarySearchFunc(events, seq, func(e capture.Event, seq uint64) int {
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

// Stack is the stack interned as id.
func (l *Log) Stack(id capture.StackID) capture.Stack {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if id == 0 || int(id) > l.stacks.Len() {
		return capture.MissingStack(id)
	}
	return l.stacks.Stack(id)
}

// Stacks is the number of stacks interned so far.
func (l *Log) Stacks() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stacks.Len()
}

// Symbol is false: a live session asks the modules themselves.
func (l *Log) Symbol(pc addr.Run, isReturn bool, _ uint64) ([]capture.Frame, bool) {
	if !isReturn || !capture.IsInterpreted(pc) {
		return nil, false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	chain, ok := l.kept[pc]
	return chain, ok
}

// GoType is false, as Symbol.
func (l *Log) GoType(addr.Code, uint64, capture.GoAux) (capture.GoType, bool) {
	return capture.GoType{}, false
}

// SourceLines is nil: a live session reads the files themselves.
func (l *Log) SourceLines(string) []capture.Excerpt { return nil }

// SourceFiles is nil, as SourceLines.
func (l *Log) SourceFiles() []string { return nil }

// Damage is nil, or says that events cannot be read back from the disk, or that
// they cannot be kept there and fill the memory.
func (l *Log) Damage() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return cmp.Or(l.broken, l.spill.err)
}
