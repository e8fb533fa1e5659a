package session

import (
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/probe"
)

// seenStacks are the stacks that the probe has sent, by their number there.
// Those of no recorded event stay out of the recording: of events that the
// filter leaves out, of blocks that an allocator frees for itself.
type seenStacks struct {
	ids   []int32         // by number: in the recording, or, not there, the number among kept below 0
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
	k.ids = append(k.table(), -at)
	return capture.StackID(len(k.ids) - 1)
}

// table has for each stack its number in the recording, below 0 if it is not there.
func (k *seenStacks) table() []int32 {
	if len(k.ids) == 0 {
		k.ids = append(k.ids, 0) // no stack is none in the recording, too
	}
	return k.ids
}

// stackInLog is the number in the recording of a stack of the probe, which it is
// added to.
func (s *Session) stackInLog(n capture.StackID) capture.StackID {
	k := &s.seen
	id := k.table()[n]
	if id >= 0 {
		return capture.StackID(id)
	}
	at := -id
	id = int32(s.intern(k.kept[at]))
	k.ids[n], k.spare = id, append(k.spare, at)
	return capture.StackID(id)
}

// seenStack is a stack of the probe by its number there. What it returns is good
// until the next one is kept.
func (s *Session) seenStack(n capture.StackID) capture.Stack {
	switch id := s.seen.ids[n]; {
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
		if st.Guess != nil {
			s.firstJITNames()
		}
	}
	return id
}

// probeEvents numbers events of the probe, brings the live heap up to date, and
// records them. Their Func is an index into functions.
func (s *Session) probeEvents(events []capture.Event, functions []*breakpoints.Function) {
	tr := &s.trace
	if tr.probeFuncs == nil {
		tr.probeFuncs = newProbeFuncs()
	}
	logged := tr.logged
	if tr.logsAll() {
		s.logProbed(events, functions)
	} else {
		s.filterProbed(events, functions)
	}
	if tr.logged > logged && tr.time-tr.sampled >= sampleEvery {
		s.sample(tr.time)
	}
}

func newProbeFuncs() *[probe.MaxFunctions]int32 {
	p := new([probe.MaxFunctions]int32)
	for i := range p {
		p[i] = -1
	}
	return p
}

// logProbed records all of the events.
func (s *Session) logProbed(events []capture.Event, functions []*breakpoints.Function) {
	tr := &s.trace
	stacks := s.seen.table()
	for n := 0; ; {
		n += tr.number(events[n:], stacks)
		if n == len(events) {
			break
		}
		if e := &events[n]; tr.probeFuncs[e.Func] < 0 {
			s.probedFunc(e.Func, functions)
		} else {
			s.stackInLog(e.Stack)
		}
	}
	tr.logged += uint64(len(events))
	for len(events) > 0 {
		next := events[:tr.live.FollowAll(events, true)]
		tr.last = s.rec.AddEvents(next)
		if next[len(next)-1].Kind == capture.Realloc {
			s.logUnseen() // only the last of them can have left one
		}
		events = events[len(next):]
	}
}

// number numbers events of the probe and tells what their functions and stacks are in the
// recording, up to the first where that is not known yet, and how many they were. It calls
// nothing, so that what it needs stays in registers.
func (tr *trace) number(events []capture.Event, stacks []int32) int {
	funcs, seq, now, n := tr.probeFuncs, tr.seq, tr.time, len(events)
	_ = funcs[0] // it is not nil
	for i := range events {
		e := &events[i]
		fn, stack := funcs[e.Func%probe.MaxFunctions], stacks[e.Stack]
		if fn|stack < 0 {
			n = i
			break
		}
		seq++
		now = max(now, e.Time)
		e.Seq, e.Time, e.Func, e.Stack = seq, now, uint16(fn), capture.StackID(stack)
	}
	tr.seq, tr.time = seq, now
	return n
}

// filterProbed records those of the events that the filter wants, and the ends of their
// blocks. It goes from one to the next: the filter may ask for the heap after each.
func (s *Session) filterProbed(events []capture.Event, functions []*breakpoints.Function) {
	tr := &s.trace
	some := tr.logsSome()
	for i := range events {
		e := &events[i]
		tr.seq, tr.time = tr.seq+1, max(tr.time, e.Time)
		e.Seq, e.Time = tr.seq, tr.time
		tr.live.FollowAll(events[i:i+1], false)
		if !e.Gone.Recorded && !(some && tr.filter.holds(s, e, functions[e.Func], e.Stack)) {
			continue
		}
		e.Stack = s.stackInLog(e.Stack)
		s.markLogged(e)
		fn := tr.probeFuncs[e.Func]
		if fn < 0 {
			fn = s.probedFunc(e.Func, functions)
		}
		e.Func = uint16(fn)
		tr.last = s.rec.AddEvent(e)
		tr.logged++
		if e.Kind == capture.Realloc {
			s.logUnseen()
		}
	}
}

// probedFunc is the index in the recording of a function of the probe.
func (s *Session) probedFunc(i uint16, functions []*breakpoints.Function) int32 {
	fn := int32(s.funcInLog(functions[i].Name))
	s.trace.probeFuncs[i] = fn
	return fn
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
