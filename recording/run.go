package recording

import (
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/probe"
)

// An output is where events are recorded.
type output interface {
	capture.Recorder
	Stack(capture.StackID) capture.Stack
}

// A run is what is known of the events of one run of a program. Its Recording's lock is
// held while it is used.
type run struct {
	process    Process
	seq        uint64        // of the last event
	time       time.Duration // of that event: times do not go back
	live       *heap.Ledger
	marks      map[string]int             // the names of marks, and the last number behind each
	pools      *heap.Pools                // that the program has told of, nil if none
	heaps      *heap.Heaps                // of mimalloc, nil if the program has named none
	ownerFuncs *[probe.MaxFunctions]bool  // the probe's that tell about pools or heaps, nil if none does
	unsized    uint64                     // blocks of unknown size that were freed, of live heaps before
	on         bool                       // events are recorded
	paused     bool                       // but none are for the moment, except the ends of blocks that are recorded
	ended      bool                       // the recording was stopped, and not started again since
	filter     *Filter                    // nil: everything is recorded
	watches    []*Watch                   // that are shown the events
	out        output                     // nowhere at first
	functions  map[string]uint16          // indexes in the recording by name
	probeFuncs *[probe.MaxFunctions]int32 // the same by the number that the probe has for the function, -1 not known
	probed     probeStacks
	threads    map[int32]*knownThread // that events may be of, by TID
	recorded   uint64                 // events
	stacks     int                    // in the recording
	truncated  int                    // of them
	last       uint64                 // number of the last recorded event
	gap        uint64                 // and of the last one before calls that were not seen
	sampled    time.Duration          // when resident memory was looked at last
	kept       keptCode               // interpreted code that the recording knows
	pid        int                    // of the process that is recorded
}

// reset forgets a run. What is to be recorded stays wanted.
func (n *run) reset() {
	*n = run{
		process: n.process, on: n.on, paused: n.paused, filter: n.filter, out: n.out,
		live: heap.NewLedger(), functions: map[string]uint16{}, marks: map[string]int{}, threads: map[int32]*knownThread{},
	}
	n.filter.forget()
}

// recordsAll reports whether every event is recorded.
func (n *run) recordsAll() bool { return n.on && !n.paused && n.filter == nil }

// recordsSome reports whether the filter decides what is recorded.
func (n *run) recordsSome() bool { return n.on && !n.paused && n.filter != nil }

// batch numbers events of the probe, brings the live heap up to date, and records them.
// Their Func is an index into functions.
func (n *run) batch(events []capture.Event, functions []*breakpoints.Function) {
	if n.probeFuncs == nil {
		n.probeFuncs = newProbeFuncs()
		n.ownerFuncs = ownerFuncsOf(functions)
	}
	recorded := n.recorded
	if n.recordsAll() && len(n.watches) == 0 && !n.mayHaveOwners(events) {
		n.recordAll(events, functions)
	} else {
		n.recordSome(events, functions)
	}
	if n.recorded > recorded && n.time-n.sampled >= sampleEvery {
		n.sample(n.time)
	}
}

func newProbeFuncs() *[probe.MaxFunctions]int32 {
	p := new([probe.MaxFunctions]int32)
	for i := range p {
		p[i] = -1
	}
	return p
}

// recordAll records all of the events.
func (n *run) recordAll(events []capture.Event, functions []*breakpoints.Function) {
	stacks := n.probed.table()
	for done := 0; ; {
		done += n.number(events[done:], stacks)
		if done == len(events) {
			break
		}
		if e := &events[done]; n.probeFuncs[e.Func] < 0 {
			n.probeFunc(e.Func, functions)
		} else {
			n.recordedStack(e.Stack)
		}
	}
	n.recorded += uint64(len(events))
	for {
		posted := n.live.PostAll(events, true)
		if posted > 0 {
			n.last = n.out.AddEvents(events[:posted])
		}
		if events = events[posted:]; len(events) == 0 {
			return
		}
		n.seq = events[0].Seq - 1
		n.recordUnseen(&events[0])
		for i := range events {
			n.seq++
			events[i].Seq = n.seq
		}
	}
}

// number numbers events of the probe and tells what their functions and stacks are in the
// recording, up to the first where that is not known yet, and how many they were. It calls
// nothing, so that what it needs stays in registers.
func (n *run) number(events []capture.Event, stacks []int32) int {
	funcs, seq, now, count := n.probeFuncs, n.seq, n.time, len(events)
	_ = funcs[0] // it is not nil
	for i := range events {
		e := &events[i]
		fn, stack := funcs[e.Func%probe.MaxFunctions], stacks[e.Stack]
		if fn|stack < 0 {
			count = i
			break
		}
		seq++
		now = max(now, e.Time)
		e.Seq, e.Time, e.Func, e.Stack = seq, now, uint16(fn), capture.StackID(stack)
	}
	n.seq, n.time = seq, now
	return count
}

// recordSome records those of the events that the filter wants, and the ends of their
// blocks, or all if there is none, and shows them to those who watch. It goes from one to
// the next: conditions may ask for the heap after each.
func (n *run) recordSome(events []capture.Event, functions []*breakpoints.Function) {
	all, some := n.recordsAll(), n.recordsSome()
	for i := range events {
		e := &events[i]
		n.time = max(n.time, e.Time)
		e.Time = n.time
		fn := functions[e.Func]
		if n.followOwners(e, fn, fn.TakeHeap(e), func() capture.StackID { return n.recordedStack(e.Stack) }) {
			continue
		}
		n.recordUnseen(e)
		n.seq++
		e.Seq = n.seq
		ends := n.live.ChangesMapped(e)
		n.live.PostAll(events[i:i+1], false)
		n.watch(e, fn)
		if !all && !e.Ended.Recorded && !ends && !(some && n.filter.holds(n, e, fn)) {
			continue
		}
		e.Stack = n.recordedStack(e.Stack)
		n.markRecorded(e)
		known := n.probeFuncs[e.Func]
		if known < 0 {
			known = n.probeFunc(e.Func, functions)
		}
		e.Func = uint16(known)
		n.last = n.out.AddEvent(e)
		n.recorded++
	}
}

// probeFunc is the index in the recording of a function of the probe.
func (n *run) probeFunc(i uint16, functions []*breakpoints.Function) int32 {
	fn := int32(n.function(functions[i].Name))
	n.probeFuncs[i] = fn
	return fn
}

// recordUnseen records the end of a recorded block that was not seen, as the next event, if e puts
// another block in its place and has one to end already. e comes after it.
func (n *run) recordUnseen(e *capture.Event) {
	if end, ok := n.live.Unseen(e); ok {
		n.recordEnd(end)
	}
}

// recordEnd records the end of a block that was not seen.
func (n *run) recordEnd(end capture.Event) {
	n.seq++
	end.Seq, end.Func = n.seq, n.function(capture.UnseenFree)
	n.last = n.out.AddEvent(&end)
	n.recorded++
	n.process.Numbered()
}

// record records an event, whose stack is interned.
func (n *run) record(e *capture.Event, function string) {
	e.Func = n.function(function)
	n.last = n.out.AddEvent(e)
	n.recorded++
	n.markRecorded(e)
	if e.Time-n.sampled >= sampleEvery {
		n.sample(e.Time)
	}
}

// function is the index of a function in the recording.
func (n *run) function(name string) uint16 {
	i, ok := n.functions[name]
	if !ok {
		i = n.out.FuncIndex(name)
		n.functions[name] = i
	}
	return i
}

// markRecorded has the end of an event's block or mapping recorded, too.
func (n *run) markRecorded(e *capture.Event) {
	if e.Allocates() {
		n.live.Logged(e.Addr, e.Stack)
	} else {
		n.live.LoggedMapping(e)
	}
}

// sampleEvery is the time between two looks at how much memory is resident, while
// there are events.
const sampleEvery = 100 * time.Millisecond

// sample notes how much memory is resident.
func (n *run) sample(now time.Duration) {
	n.sampled = now
	if rss, err := n.process.Resident(n.pid); err == nil { // the process may be gone
		n.out.AddSample(capture.SampleRecord{Seq: n.last, Time: now, RSS: rss})
	}
}

// intern adds a stack to the recording.
func (n *run) intern(st capture.Stack) capture.StackID {
	n.keep(st)
	id := n.out.Intern(st)
	if int(id) > n.stacks {
		n.stacks = int(id)
		if st.Truncated != "" {
			n.truncated++
		}
		if st.Guess != nil {
			n.process.Guessed()
		}
	}
	return id
}

// keptCode is a set of addresses of interpreted code.
type keptCode struct {
	all    map[addr.Run]bool
	lately [1 << 8]addr.Run // some of them, by the lowest bits that differ
}

// add adds an address, and reports whether it is new.
func (k *keptCode) add(pc addr.Run) bool {
	lately := &k.lately[uint64(pc)>>4%uint64(len(k.lately))]
	if *lately == pc {
		return false
	}
	*lately = pc
	if k.all[pc] {
		return false
	}
	if k.all == nil {
		k.all = map[addr.Run]bool{}
	}
	k.all[pc] = true
	return true
}

// keep has the recording keep what the interpreted code of a stack is, once.
func (n *run) keep(st capture.Stack) {
	for _, pc := range st.PCs {
		if !capture.IsInterpreted(pc) || !n.kept.add(pc) {
			continue
		}
		if f, ok := n.process.Interpreted(pc); ok {
			n.out.Keep(pc, []capture.Frame{f})
		}
	}
}

// recordedStack is the number in the recording of a stack of the probe, which it is
// added to.
func (n *run) recordedStack(of capture.StackID) capture.StackID {
	k := &n.probed
	id := k.table()[of]
	if id >= 0 {
		return capture.StackID(id)
	}
	id = int32(n.intern(k.waiting[-id]))
	k.recorded(of, id)
	return capture.StackID(id)
}

// probeStack is a stack of the probe by its number there. What it returns is good
// until the next one is kept.
func (n *run) probeStack(of capture.StackID) capture.Stack {
	if id := n.probed.ids[of]; id >= 0 {
		return n.out.Stack(capture.StackID(id))
	} else {
		return n.probed.waiting[-id]
	}
}

// addThread has the recording know a thread, once.
func (n *run) addThread(t Thread) {
	if known := n.threads[t.ID()]; known == nil || known.Number() != t.Number() { // the kernel uses IDs again
		n.renameThread(t)
	}
}

// renameThread has the recording know a thread with its name as of now.
func (n *run) renameThread(t Thread) {
	name := t.Name()
	n.threads[t.ID()] = &knownThread{Thread: t, name: name}
	n.out.AddThread(capture.Thread{TID: t.ID(), Num: t.Number(), Name: name})
}
