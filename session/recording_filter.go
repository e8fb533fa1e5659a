package session

import (
	"slices"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/unwind"
)

// A recordFilter decides which events are recorded. What it asks of a stack it
// asks once for each stack, until the modules change.
type recordFilter struct {
	*cond.Cond
	asks    []stackAsk
	answers []answer // of stack n to ask i: at n*len(asks)+i
	env     probeEnv
}

// stackAsk is a predicate about a stack.
type stackAsk struct {
	predicate cond.Predicate
	name      string
}

type answer uint8

const (
	notAsked answer = iota
	saysNo
	saysYes
)

func newRecordFilter(c *cond.Cond) *recordFilter {
	f := &recordFilter{Cond: c}
	var find func(cond.Node)
	find = func(n cond.Node) {
		switch n := n.(type) {
		case *cond.And:
			for _, t := range n.Terms {
				find(t)
			}
		case *cond.Or:
			for _, t := range n.Terms {
				find(t)
			}
		case *cond.Not:
			find(n.X)
		case *cond.Call:
			ask := stackAsk{n.Predicate, n.Arg}
			if n.Predicate.OfStack() && !slices.Contains(f.asks, ask) {
				f.asks = append(f.asks, ask)
			}
		}
	}
	find(c.Root())
	return f
}

// forget drops what was said of stacks: other code lies at their addresses.
func (f *recordFilter) forget() {
	if f != nil {
		f.answers = f.answers[:0]
	}
}

// holds tells whether an event of the probe is to be recorded.
func (f *recordFilter) holds(s *Session, e *capture.Event, fn *breakpoints.Function, stack capture.StackID) bool {
	f.env = probeEnv{s: s, f: f, e: e, fn: fn, stack: stack, callers: callers{find: f.env.find}}
	if f.env.find == nil {
		f.env.find = f.env.frames
	}
	return f.Eval(&f.env)
}

// probeEnv is what a filter sees of an event of the probe.
type probeEnv struct {
	s     *Session
	f     *recordFilter
	e     *capture.Event
	fn    *breakpoints.Function
	stack capture.StackID // as the probe numbers it
	callers
}

// frames are the named frames of the event's stack.
func (v *probeEnv) frames() []Frame {
	defer v.s.Debuginfod.hurry()() // see fetchAhead
	st := v.s.seenStack(v.stack)
	var out []Frame
	for i := range st.PCs {
		out = v.s.appendFrames(out, unwind.Frame{PC: st.Code(i)})
	}
	return out
}

// Number is the value of a field.
func (v *probeEnv) Number(f cond.Field) (uint64, bool) {
	e, live := v.e, v.s.trace.live
	switch f {
	case cond.Size:
		return e.Size, hasSize(e)
	case cond.Addr:
		return e.Addr, true
	case cond.Old:
		return e.Old, e.Kind == capture.Realloc
	case cond.Thread:
		t := v.s.known[e.TID]
		if t == nil {
			return 0, false
		}
		return uint64(t.Num), true
	case cond.Nth:
		return e.Seq, true
	case cond.Live:
		return live.Bytes(), true
	case cond.Blocks:
		return uint64(live.Blocks()), true
	case cond.Align:
		return e.Aux, v.fn.Align.From != breakpoints.Nowhere
	case cond.Count:
		return e.Aux, v.fn.Count.From != breakpoints.Nowhere
	}
	return 0, false
}

// Kind tells whether the event's function has that name.
func (v *probeEnv) Kind(name string) bool { return v.fn.OfKind(name) }

// Func tells whether a function of that name is on the stack.
func (v *probeEnv) Func(name string) bool {
	return v.ask(stackAsk{cond.Func, name}, v.callers.Func)
}

// Module tells whether a frame of that module is on the stack.
func (v *probeEnv) Module(name string) bool {
	return v.ask(stackAsk{cond.Module, name}, v.callers.Module)
}

// Caller tells whether the function that called has that name.
func (v *probeEnv) Caller(name string) bool {
	return v.ask(stackAsk{cond.Caller, name}, v.callers.Caller)
}

// Like tells whether the stack is that of the event in a capture.
func (v *probeEnv) Like(event string) bool {
	return v.ask(stackAsk{cond.Like, event}, v.likeLive(v.s))
}

// ask remembers what a stack answered.
func (v *probeEnv) ask(a stackAsk, predicate func(string) bool) bool {
	if v.stack == 0 {
		return false
	}
	f := v.f
	at := int(v.stack)*len(f.asks) + slices.Index(f.asks, a)
	if at >= len(f.answers) {
		f.answers = slices.Grow(f.answers, at+1-len(f.answers))
		old := len(f.answers)
		f.answers = f.answers[:at+1]
		clear(f.answers[old:])
	}
	if f.answers[at] == notAsked {
		f.answers[at] = saysNo
		if predicate(a.name) {
			f.answers[at] = saysYes
		}
	}
	return f.answers[at] == saysYes
}

// nameLag is how long a thread's name is taken to be what it was: an event of
// the probe is seen later than that anyway.
const nameLag = 10 * time.Millisecond

// knownThread is a thread with its name as of some moment.
type knownThread struct {
	*inferior.Thread
	name string
	at   time.Time
}

// ThreadName is the thread's name.
func (v *probeEnv) ThreadName() string {
	t := v.s.known[v.e.TID]
	if t == nil {
		return ""
	}
	if now := time.Now(); now.Sub(t.at) > nameLag {
		if name := t.Name(); name != "" { // of one that is gone the last one stands
			t.name = name
		}
		t.at = now
	}
	return t.name
}
