package session

import (
	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
)

// seenStacks are the stacks that the probe has sent, by their number there.
// Those of no recorded event stay out of the recording: of events that the
// filter leaves out, of blocks that an allocator frees for itself.
type seenStacks []seenStack

type seenStack struct {
	id    capture.StackID // in the recording, 0: not there
	stack capture.Stack   // while it is not there
}

// keepStack takes a stack that events of the probe will refer to.
func (s *Session) keepStack(st capture.Stack) capture.StackID {
	s.seen = append(s.seen, seenStack{stack: st})
	return capture.StackID(len(s.seen))
}

// stackInLog is the number in the recording of a stack of the probe, which it is
// added to.
func (s *Session) stackInLog(n capture.StackID) capture.StackID {
	if n == 0 {
		return 0
	}
	seen := &s.seen[n-1]
	if seen.id == 0 {
		*seen = seenStack{id: s.intern(seen.stack)}
	}
	return seen.id
}

// seenStack is a stack of the probe by its number there.
func (s *Session) seenStack(n capture.StackID) capture.Stack {
	switch seen := s.seen[n-1]; {
	case seen.id == 0:
		return seen.stack
	case s.stream != nil:
		return s.stream.writer.Stack(seen.id)
	default:
		return s.log.Stack(seen.id)
	}
}

// intern adds a stack to the recording.
func (s *Session) intern(st capture.Stack) capture.StackID {
	id := s.rec.Intern(st)
	if tr := &s.trace; int(id) > tr.stacks {
		tr.stacks = int(id)
		if st.Truncated != "" {
			tr.truncated++
		}
	}
	return id
}

// probeEvent numbers an event of the probe, brings the live heap up to date, and
// records it.
func (s *Session) probeEvent(e *capture.Event, fn *breakpoints.Function) {
	tr := &s.trace
	tr.seq++
	e.Seq, e.Time = tr.seq, max(e.Time, tr.time)
	tr.time = e.Time
	stack := e.Stack
	log := tr.logsAll()
	if log {
		e.Stack = s.stackInLog(stack)
	}
	gone, ended := tr.live.Follow(e, log)
	if ended && e.Kind == capture.Free {
		e.Size = gone.Size
	}
	switch {
	case log:
		s.logEvent(e, fn.Name, true)
	case ended && gone.Logged, tr.logsSome() && tr.filter.holds(s, e, fn, stack):
		e.Stack = s.stackInLog(stack)
		s.logEvent(e, fn.Name, false)
	}
}

// logEvent records an event, whose stack is interned. marked tells that the live
// heap knows already that its block is recorded.
func (s *Session) logEvent(e *capture.Event, function string, marked bool) {
	tr := &s.trace
	i, ok := tr.funcs[function]
	if !ok {
		i = s.rec.FuncIndex(function)
		tr.funcs[function] = i
	}
	e.Func = i
	tr.last = s.rec.AddEvent(*e)
	tr.logged++
	if !marked && heap.Allocates(*e) {
		tr.live.SetLogged(e.Addr, true)
	}
}

// logsAll tells whether every event is recorded.
func (tr *trace) logsAll() bool { return tr.recording && !tr.paused && tr.filter == nil }

// logsSome tells whether the filter decides what is recorded.
func (tr *trace) logsSome() bool { return tr.recording && !tr.paused && tr.filter != nil }
