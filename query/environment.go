package query

import (
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/recording"
)

// environment answers a condition about recorded events, one after the other.
type environment struct {
	r    *Recording
	e    *recording.Event
	step *heap.Step
	live bool // the blocks of the events are live
	Predicates

	// The answers of stacks hold until other modules are mapped. Naming the frames of
	// every event would take thousands of times as long.
	answers  map[stackQuestion]bool
	changes  []uint64 // numbers of the first events with other modules, ascending
	from, to uint64   // the answers are for the events [from, to)
}

// stackQuestion is a question to a stack.
type stackQuestion struct {
	stack capture.StackID
	recording.Question
}

func (r *Recording) newEnvironment() *environment {
	v := &environment{r: r, Predicates: Predicates{Attribution: r.Attribution}, answers: map[stackQuestion]bool{}}
	for _, m := range r.Source.Modules() {
		v.changes = append(v.changes, m.From, m.To)
	}
	slices.Sort(v.changes)
	v.Find = func() []names.Frame { return r.Stack(v.e).Frames }
	return v
}

// at moves to an event. step may be nil if the condition does not use live or blocks.
func (v *environment) at(e *recording.Event, step *heap.Step) *environment {
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

// Func reports whether a function of that name is on the stack.
func (v *environment) Func(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Func, Name: name}, v.Predicates.Func)
}

// Module reports whether a frame of that module is on the stack.
func (v *environment) Module(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Module, Name: name}, v.Predicates.Module)
}

// Caller reports whether the block belongs to a function of that name.
func (v *environment) Caller(name string) bool {
	return v.ask(recording.Question{Predicate: cond.Caller, Name: name}, v.Predicates.Caller)
}

// PyFile reports whether a function of Python in such a file is on the stack.
func (v *environment) PyFile(pattern string) bool {
	return v.ask(recording.Question{Predicate: cond.PyFile, Name: pattern}, v.Predicates.PyFile)
}

// Like reports whether the stack equals an event's in a capture.
func (v *environment) Like(event string) bool {
	return v.ask(recording.Question{Predicate: cond.Like, Name: event}, func(event string) bool {
		return v.r.Likenesses.Same(event, v.Stack(), func(f names.Frame) Origin { return recordedOrigin(v.r.Source, f.Code, v.e.Seq) })
	})
}

// ask is a predicate of the event's stack, evaluated once for each stack.
func (v *environment) ask(a recording.Question, predicate func(string) bool) bool {
	key := stackQuestion{v.e.Stack, a}
	yes, known := v.answers[key]
	if !known {
		yes = predicate(a.Name)
		v.answers[key] = yes
	}
	return yes
}

// Number is the value of a field.
func (v *environment) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Size:
		return v.e.Size, v.e.SizeKnown()
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
	case cond.Goroutine:
		return v.e.Goroutine(v.e.Function)
	case cond.Align, cond.Count:
		return v.e.Aux, v.hasAux(f)
	}
	return 0, false
}

// hasAux reports whether the event's second number is this field: an alignment or a count.
func (v *environment) hasAux(f cond.Field) bool {
	fn, ok := v.r.Function(v.e.Function)
	if ok && fn.Group != breakpoints.GroupUser {
		fn, ok = breakpoints.Recalled(v.e.Function, v.e.Aux)
	}
	if f == cond.Count {
		return ok && fn.CountKnown(v.e.Aux)
	}
	return ok && fn.Align.From != breakpoints.Nowhere
}

func (v *environment) thread() (capture.Thread, bool) {
	ts := v.r.Source.Threads()
	i := slices.IndexFunc(ts, func(t capture.Thread) bool { return t.TID == v.e.TID })
	if i < 0 {
		return capture.Thread{}, false
	}
	return ts[i], true
}

// Kind reports whether the event's function has that name.
func (v *environment) Kind(name string) bool {
	if fn, ok := v.r.Function(v.e.Function); ok {
		return fn.OfKind(name)
	}
	return cond.Match(name, v.e.Function) || name == v.e.Kind.String() // a function that the recording's user named
}

// ThreadName is the thread's name as last seen.
func (v *environment) ThreadName() string {
	t, _ := v.thread()
	return t.Name
}
