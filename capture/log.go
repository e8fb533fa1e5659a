package capture

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"hdb/internal/addr"
)

// A Log is a recording in memory. One goroutine may add to it while any number
// read it.
type Log struct {
	mu        sync.RWMutex // held for short steps only, never while events are yielded
	info      Info
	events    []Event
	functions []string
	funcIndex map[string]uint16
	stacks    *stackTable
	modules   []Module
	threads   []Thread
	stops     []StopRecord
}

var _ Source = (*Log)(nil)

// NewLog starts a recording. It fills in info.Version and counts info.Totals.
func NewLog(info Info) *Log {
	info.Version = formatVersion
	info.Totals = Totals{}
	return &Log{info: info, funcIndex: map[string]uint16{}, stacks: newStackTable()}
}

const formatVersion = "1.0"

// AddEvent appends an event and returns its number: e.Seq, or the next one if
// e.Seq is 0. Numbers must ascend but may have gaps. The time is cut to whole
// units of Resolution.
func (l *Log) AddEvent(e Event) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = e.Time.Truncate(Resolution)
	if e.Seq == 0 {
		e.Seq = l.lastSeq() + 1
	}
	l.events = append(l.events, e)
	l.info.Totals.add(&e)
	return e.Seq
}

func (l *Log) lastSeq() uint64 {
	if n := len(l.events); n > 0 {
		return l.events[n-1].Seq
	}
	return 0
}

// Intern is the ID of a stack; equal stacks have one ID.
func (l *Log) Intern(s Stack) StackID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := l.stacks.intern(s)
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

// SetInfo replaces what is known about the session, except the Version and the
// Totals.
func (l *Log) SetInfo(info Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info.Version, info.Totals = l.info.Version, l.info.Totals
	l.info = info
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
	return len(l.events)
}

// Events yields the events from #from to the last at the time of the call.
func (l *Log) Events(from uint64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		l.mu.RLock()
		events := l.events
		l.mu.RUnlock()
		for _, e := range events[searchEvents(events, from):] {
			if !yield(e) {
				return
			}
		}
	}
}

// Event finds the event #seq.
func (l *Log) Event(seq uint64) (Event, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if i := searchEvents(l.events, seq); i < len(l.events) && l.events[i].Seq == seq {
		return l.events[i], true
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

// Symbol is false: a live session asks the modules themselves.
func (l *Log) Symbol(addr.Run, bool, uint64) ([]Frame, bool) { return nil, false }

// SourceLines is nil: a live session reads the files themselves.
func (l *Log) SourceLines(string) []Excerpt { return nil }

// SourceFiles is nil, as SourceLines.
func (l *Log) SourceFiles() []string { return nil }

// Damage is nil: memory loses nothing.
func (l *Log) Damage() error { return nil }
