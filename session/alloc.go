package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/unwind"
)

// nextEvent is what next-alloc waits for.
type nextEvent struct {
	left int
	cond *cond.Cond
	want func(capture.Kind) bool
}

// sink receives the events that the owner follows. While there is a probe, its lock is held.
type sink struct{ s *Session }

// plainSink receives those of plain breakpoints. A probe that is no longer armed goes on
// telling of the calls that threads were in when it was disarmed, on its own goroutine.
type plainSink struct{ sink }

// Alloc is sink.Alloc, after the events that the probe has.
func (k plainSink) Alloc(t *inferior.Thread, call breakpoints.Call) (action inferior.Action) {
	k.s.exclusive(func() { action = k.sink.Alloc(t, call) })
	return action
}

// Alloc has the event recorded, and decides whether to stop there.
func (k sink) Alloc(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	s := k.s
	defer s.ownWork()()
	if s.rec.Take(call, s.now(), newOrigin(s, t, call)) {
		return inferior.StopHere
	}
	return inferior.Resume
}

// origin is where a call comes from. The stack is walked when a condition asks for it or
// the event is recorded, and then once.
type origin struct {
	s      *Session
	t      *inferior.Thread
	call   breakpoints.Call
	raw    unwind.Stack // valid while the event is looked at: nothing else walks
	walked bool
	query.Predicates
}

func newOrigin(s *Session, t *inferior.Thread, call breakpoints.Call) *origin {
	o := &origin{s: s, t: t, call: call, Predicates: query.Predicates{Attribution: s.attribution}}
	o.Find = func() []names.Frame { return s.names.Stack(o.walk()).Frames }
	return o
}

// Thread is the calling thread.
func (o *origin) Thread() recording.Thread { return thread{o.t} }

// Stack is the stack that led to the call.
func (o *origin) Stack() capture.Stack { return recording.StackOf(o.walk()) }

// Stops checks every allocation stop, so that all hit counts are right.
func (o *origin) Stops(e *recording.Event, env cond.Env) bool {
	s := o.s
	stop := false
	for _, st := range s.stops.All() {
		if st.Wants(o.call) && st.Check(env) {
			s.hits = append(s.hits, hit{stop: st, thread: o.t, event: e, now: o.call.Now})
			stop = true
		}
	}
	if n := s.next; n != nil && n.want(e.Kind) && (n.cond == nil || n.cond.Eval(env)) {
		n.left--
		if n.left == 0 {
			s.hits = append(s.hits, hit{thread: o.t, event: e, now: o.call.Now})
			stop = true
		}
	}
	return stop
}

// Like tells whether the stack is that of the event in a capture.
func (o *origin) Like(event string) bool { return o.s.likeStack(event, o.Predicates.Stack()) }

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
	raw, err := o.s.walker.raw(o.t, o.s.Settings.MaxDepth, o.call.Now)
	if err != nil {
		raw.Truncated = err.Error()
	}
	if !o.call.Now.IsReturn() && len(raw.Frames) > 0 {
		raw.Frames = raw.Frames[1:] // free itself
	}
	o.raw = raw
	return raw
}

// Keep walks the stack of a call that is reported later, if at all: where the
// thread is then, it has returned long ago.
func (k sink) Keep(t *inferior.Thread, call breakpoints.Call) any {
	raw, err := k.s.walker.raw(t, k.s.Settings.MaxDepth, call.Now)
	if err != nil {
		return nil
	}
	raw.Frames = slices.Clone(raw.Frames)
	return raw
}
