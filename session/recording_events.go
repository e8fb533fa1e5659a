package session

import (
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
)

// seenStacks are the stacks that the probe has sent, by their number there.
// Those of no recorded event stay out of the recording: of events that the
// filter leaves out, of blocks that an allocator frees for itself.
type seenStacks struct {
	ids   []int32         // in the recording, or, not there, the number among kept below 0
	kept  []capture.Stack // from 1: those that are not there
	spare []int32         // places in kept that are free, with room for PCs
}

// keepStack takes a stack that events of the probe will refer to. Most are recorded
// at once, so that their memory serves the next ones.
func (s *Session) keepStack(st capture.Stack) capture.StackID {
	k := &s.seen
	if len(k.spare) == 0 {
		k.spare = append(k.spare, int32(max(len(k.kept), 1)))
		k.kept = append(k.kept, make([]capture.Stack, int(k.spare[0])+1-len(k.kept))...)
	}
	at := k.spare[len(k.spare)-1]
	k.spare = k.spare[:len(k.spare)-1]
	st.PCs = append(k.kept[at].PCs[:0], st.PCs...)
	k.kept[at] = st
	k.ids = append(k.ids, -at)
	return capture.StackID(len(k.ids))
}

// logged is the number in the recording of a stack of the probe, 0 if it has none.
func (k *seenStacks) logged(n capture.StackID) capture.StackID {
	if n == 0 {
		return 0
	}
	return capture.StackID(max(k.ids[n-1], 0))
}

// stackInLog is the number in the recording of a stack of the probe, which it is
// added to.
func (s *Session) stackInLog(n capture.StackID) capture.StackID {
	k := &s.seen
	if n == 0 || k.ids[n-1] >= 0 {
		return k.logged(n)
	}
	at := -k.ids[n-1]
	id := s.intern(k.kept[at])
	k.ids[n-1], k.spare = int32(id), append(k.spare, at)
	return id
}

// seenStack is a stack of the probe by its number there. What it returns is good
// until the next one is kept.
func (s *Session) seenStack(n capture.StackID) capture.Stack {
	switch id := s.seen.ids[n-1]; {
	case id < 0:
		return s.seen.kept[-id]
	case s.stream != nil:
		return s.stream.writer.Stack(capture.StackID(id))
	default:
		return s.log.Stack(capture.StackID(id))
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

// probeEvents numbers events of the probe, brings the live heap up to date, and
// records them. Their Func is an index into functions.
func (s *Session) probeEvents(events []capture.Event, functions []*breakpoints.Function) {
	tr := &s.trace
	for len(tr.probeFuncs) < len(functions) {
		tr.probeFuncs = append(tr.probeFuncs, 0)
	}
	all, some, logged := tr.logsAll(), tr.logsSome(), uint64(0)
	seq, now := tr.seq, tr.time
	for i := range events {
		e := &events[i]
		seq, now = seq+1, max(now, e.Time)
		e.Seq, e.Time = seq, now
		if all {
			stack := s.seen.logged(e.Stack)
			if stack == 0 {
				stack = s.stackInLog(e.Stack)
			}
			e.Stack = stack
		}
	}
	tr.seq, tr.time = seq, now
	for len(events) > 0 {
		next := events
		if !all {
			// The filter may ask for the heap after each event, and whether the end of
			// its block is recorded depends on whether the event was.
			next = events[:1]
		}
		next = next[:tr.live.FollowAll(next, all)]
		for i := range next {
			e := &next[i]
			if !all {
				if !e.Gone.Recorded && !(some && tr.filter.holds(s, e, functions[e.Func], e.Stack)) {
					continue
				}
				e.Stack = s.stackInLog(e.Stack)
				s.markLogged(e)
			}
			fn := tr.probeFuncs[e.Func]
			if fn == 0 {
				fn = uint32(s.funcInLog(functions[e.Func].Name)) + 1
				tr.probeFuncs[e.Func] = fn
			}
			e.Func = uint16(fn - 1)
			tr.last = s.rec.AddEvent(e)
			logged++
			if e.Kind == capture.Realloc && i == len(next)-1 {
				s.logUnseen() // only the last of them can have left one
			}
		}
		events = events[len(next):]
	}
	tr.logged += logged
	if logged > 0 && now-tr.sampled >= sampleEvery {
		s.sample(now)
	}
}

// logUnseen records the end of a block that the last event, a realloc, does not
// tell: it may end two.
func (s *Session) logUnseen() {
	if b := s.trace.live.Unseen(); b.Logged {
		s.rec.Ended(b.Seq)
	}
}

// sampleEvery is the time between two looks at how much memory is resident, while
// there are events.
const sampleEvery = 100 * time.Millisecond

// sample notes how much memory is resident.
func (s *Session) sample(now time.Duration) {
	s.trace.sampled = now
	if rss, err := inferior.Resident(s.recorded); err == nil { // the process may be gone
		s.rec.AddSample(capture.SampleRecord{Seq: s.trace.last, Time: now, RSS: rss})
	}
}

// logEvent records an event, whose stack is interned.
func (s *Session) logEvent(e *capture.Event, function string) {
	e.Func = s.funcInLog(function)
	s.trace.last = s.rec.AddEvent(e)
	s.trace.logged++
	if e.Kind == capture.Realloc {
		s.logUnseen()
	}
	s.markLogged(e)
	if e.Time-s.trace.sampled >= sampleEvery {
		s.sample(e.Time)
	}
}

// funcInLog is the index of a function in the recording.
func (s *Session) funcInLog(name string) uint16 {
	i, ok := s.trace.funcs[name]
	if !ok {
		i = s.rec.FuncIndex(name)
		s.trace.funcs[name] = i
	}
	return i
}

// markLogged has the end of an event's block recorded, too.
func (s *Session) markLogged(e *capture.Event) {
	if e.Allocates() {
		s.trace.live.Logged(e.Addr, e.Stack)
	}
}

// logsAll tells whether every event is recorded.
func (tr *trace) logsAll() bool { return tr.recording && !tr.paused && tr.filter == nil }

// logsSome tells whether the filter decides what is recorded.
func (tr *trace) logsSome() bool { return tr.recording && !tr.paused && tr.filter != nil }
