package report

import (
	"iter"
	"strconv"
	"time"

	"hdb/capture"
)

// A Recording is what was recorded, event by event, for the formats that keep all
// of it. It is read as it is written: memory does not grow with the events, only
// with the distinct frames.
type Recording struct {
	Caveats
	Info      capture.Info
	Functions []string // what capture.Event.Func counts through
	Modules   []capture.Module
	Threads   []capture.Thread
	Execs     []uint64 // the first events of programs that the process executed in place of another one, ascending
	Marks     []Mark
	RSS       []Sample
	To        uint64 // the last event that counts

	// Stacks is the number of stacks; IDs run from 1 to it. Stack resolves one;
	// its frames and those of stacks asked for before are what Frame knows.
	// Frame.Module counts through Modules.
	Stacks int
	Stack  func(capture.StackID) Stack
	Frame  func(i int) Frame

	Events iter.Seq[Event] // in order, up to To
	Damage func() error    // what could not be read, known after Events
	Cut    func() error    // why Events ended early, nil if they did not; known after them
}

// An Event of a Recording.
type Event struct {
	capture.Event
	EndedSeq uint64 // the event that made the block that this one ended, 0 if it ended none or that is not recorded
}

// runs tells which of the programs that a process executed one after the other an
// event is of: blocks of one do not live on in the next.
type runs struct {
	execs []uint64
	now   int32
}

// of is the number of the run that the event belongs to, counted from 0. Events are
// asked about in order.
func (r *runs) of(seq uint64) int32 {
	for int(r.now) < len(r.execs) && r.execs[r.now] <= seq {
		r.now++
	}
	return r.now
}

// key names the recording among those of a fleet: host, process and start, in
// microseconds.
func (r *Recording) key() string {
	return r.Info.Host + "/" + strconv.Itoa(r.Info.PID) + "/" + r.Info.Start.UTC().Format(keyTime)
}

// keyTime is ISO 8601's basic form, which fits into names of files.
const keyTime = "20060102T150405.000000Z"

// threadNames are the last names of threads by their TID. The kernel reuses TIDs;
// the later thread counts.
func (r *Recording) threadNames() map[int32]string {
	names := map[int32]string{}
	for _, t := range r.Threads {
		names[t.TID] = utf8Text(t.Name)
	}
	return names
}

// function is the name of the allocator function of an event.
func (r *Recording) function(e *Event) string {
	if int(e.Func) < len(r.Functions) {
		return r.Functions[e.Func]
	}
	return ""
}

// at is the time of an event by the clock.
func (r *Recording) at(since time.Duration) time.Time { return r.Info.Start.Add(since).UTC() }
