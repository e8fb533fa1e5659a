package session

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/recording"
	"hdb/symbols"
)

// withName gives an event its function's name.
func withName(src capture.Source, e capture.Event) *Event {
	fns := src.Functions()
	name := ""
	if int(e.Func) < len(fns) {
		name = fns[e.Func]
	}
	return &Event{Event: e, Function: name}
}

// EventAt is the recorded event of that number.
func (s *Session) EventAt(seq uint64) (*Event, bool) {
	src := s.source()
	if src == nil {
		return nil, false
	}
	e, ok := src.Event(seq)
	if !ok {
		return nil, false
	}
	return withName(src, e), true
}

// EventStack is the recorded stack of the event of that number.
func (s *Session) EventStack(seq uint64) (*Event, Stack, error) {
	e, ok := s.EventAt(seq)
	if !ok {
		return nil, Stack{}, s.noEvent(seq)
	}
	if e.Stack == 0 {
		return e, Stack{}, ErrNoStack
	}
	return e, s.StackOf(e), nil
}

// StackOf is the stack of a recorded event, without frames if it has none.
func (s *Session) StackOf(e *Event) Stack {
	if e.Stack == 0 {
		return Stack{}
	}
	return s.names.RecordedStack(s.source(), e.Stack, e.Seq)
}

// Recorded are the recorded events that match the condition, oldest first.
func (s *Session) Recorded(c *cond.Cond) (iter.Seq[*Event], error) {
	src, x, err := s.recordedEvents()
	if err != nil {
		return nil, err
	}
	return func(yield func(*Event) bool) {
		env := newRecordedEnv(s, src)
		for step := range x.Steps(0) {
			if step.Seq > s.moment() {
				return
			}
			e := withName(src, step.Event)
			if c != nil && !c.Eval(env.at(e, step)) {
				continue
			}
			if !yield(e) {
				return
			}
		}
	}, nil
}

// someSource is source, or an error that tells what to do when it has no events.
func (s *Session) someSource() (capture.Source, error) {
	src := s.source()
	switch {
	case src != nil && src.Len() > 0:
		return src, nil
	case src == nil && s.unreadable != nil:
		return nil, fmt.Errorf("the recording cannot be read: %w", s.unreadable)
	case src != nil && hasGo(src):
		return nil, goError(src)
	case src != nil && src.Info().Aggregate && (s.saved != nil || src.Info().Totals.Events > 0):
		return nil, errSums
	case s.saved != nil && s.saved.Damage() != nil:
		return nil, s.saved.Damage()
	case s.saved != nil:
		return nil, errors.New("no event was recorded: the capture has none")
	case s.rec.On() && s.proc == nil:
		return nil, errors.New("no event was recorded yet: use run, start or attach")
	case s.rec.On() && s.rec.Filter() != nil:
		return nil, fmt.Errorf("no event was recorded yet that has %s: continue, or change the record filter", s.rec.Filter())
	case s.rec.On():
		return nil, errors.New("no event was recorded yet: continue, and stop later")
	}
	return nil, errors.New("nothing was recorded: use record start, or open a capture")
}

// recordedEnv is what a condition sees of recorded events, one after the other.
type recordedEnv struct {
	s    *Session
	src  capture.Source
	e    *Event
	step *heap.Step
	callers

	// What stacks have answered, until other modules are mapped: to name the
	// frames of each event's takes thousands of times as long.
	answers  map[recordedAsk]bool
	changes  []uint64 // ascending numbers of the events from which on they are
	from, to uint64   // of the events between two of them that the answers are for
}

// recordedAsk is a question to a stack.
type recordedAsk struct {
	stack capture.StackID
	recording.Question
}

func newRecordedEnv(s *Session, src capture.Source) *recordedEnv {
	v := &recordedEnv{s: s, src: src, callers: callers{owner: s.UserFrame}, answers: map[recordedAsk]bool{}}
	for _, m := range src.Modules() {
		v.changes = append(v.changes, m.From, m.To)
	}
	slices.Sort(v.changes)
	v.find = func() []Frame {
		if v.e.Stack == 0 {
			return nil
		}
		return s.names.RecordedStack(src, v.e.Stack, v.e.Seq).Frames
	}
	return v
}

// at moves to an event, which the step is of.
func (v *recordedEnv) at(e *Event, step *heap.Step) *recordedEnv {
	v.e, v.step = e, step
	v.found, v.frames = false, nil
	if e.Seq < v.from || e.Seq >= v.to {
		i, _ := slices.BinarySearch(v.changes, e.Seq+1)
		v.from, v.to = 0, heap.End
		if i > 0 {
			v.from = v.changes[i-1]
		}
		if i < len(v.changes) {
			v.to = v.changes[i]
		}
		clear(v.answers)
	}
	return v
}

// Func tells whether a function of that name is on the stack.
func (v *recordedEnv) Func(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Func, Name: name}, v.callers.Func)
}

// Module tells whether a frame of that module is on the stack.
func (v *recordedEnv) Module(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Module, Name: name}, v.callers.Module)
}

// Caller tells whether the block belongs to a function of that name.
func (v *recordedEnv) Caller(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Caller, Name: name}, v.callers.Caller)
}

// Like tells whether the stack is that of the event in a capture.
func (v *recordedEnv) Like(event string) bool {
	return v.ask(recording.Question{Predicate: cond.Like, Name: event}, func(event string) bool {
		return v.s.like(event, v.stack(), func(f Frame) (codeOrigin, bool) { return recordedOrigin(v.src, f.Code, v.e.Seq) })
	})
}

// ask remembers what a stack answered.
func (v *recordedEnv) ask(a recording.Question, predicate func(string) bool) bool {
	key := recordedAsk{v.e.Stack, a}
	yes, known := v.answers[key]
	if !known {
		yes = predicate(a.Name)
		v.answers[key] = yes
	}
	return yes
}

// Number is the value of a field.
func (v *recordedEnv) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Size:
		return v.e.Size, recording.HasSize(&v.e.Event)
	case cond.Addr:
		return v.e.Addr, true
	case cond.Old:
		return v.e.Old, v.e.Kind == capture.Realloc
	case cond.Nth:
		return v.e.Seq, true
	case cond.Live:
		return v.step.Live, true
	case cond.Blocks:
		return v.step.Blocks, true
	case cond.Thread:
		t, ok := v.thread()
		return uint64(t.Num), ok
	case cond.Align, cond.Count:
		return v.e.Aux, v.hasAux(f)
	}
	return 0, false
}

// hasAux tells whether the number that an event has beside its size is this field.
func (v *recordedEnv) hasAux(f cond.Field) bool {
	fn, ok := v.s.function(v.e.Function)
	if ok && fn.Group != breakpoints.GroupUser {
		fn, ok = breakpoints.Recalled(v.e.Function, v.e.Aux)
	}
	o := fn.Align
	if f == cond.Count {
		o = fn.Count
	}
	return ok && o.From != breakpoints.Nowhere
}

func (v *recordedEnv) thread() (capture.Thread, bool) {
	ts := v.src.Threads()
	i := slices.IndexFunc(ts, func(t capture.Thread) bool { return t.TID == v.e.TID })
	if i < 0 {
		return capture.Thread{}, false
	}
	return ts[i], true
}

// Kind tells whether the event's function has that name.
func (v *recordedEnv) Kind(name string) bool {
	if fn, ok := v.s.function(v.e.Function); ok {
		return fn.OfKind(name)
	}
	return cond.Match(name, v.e.Function) || name == v.e.Kind.String() // a function that the recording's user named
}

// ThreadName is the thread's name as last seen.
func (v *recordedEnv) ThreadName() string {
	t, _ := v.thread()
	return t.Name
}

// Index is what answers questions about the heap of what is recorded: of this
// run, of the last one, or of the capture.
func (s *Session) Index() (*heap.Index, error) {
	if _, err := s.summed(); err != nil {
		return nil, err
	}
	if of := s.wholeSource(); s.indexed.of != of {
		x, err := heap.ReadIndex(s.reading, of)
		if err != nil {
			return nil, err
		}
		s.indexed.of, s.indexed.index = of, x
	} else if err := s.indexed.index.Update(); err != nil {
		return nil, err
	}
	return s.indexed.index.For(s.reading), nil
}

// recordedSums is what is recorded, with its index.
func (s *Session) recordedSums() (capture.Source, *heap.Index, error) {
	src, err := s.summed()
	if err != nil {
		return nil, nil, err
	}
	x, err := s.Index()
	return src, x, err
}

// recordedEvents is recordedSums, or an error that tells what to do when there are
// no events.
func (s *Session) recordedEvents() (capture.Source, *heap.Index, error) {
	src, err := s.someSource()
	if err != nil {
		return nil, nil, err
	}
	x, err := s.Index()
	return src, x, err
}

// site names the place in the user's code that a stack belongs to.
func (s *Session) site(src capture.Source, id capture.StackID, seq uint64) heap.Site {
	st := s.names.RecordedStack(src, id, seq)
	if len(st.Frames) == 0 {
		return heap.Site{Function: noStack}
	}
	return siteOf(&st.Frames[s.UserFrame(st.Frames)])
}

// noStack names the site of a stack without frames.
const noStack = "(no stack)"

// siteOf is the place that a frame stands for.
func siteOf(f *Frame) heap.Site {
	site := heap.Site{Function: f.Name(), Linkage: f.Linkage, File: f.File, Line: f.Line, Module: f.Module}
	site.Sure = f.Source == symbols.FromDWARF
	return site
}
