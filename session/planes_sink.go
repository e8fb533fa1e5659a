package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
	"hdb/session/variables"
	"hdb/unwind"
)

// sink receives the events that the owner follows. While there is a probe, its lock is held.
type sink struct{ p *Planes }

// plainSink receives those of plain breakpoints. A probe that is no longer armed continues telling
// of the calls that threads were in when it was disarmed, on its own goroutine.
type plainSink struct{ sink }

// Alloc is sink.Alloc, after the events that the probe has.
func (k plainSink) Alloc(t *inferior.Thread, call breakpoints.Call) (action inferior.Action) {
	w := k.p.wrong
	w.taken = nil
	k.p.target.Go.Complete(&call, k.p.target.Proc)
	k.p.target.Exclusive(func() { action = k.sink.Alloc(t, call) })
	e := w.taken
	if e == nil || !w.wanted() {
		return action
	}
	if why, ok := w.plain.suspect(e); ok && e.Kind == capture.Free {
		action = max(action, w.look(t, call, why))
	}
	w.note(e)
	return action
}

// Alloc has the event recorded, and decides whether to stop there.
func (k sink) Alloc(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	defer k.p.target.OwnWork()()
	if k.p.account.Rec.Take(call, k.p.target.Now(), newOrigin(k.p, t, call)) {
		return inferior.StopHere
	}
	return inferior.Resume
}

// origin is where a call comes from. The stack is walked when a condition asks for it or
// the event is recorded, and then once.
type origin struct {
	p      *Planes
	t      *inferior.Thread
	call   breakpoints.Call
	raw    unwind.Stack // valid while the event is looked at: nothing else walks
	walked bool
	query.Predicates
}

func newOrigin(p *Planes, t *inferior.Thread, call breakpoints.Call) *origin {
	o := &origin{p: p, t: t, call: call, Predicates: query.Predicates{Attribution: p.target.Attribution}}
	o.Find = func() []names.Frame { return p.target.Names.Stack(o.walk()).Frames }
	return o
}

// Thread is the calling thread.
func (o *origin) Thread() recording.Thread { return thread{o.t} }

// Stack is the stack that led to the call.
func (o *origin) Stack() capture.Stack { return recording.StackOf(o.walk()) }

// Stops checks every allocation stop, so that all hit counts are right.
func (o *origin) Stops(e *recording.Event, env cond.Env) bool {
	stop := false
	o.p.wrong.taken = e
	if o.p.states.taken(o.t, e, env, o.call.Now) {
		stop = true
	}
	for _, st := range o.p.demand.stops.All() {
		if st.Wants(o.call) && o.check(st, env) {
			if st.Print != nil {
				printStop(&variables.OfFrame{Values: o.p.values, Thread: o.t, Field: env.Number, StackOf: o.owner}, st)
				o.p.demand.spanHit(st, e.Seq)
				continue
			}
			o.p.demand.hits = append(o.p.demand.hits, hit{stop: st, thread: o.t, event: e, now: o.call.Now})
			stop = true
		}
	}
	if n := o.p.demand.next; n != nil && n.want(e.Kind) && (n.cond == nil || n.cond.Eval(env)) {
		n.left--
		if n.left == 0 {
			o.p.demand.hits = append(o.p.demand.hits, hit{thread: o.t, event: e, now: o.call.Now})
			stop = true
		}
	}
	return stop
}

// check reports whether a stop is for the event, whose variables are those of the frame that the
// block belongs to. Most frames have not got the names of a condition, which does not hold there;
// how often that was so is counted.
func (o *origin) check(st *breakpoints.Stop, env cond.Env) bool {
	if st.Cond == nil || !st.Cond.UsesProgram() {
		return st.Check(env)
	}
	v := &variables.OfFrame{Values: o.p.values, Thread: o.t, Field: env.Number, StackOf: o.owner}
	met := st.Meets(struct {
		cond.Env
		*variables.OfFrame
	}{env, v})
	if met == cond.Unknown {
		o.p.demand.undecided(st, v.Err)
	}
	return met == cond.True && st.Hit()
}

// owner is the stack with the frame that the block belongs to.
func (o *origin) owner(whole bool) ([]names.Frame, int) {
	if whole {
		stack := o.Predicates.Stack()
		return stack, o.p.target.Attribution.Owner(stack)
	}
	return o.p.walker.ToOwner(o.walk().Frames)
}

// Like reports whether the stack equals an event's in a capture.
func (o *origin) Like(event string) bool { return o.p.likes.same(event, o.Predicates.Stack()) }

// walk is the stack that led to the event, the allocator's caller first.
func (o *origin) walk() unwind.Stack {
	if o.walked {
		return o.raw
	}
	o.walked = true
	if kept, ok := o.call.Kept.(unwind.Stack); ok {
		o.raw = kept
		return kept
	}
	raw, err := o.p.walker.Raw(o.t, o.p.target.Settings.MaxDepth, o.call.Now)
	if err != nil {
		raw.Truncated = err.Error()
	}
	if !o.call.Now.IsReturn() && len(raw.Frames) > 0 {
		raw.Frames = raw.Frames[1:] // free itself
	}
	o.raw = o.p.data.python.Insert(o.t, raw)
	return o.raw
}

// Keep walks the stack of a call that is reported later, if at all: where the
// thread is then, it has returned long ago.
func (k sink) Keep(t *inferior.Thread, call breakpoints.Call) any {
	raw, err := k.p.walker.Raw(t, k.p.target.Settings.MaxDepth, call.Now)
	if err != nil {
		return nil
	}
	raw.Frames = slices.Clone(raw.Frames)
	return k.p.data.python.Insert(t, raw)
}

// probeSink takes the probe's events: the recording those from the ring.
type probeSink struct {
	*recording.Recording
	p *Planes
}

// Alloc takes a call that a stop may want.
func (k probeSink) Alloc(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	k.p.data.countUnreported()
	if call.Abandoned { // what the probe keeps of it is what a record has
		kept := recording.Recalled(call.Function, call.Event)
		call.Args, call.SizeLost = kept.Args, kept.SizeLost
	}
	action := sink{k.p}.Alloc(t, call)
	if k.p.tracer.Armed() { // it was armed after the thread had offered the call
		k.p.tracer.Entered(map[*inferior.Thread]addr.Run{t: call.Now.Addr()})
	}
	if !k.p.target.Probe.Recording() {
		k.p.account.Rec.Live().Forget(call.Event.Addr)
	}
	if action == inferior.Resume && (k.p.target.Probe.Passed(k.p.account.Rec.Seq()) || k.p.data.movedAway(call.Event.Addr)) {
		k.p.rearmSoon()
	}
	return action
}

// Python keeps calls of Python that stacks of the probe have.
func (k probeSink) Python(calls []probe.PythonCall, more bool) probe.PythonID {
	return k.p.data.python.Keep(calls, more)
}

// PythonCode takes a code object that calls will refer to.
func (k probeSink) PythonCode(id uint64, pieces []probe.PythonPiece) (forgotten bool) {
	return k.p.data.python.Learn(id, pieces)
}

// WithPython keeps a stack of the probe with calls of Python.
func (k probeSink) WithPython(of capture.StackID, calls probe.PythonID) capture.StackID {
	x := k.p.data.python
	st := k.ProbeStack(of, x.Native)
	x.Native = st.PCs
	return k.Stack(x.With(st, calls))
}

// May reports whether what some stop asks of the stack can hold for a call with this one. What it asks of the
// call alone is decided before.
func (k probeSink) May(t *inferior.Thread, call breakpoints.Call) bool {
	at := newOrigin(k.p, t, call)
	for _, st := range k.p.demand.stops.All() {
		if st.Enabled && onEvents(st) && mayByStack(st.Cond, at) {
			return true
		}
	}
	n := k.p.demand.next
	return k.p.states.may(at) || n != nil && mayByStack(n.cond, at)
}

// mayByStack reports whether the part of a condition that asks for the stack can be true with this one.
func mayByStack(c *cond.Cond, at recording.Frames) bool {
	asks, _ := c.ByStack()
	return asks != nil && possible(asks, at, true)
}

// Failed takes a panic of the probe, or of what takes its events, on whichever goroutine
// that was: the process is stopped, so that its owner can end the recording.
func (k probeSink) Failed(err error) {
	k.p.failed(err)
}

// possible reports whether a condition can have the value when only the stack is known.
func possible(n cond.Node, v recording.Frames, value bool) bool {
	all := func(terms []cond.Node) bool {
		return !slices.ContainsFunc(terms, func(t cond.Node) bool { return !possible(t, v, value) })
	}
	one := func(terms []cond.Node) bool {
		return slices.ContainsFunc(terms, func(t cond.Node) bool { return possible(t, v, value) })
	}
	switch n := n.(type) {
	case *cond.And:
		if value {
			return all(n.Terms)
		}
		return one(n.Terms)
	case *cond.Or:
		if value {
			return one(n.Terms)
		}
		return all(n.Terms)
	case *cond.Not:
		return possible(n.X, v, !value)
	case *cond.Call:
		switch n.Predicate {
		case cond.Func:
			return v.Func(n.Arg) == value
		case cond.Module:
			return v.Module(n.Arg) == value
		case cond.Caller:
			return v.Caller(n.Arg) == value
		case cond.PyFile:
			return v.PyFile(n.Arg) == value
		case cond.Like:
			return v.Like(n.Arg) == value
		}
	}
	return true // a number, or a name that says nothing about the stack
}
