package capture

import (
	"iter"

	"hdb/internal/addr"
)

// A Source is a recording: one that is being made (*Log) or one that was saved
// (*File). Its methods may be called from any goroutine. What it returns is the
// caller's to keep, but slices may be shared: do not write to them.
type Source interface {
	Info() Info

	// Len is the number of events that can be read.
	Len() int
	// Events yields the events with Seq >= from in ascending order, up to the
	// last one recorded when the iteration began.
	Events(from uint64) iter.Seq[Event]
	// Event finds the event #seq.
	Event(seq uint64) (Event, bool)
	// Summaries yields what runs of consecutive events did, ascending, from the
	// one that holds event #from on. An error ends them: the recording has none,
	// or is damaged.
	Summaries(from uint64) iter.Seq2[*Summary, error]
	// Checkpoint is the heap at the last moment up to event #seq at which the
	// recording kept it, nil if there is none.
	Checkpoint(seq uint64) *Checkpoint
	// Functions are the allocator functions that Event.Func counts through.
	Functions() []string

	// Stack is the stack with that ID. An unknown or lost one has no frames and
	// says why in Truncated.
	Stack(StackID) Stack
	// Stacks is the number of stacks: IDs run from 1 to it.
	Stacks() int

	Modules() []Module
	Threads() []Thread
	Stops() []StopRecord
	Marks() []MarkRecord
	// Execs are the numbers of the first events after each replacement of the program (exec),
	// ascending, whether or not there is such an event. No block from before lives on.
	Execs() []uint64
	// Samples are the resident memory over time, ascending.
	Samples() []SampleRecord
	// Console is what was typed and printed while the recording was made, in order.
	Console() []ConsoleLine
	// Losses are the places where calls are missing, in order.
	Losses() []Loss

	// Symbol is the kept function chain of a code address at the time of event
	// seq, innermost first. It is false when none is kept: a Log has those only that no
	// file has, see Recorder.Keep.
	Symbol(pc addr.Run, isReturn bool, seq uint64) ([]Frame, bool)
	// GoType is the kept type that an allocation has by code at an address, at the time of event
	// seq. It is false when none is kept, as of a Log.
	GoType(code addr.Code, seq uint64, of GoAux) (GoType, bool)
	// SourceLines are the kept lines of a source file, ascending and disjoint.
	SourceLines(file string) []Excerpt
	// SourceFiles names the files that SourceLines knows.
	SourceFiles() []string

	// Damage is nil, or a *DamageError: what is missing and what was read.
	Damage() error
}

// An Embedder resolves what Save keeps in the file, so that the capture opens
// where neither the program nor its source exists.
type Embedder interface {
	// Resolve is the function chain of a code address at the time of event
	// seq, innermost first; nil when unknown.
	Resolve(pc addr.Run, isReturn bool, seq uint64) []Frame
	// GoType is the type that an allocation has by code at an address, at the time of event seq.
	GoType(code addr.Code, seq uint64, of GoAux) (GoType, bool)
	// SourceLine is the text of a whole source file, by lines without their
	// ends.
	SourceLine(file string) ([]string, bool)
}
