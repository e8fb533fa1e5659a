package recording

import (
	"sync"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
)

// A Recording numbers the events of one run after the other and records them. See the package for
// who may call it when.
type Recording struct {
	mu   sync.Mutex // guards the rest
	run  run
	log  *file.Log // that events go to, or
	file *File
	info capture.Info
}

// New is a recording of nothing yet.
func New(p Process) *Recording {
	r := &Recording{}
	r.run.process, r.run.out = p, nowhere{}
	r.run.reset()
	return r
}

// Reset forgets the last run. Whether there is to be a recording, and its filter, stay.
func (r *Recording) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.reset()
}

// Begin has what the info describes recorded from here on: to the file, or if that is
// nil to a log.
func (r *Recording) Begin(info capture.Info, f *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info, r.run.pid = info, info.PID
	r.log, r.file, r.run.kept = nil, f, keptCode{}
	if f == nil {
		r.log = file.NewLog(info)
		r.run.out = r.log
		return
	}
	f.mu, r.run.out = &r.mu, f.writer
}

// MoveTo moves what the log holds to the file, where the recording continues.
func (r *Recording) MoveTo(f *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.writer.Adopt(r.log)
	f.mu, r.run.out = &r.mu, f.writer
	r.log, r.file = nil, f
}

// Detach ends all recording. The file is not closed.
func (r *Recording) Detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.on, r.run.out = false, nowhere{}
}

// Drop forgets the log and the file.
func (r *Recording) Drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.file = nil, nil
	r.run.out = nowhere{}
}

// Log is the log that events go to, nil if they go elsewhere.
func (r *Recording) Log() *file.Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

// File is the file that events go to, nil if they go elsewhere.
func (r *Recording) File() *File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file
}

// Stack keeps a stack of the probe, which events will refer to.
func (r *Recording) Stack(st capture.Stack) capture.StackID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.probed.add(st)
}

// ProbeStack is a stack that the probe was given a number of. Its PCs, which are the caller's, are
// in room if there is enough.
func (r *Recording) ProbeStack(of capture.StackID, room []addr.Run) capture.Stack {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.run.probeStack(of)
	st.PCs = append(room[:0], st.PCs...)
	return st
}

// Batch takes events of the probe.
func (r *Recording) Batch(events []capture.Event, functions []*breakpoints.Function) {
	for _, w := range r.batch(events, functions) {
		w.seen()
	}
}

func (r *Recording) batch(events []capture.Event, functions []*breakpoints.Function) []*Watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.batch(events, functions)
	return r.run.watches
}

// Heap is the live heap's size.
func (r *Recording) Heap() (bytes, blocks uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.live.Bytes(), uint64(r.run.live.Blocks())
}

// Take numbers a call that the owner of the process follows, asks whether a stop wants it, and
// records it if a stop or the filter does. It reports whether to stop.
func (r *Recording) Take(call breakpoints.Call, now time.Duration, from Origin) (stop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.run
	n.time = max(now, n.time)
	t := from.Thread()
	e := EventOf(call)
	e.Time, e.TID = n.time, t.ID()
	if n.followOwners(&e.Event, &call.Function, call.Heap(), func() capture.StackID { return n.intern(from.Stack()) }) {
		return false
	}
	n.recordUnseen(&e.Event)
	n.seq++
	e.Seq = n.seq
	env := &callEnv{Origin: from, process: n.process, live: n.live, e: e, fn: &call.Function}
	var ended heap.Block
	mapping := n.live.ChangesMapped(&e.Event)
	ended, e.sized = n.live.Post(&e.Event, false)
	stop = from.Stops(e, env)
	if call.Function.LosesCount() {
		e.Aux = 0 // as in the probe's records
	}
	// What the recording has the beginning of, it has to have the end of.
	if stop && !n.ended || ended.Logged || mapping || n.recordsAll() || n.recordsSome() && n.filter.Eval(env) {
		e.Stack = n.intern(from.Stack())
		n.record(&e.Event, e.Function)
		n.addThread(t)
	}
	return stop
}

// On reports whether events are recorded, if only the ends of blocks while it is paused.
func (r *Recording) On() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.on
}

// Ended tells that the recording of this run was stopped, and not started again since.
func (r *Recording) Ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.ended
}

// Start has events recorded.
func (r *Recording) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.on, r.run.ended = true, false
}

// Stop has no more events recorded but the ends of blocks. ofRun is that a run's
// recording ends so.
func (r *Recording) Stop(ofRun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.on, r.run.paused = false, false
	r.run.ended = r.run.ended || ofRun
}

// Pause keeps events out of the recording except the ends of blocks, or lets them in again.
func (r *Recording) Pause(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.paused = on
}

// SetFilter has only events recorded that the filter lets through, all if it is nil.
func (r *Recording) SetFilter(f *Filter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.filter = f
}

// Filter is what decides which events are recorded, nil if all are.
func (r *Recording) Filter() *Filter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.filter
}

// ForgetAnswers forgets the filter's answers for stacks: other code is at their addresses, or has
// other names.
func (r *Recording) ForgetAnswers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.filter.forget()
	for _, w := range r.run.watches {
		w.filter.forget()
	}
}

// ForgetProbe forgets the stacks and functions of a probe that is gone.
func (r *Recording) ForgetProbe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.probed, r.run.probeFuncs = probeStacks{}, nil
}

// ForgetFunctions forgets what the probe's numbers of functions represent: it may have given new
// functions those of others that are gone.
func (r *Recording) ForgetFunctions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.probeFuncs = nil
}

// Replaced follows an exec: the old image's heap is gone.
func (r *Recording) Replaced() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.unsized += r.run.live.Strays()
	r.run.live, r.run.pools, r.run.heaps = heap.NewLedger(), nil, nil
	r.run.out.Replaced()
}

// missed says that the program continues while not every call is followed.
func (r *Recording) missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.live.Missed()
	r.run.gap = r.run.seq
}

// Gap is the number of the last event before the program ran while not every call was followed, 0
// if it has not.
func (r *Recording) Gap() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.gap
}

// Seq is the number of the last event.
func (r *Recording) Seq() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.seq
}

// Count counts n events that were not told one by one.
func (r *Recording) Count(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.seq += n
}

// Moment is the number of the last recorded event, and now or its time if that is later.
func (r *Recording) Moment(now time.Duration) (seq uint64, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.last, max(now, r.run.time)
}
