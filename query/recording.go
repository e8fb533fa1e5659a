package query

import (
	"errors"
	"iter"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/recording"
	"hdb/symbols"
)

// ErrSums is of questions about events to a recording without any.
var ErrSums = errors.New("this recording has per-stack totals only (record --aggregate): use top, leaks, diff and reports")

// Names finds the names of recorded code. A names.Resolver does.
type Names interface {
	// RecordedStack is a stack as it was at event seq.
	RecordedStack(src capture.Source, id capture.StackID, seq uint64) names.Stack
	// ShownParts tells which frames of a stack are shown, nil: all.
	ShownParts([]names.Part) []bool
	// AppendRecorded appends the frames that address i of a recorded stack represents.
	AppendRecorded(frames []names.Frame, src capture.Source, rec *capture.Stack, i int, seq uint64) []names.Frame
}

// A Recording is events that questions are asked about: of a process so far, or of a
// capture.
type Recording struct {
	Source      capture.Source
	Index       *heap.Index // of Source
	Names       Names
	Attribution *Attribution
	Likenesses  *Likenesses
	Reading     *capture.Reading // of the command that asks; nil: to the end
	Types       *BlockTypes      // of its blocks; nil: none is known
	Moment      uint64           // the answers are as of after this event; heap.End: as of now
	Now         Now              // the heap of now, if it is followed and Moment is heap.End; else nil

	// Function is the allocator function that an event names.
	Function func(name string) (breakpoints.Function, bool)
}

// Now is a heap that is followed.
type Now interface {
	// RecordedNear are the recorded live blocks around an address.
	RecordedNear(addr uint64) heap.Near
}

// withName gives an event its function's name.
func withName(src capture.Source, e capture.Event) *recording.Event {
	fns := src.Functions()
	name := ""
	if int(e.Func) < len(fns) {
		name = fns[e.Func]
	}
	return &recording.Event{Event: e, Function: name}
}

// EventAt is the recorded event of that number.
func EventAt(src capture.Source, seq uint64) (*recording.Event, bool) {
	e, ok := src.Event(seq)
	if !ok {
		return nil, false
	}
	return withName(src, e), true
}

// Stack is the stack of a recorded event, without frames if it has none.
func (r *Recording) Stack(e *recording.Event) names.Stack {
	if e.Stack == 0 {
		return names.Stack{}
	}
	return r.Names.RecordedStack(r.Source, e.Stack, e.Seq)
}

// Events are the recorded events behind #from and up to the moment that match the condition,
// which may be nil, oldest first.
func (r *Recording) Events(c *cond.Cond, from uint64) iter.Seq[*recording.Event] {
	return func(yield func(*recording.Event) bool) {
		env := r.newEnvironment()
		for step := range r.Index.Steps(0) {
			if step.Seq > r.Moment {
				return
			}
			if step.Seq <= from {
				continue
			}
			e := withName(r.Source, step.Event)
			if c != nil && !c.Eval(env.at(e, step)) {
				continue
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Site is the function and line that the blocks of a stack belong to.
func (r *Recording) Site(id capture.StackID, seq uint64) heap.Site {
	st := r.Names.RecordedStack(r.Source, id, seq)
	if len(st.Frames) == 0 {
		return heap.Site{Function: noStack}
	}
	return siteOf(&st.Frames[r.Attribution.Owner(st.Frames)])
}

// noStack names the site of a stack without frames.
const noStack = "(no stack)"

// siteOf is the place that a frame represents.
func siteOf(f *names.Frame) heap.Site {
	site := heap.Site{Function: f.Name(), Linkage: f.Linkage, File: f.File, Line: f.Line, Module: f.Module}
	site.Sure = f.Source == symbols.FromDWARF
	return site
}
