package session

import (
	"slices"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/probe"
	"hdb/recording"
	"hdb/unwind"
)

// trace is what is known of the allocation events of a run.
type trace struct {
	seq        uint64        // of the last event
	time       time.Duration // of that event: times do not go back
	live       *heap.Live
	strays     uint64 // of live heaps before, see heap.Live
	recording  bool
	paused     bool                       // nothing is recorded but the ends of what was
	filter     *recordFilter              // nil: everything is
	base       uint64                     // number of the event before the first that the probe counted
	funcs      map[string]uint16          // indexes in the log by name
	probeFuncs *[probe.MaxFunctions]int32 // the same by the number that the probe has for the function, -1 not known
	sites      int                        // functions that the probe watches, or did last
	probed     probe.Stats                // of probes that ended
	next       *nextEvent
	unfollowed unfollowed
	ended      bool              // the recording was stopped, and not started again since,
	ranOn      bool              // and the program ran on
	lost       breakpoints.Stats // Lost and LostCause of tracers that ended
	logged     uint64            // events recorded
	stacks     int               // in the recording
	truncated  int               // of them
	last       uint64            // number of the last one of them
	sampled    time.Duration     // when resident memory was looked at last
	told       losses            // that are in the recording
	untold     uint64            // losses that the user was not warned of,
	lossText   string            // why the first of them,
	warned     time.Time         // and when they last were
}

// nextEvent is what next-alloc waits for.
type nextEvent struct {
	left int
	cond *cond.Cond
	want func(capture.Kind) bool
}

func (tr *trace) reset() {
	*tr = trace{live: heap.NewLive(), recording: tr.recording, paused: tr.paused, filter: tr.filter, funcs: map[string]uint16{}}
	tr.filter.forget()
}

// forgetBlocks follows an exec: the old image's heap is gone.
func (tr *trace) forgetBlocks() {
	tr.strays += tr.live.Strays()
	tr.live, tr.unfollowed = heap.NewLive(), unfollowed{}
}

// unsized is how many blocks of unknown size were freed.
func (tr *trace) unsized() uint64 { return tr.strays + tr.live.Strays() }

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

// Alloc numbers the event, records it, and decides whether to stop there.
func (k sink) Alloc(t *inferior.Thread, call breakpoints.Call) inferior.Action {
	s := k.s
	defer s.ownWork()()
	tr := &s.trace
	tr.seq++
	e := recording.EventOf(call)
	e.Seq, e.Time, e.TID = tr.seq, max(s.now(), tr.time), int32(t.TID)
	tr.time = e.Time
	e.Abandoned = call.Abandoned
	env := &eventEnv{s: s, t: t, e: e, call: call}
	env.find = func() []Frame { return s.named(env.walk()).Frames }
	gone, known := s.applyEvent(e)
	env.sized = known
	stop := s.stopsAt(env)
	// What the log has the beginning of, it has to have the end of.
	if stop && !tr.ended || gone.Logged || tr.logsAll() || tr.logsSome() && tr.filter.Eval(env) {
		s.record(env)
	}
	if stop {
		return inferior.StopHere
	}
	return inferior.Resume
}

// applyEvent brings the live heap up to date, and gives a free the size of its
// block. live and blocks in conditions are those after the event. It returns the
// block that is no more, if it was known.
func (s *Session) applyEvent(e *Event) (gone heap.Block, known bool) {
	gone, known = s.trace.live.Follow(&e.Event, false)
	if known && e.Kind == capture.Free {
		e.Size = gone.Size
	}
	e.Gone = gone.Gone()
	return gone, known
}

// stopsAt checks every allocation stop, so that all hit counts are right.
func (s *Session) stopsAt(env *eventEnv) bool {
	stop := false
	for _, st := range s.stops.All() {
		if st.Wants(env.call) && st.Check(env) {
			s.hits = append(s.hits, hit{stop: st, thread: env.t, event: env.e, now: env.call.Now})
			stop = true
		}
	}
	if n := s.trace.next; n != nil && n.want(env.e.Kind) && (n.cond == nil || n.cond.Eval(env)) {
		n.left--
		if n.left == 0 {
			s.hits = append(s.hits, hit{thread: env.t, event: env.e, now: env.call.Now})
			stop = true
		}
	}
	return stop
}

// eventEnv is what a condition sees of an event. The stack is walked when a
// condition asks for it or the event is recorded, and then once.
type eventEnv struct {
	s      *Session
	t      *inferior.Thread
	e      *Event
	call   breakpoints.Call
	sized  bool         // the size of a freed block is known, even if it is 0
	raw    unwind.Stack // valid while the event is looked at: nothing else walks
	walked bool
	callers
}

// Number is the value of a field at this event.
func (v *eventEnv) Number(f cond.Field) (uint64, bool) {
	e, live := v.e, v.s.trace.live
	switch f {
	case cond.Size:
		return e.Size, v.sized || hasSize(&e.Event)
	case cond.Addr:
		return e.Addr, true
	case cond.Old:
		return e.Old, e.Kind == capture.Realloc
	case cond.Thread:
		return uint64(v.t.Num), true
	case cond.Nth:
		return e.Seq, true
	case cond.Live:
		return live.Bytes(), true
	case cond.Blocks:
		return uint64(live.Blocks()), true
	case cond.Align:
		return e.Aux, v.call.Function.Align.From != breakpoints.Nowhere
	case cond.Count:
		return e.Aux, v.call.Function.Count.From != breakpoints.Nowhere
	}
	return 0, false
}

// hasSize tells whether the size of an event is known: that of a freed block is 0 if not.
func hasSize(e *capture.Event) bool {
	return e.Size != 0 || e.Kind != capture.Free || e.Gone.Recorded
}

// walk is the stack that led to the event, the allocator's caller first.
func (v *eventEnv) walk() unwind.Stack {
	if v.walked {
		return v.raw
	}
	v.walked = true
	if kept, ok := v.call.Kept.(unwind.Stack); ok {
		v.raw = kept
		return kept
	}
	raw, err := v.s.rawStack(v.t, v.s.Settings.MaxDepth, v.call.Now)
	if err != nil {
		raw.Truncated = err.Error()
	}
	if !v.call.Now.IsReturn() && len(raw.Frames) > 0 {
		raw.Frames = raw.Frames[1:] // free itself
	}
	v.raw = raw
	return raw
}

// Keep walks the stack of a call that is reported later, if at all: where the
// thread is then, it has returned long ago.
func (k sink) Keep(t *inferior.Thread, call breakpoints.Call) any {
	raw, err := k.s.rawStack(t, k.s.Settings.MaxDepth, call.Now)
	if err != nil {
		return nil
	}
	raw.Frames = slices.Clone(raw.Frames)
	return raw
}

// Kind tells whether the event's function has that name.
func (v *eventEnv) Kind(name string) bool { return v.call.Function.OfKind(name) }

// ThreadName is the thread's name.
func (v *eventEnv) ThreadName() string { return v.t.Name() }

// Like tells whether the stack is that of the event in a capture.
func (v *eventEnv) Like(event string) bool { return v.likeLive(v.s)(event) }
