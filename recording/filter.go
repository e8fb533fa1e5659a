package recording

import (
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

// A Filter decides which events are recorded. What it asks of a stack it
// asks once for each stack, until the modules change.
type Filter struct {
	*cond.Cond
	questions []Question
	answers   []answer // of stack n to question i: at n*len(questions)+i
	env       filterEnv
}

// A Question is a predicate about a stack.
type Question struct {
	Predicate cond.Predicate
	Name      string
}

type answer uint8

const (
	notAsked answer = iota
	saysNo
	saysYes
)

// NewFilter records events for which the condition holds.
func NewFilter(c *cond.Cond) *Filter { return &Filter{Cond: c, questions: Questions(c)} }

// Questions are what a condition asks of stacks, each once.
func Questions(c *cond.Cond) []Question {
	var all []Question
	for n := range cond.Leaves(c.Root()) {
		if call, ok := n.(*cond.Call); ok && call.Predicate.OfStack() {
			if q := (Question{call.Predicate, call.Arg}); !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
	}
	return all
}

// forget drops what was said of stacks: other code is at their addresses.
func (f *Filter) forget() {
	if f != nil {
		f.answers = f.answers[:0]
	}
}

// holds reports whether an event of the probe is to be recorded. Its stack is the probe's.
func (f *Filter) holds(n *run, e *capture.Event, fn *breakpoints.Function) bool {
	f.env = filterEnv{run: n, filter: f, e: e, fn: fn}
	return f.Eval(&f.env)
}

// filterEnv is what a filter sees of an event of the probe.
type filterEnv struct {
	run    *run
	filter *Filter
	e      *capture.Event
	fn     *breakpoints.Function
	frames Frames // of the event's stack, nil before they are asked
}

// Number is the value of a field.
func (v *filterEnv) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Size:
		return v.e.Size, v.e.SizeKnown()
	case cond.Thread:
		t := v.run.threads[v.e.TID]
		if t == nil {
			return 0, false
		}
		return uint64(t.Number()), true
	}
	return number(f, v.e, v.fn, v.run.live)
}

// number is the value of a field of an event except those that depend on who saw it.
func number(f cond.Field, e *capture.Event, fn *breakpoints.Function, live *heap.Ledger) (uint64, bool) {
	switch f {
	case cond.Addr:
		return e.Addr, true
	case cond.Old:
		return e.Old, e.Kind == capture.Realloc
	case cond.Nth:
		return e.Seq, true
	case cond.Live:
		return live.Bytes(), true
	case cond.Blocks:
		return uint64(live.Blocks()), true
	case cond.Goroutine:
		return e.Goroutine(fn.Name)
	case cond.Align:
		return e.Aux, fn.Align.From != breakpoints.Nowhere
	case cond.Count:
		return e.Aux, fn.CountKnown(e.Aux)
	}
	return 0, false
}

// Block reports whether a live block begins at an address, and which event has made it.
func (v *filterEnv) Block(addr uint64) (seq uint64, live bool) {
	b, ok := v.run.live.At(addr)
	return b.Seq, ok
}

// Block reports whether a live block begins at an address, and which event has made it.
func (v *callEnv) Block(addr uint64) (seq uint64, live bool) {
	b, ok := v.live.At(addr)
	return b.Seq, ok
}

// Type reports whether the block of an event is of a type. Of other languages no types are known
// while allocators are called.
func (v *filterEnv) Type(pattern string) bool {
	if !madeByGo(v.e, v.fn) {
		return false
	}
	code := addr.Run(0)
	if v.e.Stack != 0 {
		if st := v.run.probeStack(v.e.Stack); len(st.PCs) > 0 {
			code = st.PCs[0]
		}
	}
	return v.run.process.GoType(code, capture.GoAux(v.e.Aux), v.e.Size, pattern)
}

// Type is filterEnv.Type.
func (v *callEnv) Type(pattern string) bool {
	return madeByGo(&v.e.Event, v.fn) && v.process.GoType(v.e.Made(), capture.GoAux(v.e.Aux), v.e.Size, pattern)
}

func madeByGo(e *capture.Event, fn *breakpoints.Function) bool {
	return e.Kind == capture.Alloc && capture.OfGo(fn.Name)
}

// Kind reports whether the event's function has that name.
func (v *filterEnv) Kind(name string) bool { return v.fn.OfKind(name) }

// Func reports whether a function of that name is on the stack.
func (v *filterEnv) Func(name string) bool { return v.ask(Question{cond.Func, name}, Frames.Func) }

// Module reports whether a frame of that module is on the stack.
func (v *filterEnv) Module(name string) bool {
	return v.ask(Question{cond.Module, name}, Frames.Module)
}

// Caller reports whether the block belongs to a function of that name.
func (v *filterEnv) Caller(name string) bool {
	return v.ask(Question{cond.Caller, name}, Frames.Caller)
}

// PyFile reports whether a function of Python in such a file is on the stack.
func (v *filterEnv) PyFile(pattern string) bool {
	return v.ask(Question{cond.PyFile, pattern}, Frames.PyFile)
}

// Like reports whether the stack equals an event's in a capture.
func (v *filterEnv) Like(event string) bool { return v.ask(Question{cond.Like, event}, Frames.Like) }

// ask remembers what a stack answered.
func (v *filterEnv) ask(q Question, predicate func(Frames, string) bool) bool {
	if v.e.Stack == 0 {
		return false
	}
	f := v.filter
	at := int(v.e.Stack)*len(f.questions) + slices.Index(f.questions, q)
	if at >= len(f.answers) {
		f.answers = slices.Grow(f.answers, at+1-len(f.answers))
		old := len(f.answers)
		f.answers = f.answers[:at+1]
		clear(f.answers[old:])
	}
	if f.answers[at] == notAsked {
		if v.frames == nil {
			v.frames = v.run.process.Frames(v.run.probeStack(v.e.Stack))
		}
		f.answers[at] = saysNo
		if predicate(v.frames, q.Name) {
			f.answers[at] = saysYes
		}
	}
	return f.answers[at] == saysYes
}

// ThreadName is the thread's name.
func (v *filterEnv) ThreadName() string {
	if t := v.run.threads[v.e.TID]; t != nil {
		return t.recentName()
	}
	return ""
}

// callEnv is what conditions see of a call that the owner of the process follows.
type callEnv struct {
	Origin
	process Process
	live    *heap.Ledger
	e       *Event
	fn      *breakpoints.Function
}

// Number is the value of a field at this event.
func (v *callEnv) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Size:
		return v.e.Size, v.e.SizeKnown()
	case cond.Thread:
		return uint64(v.Thread().Number()), true
	}
	return number(f, &v.e.Event, v.fn, v.live)
}

// Kind reports whether the event's function has that name.
func (v *callEnv) Kind(name string) bool { return v.fn.OfKind(name) }

// ThreadName is the thread's name.
func (v *callEnv) ThreadName() string { return v.Thread().Name() }
