package probe

import (
	"sync"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/panics"
)

// A Sink takes the events of a probe, in their order: those from the ring on the
// goroutine that drains it, Alloc on the one that owns the process.
type Sink interface {
	// Stack keeps a stack that events will refer to. Its PCs belong to the probe.
	Stack(capture.Stack) capture.StackID
	// Python keeps calls of Python, innermost first, that stacks will have; more tells that
	// there are others further out. They belong to the probe.
	Python(calls []PythonCall, more bool) PythonID
	// PythonCode describes the code object with an ID by the memory that it is made of, the object
	// itself first. Calls that refer to it come later. If the sink has forgotten those that it
	// received, they are sent again with calls to come.
	PythonCode(id uint64, pieces []PythonPiece) (forgotten bool)
	// WithPython keeps a stack that is another, which the sink has, with calls of Python.
	WithPython(capture.StackID, PythonID) capture.StackID
	// Batch takes events from the ring. Their Seq and Ended are the sink's
	// to set, and so is Func, which is an index into functions until then. Their times
	// may go back, by as long as a thread was without its processor after it had looked
	// at the clock and before it took its place in the ring. The events belong to the probe.
	Batch(events []capture.Event, functions []*breakpoints.Function)
	// Alloc takes a call that a stop may want, as breakpoints.Sink does.
	Alloc(*inferior.Thread, breakpoints.Call) inferior.Action
	// Wrong takes a call that returns what seems to be no block: a free after Alloc has taken it,
	// of a realloc before it runs. The sink has to look for itself.
	Wrong(*inferior.Thread, breakpoints.Call, Suspicion) inferior.Action
	// May reports whether a stop can hold for a call with this stack, whatever
	// else is true of it.
	May(*inferior.Thread, breakpoints.Call) bool
	// Heap is the size of all live blocks in bytes, and their number.
	Heap() (bytes, blocks uint64)
	// Failed takes a panic of the probe or the sink while it took events from the ring. No
	// more are taken, what the inferior writes there is dropped.
	Failed(error)
}

// Stats counts what a probe did.
type Stats struct {
	Events   uint64 // taken from the ring
	Stacks   uint64 // different ones
	Walks    uint64 // stacks walked in full; the others were remembered
	Waits    uint64 // times that a thread waited for room in the ring
	Lost     uint64 // events for which there was no room
	LostSt   uint64 // stacks for which there was no room
	LostPy   uint64 // stacks whose calls of Python could not be read
	NoThread uint64 // calls of threads that the probe had no place for
	Torn     uint64 // records that a thread never completed
}

// Add sums the counts of two probes.
func (s Stats) Add(o Stats) Stats {
	return Stats{
		Events: s.Events + o.Events, Stacks: s.Stacks + o.Stacks, Walks: s.Walks + o.Walks, Waits: s.Waits + o.Waits,
		Lost: s.Lost + o.Lost, LostSt: s.LostSt + o.LostSt, LostPy: s.LostPy + o.LostPy, NoThread: s.NoThread + o.NoThread, Torn: s.Torn + o.Torn,
	}
}

// reader is the consumer of the ring. Its fields are guarded by its lock.
type reader struct {
	p *Probe

	// mu guards the reader, and changes of the lists of sites and islands, which only the
	// owner makes. It is held while the ring is drained, and so while the sink is called,
	// which may take locks of its own.
	mu        sync.Mutex
	stopped   bool // all threads are
	stacks    stackTable
	tail      uint64 // position of the next record
	released  uint64 // the tail that the inferior sees
	cleared   uint64 // up to where records were made zeros
	clock     clock
	threads   map[uint32]*threadCalls
	last      uint32             // a TID,
	lastOf    *threadCalls       // and what threads says of it
	lastIs    bool               // that it is known
	resizes   map[uint64]*resize // reallocs that have begun, by their old block
	exits     []exit             // threads that have ended, in the order of their ends
	pending   int                // reallocs that have begun in threads, and calls held back
	event     capture.Event      // in the making
	batch     [batchSize]capture.Event
	n         int                      // events in it, which the sink has not got yet
	asked     uint64                   // bytes that the records handled now asked for,
	made      uint64                   // and blocks
	easy      *[MaxFunctions]plainSite // of the sites, by index,
	full      uintptr                  // for plain, which has no register for it: where it has filled all of the batch that it may,
	begun     uintptr                  // and the record of a realloc's end, behind the record of its begin
	functions []*breakpoints.Function  // and theirs
	stats     Stats
	polling   bool // no thread may wake it
	golang    goHeap
	swept     capture.Event // what the ends of blocks that a sweep found have in common
	gaveUpAt  uint64        // position of the last record that drainAll gave up; a disarmed probe's is not waited for again
	failed    bool          // see Sink.Failed
	done      chan struct{}
	idle      chan struct{}
}

// threadCalls is what is known of the calls a thread is in.
type threadCalls struct {
	inside *insideCall // the last event inside the call that it is in, not reported yet: it may turn out as that call's work
	resize *resize
}

type insideCall struct {
	event capture.Event
	site  *site
}

// An exit is the end of a thread, which left no record from the position end on.
type exit struct {
	tid uint32
	end uint64
}

// A resize is a realloc that has begun.
type resize struct {
	tid   uint32
	site  *site
	old   uint64
	taken bool // another thread was handed the old block
}

func (r *reader) start() {
	r.init(r.p.cfg.Now)
	go r.run()
}

// init readies a reader of a ring that is empty.
func (r *reader) init(now time.Duration) {
	r.stacks = stackTable{r: r, byNumber: new([1 << stackBits]capture.StackID), overflow: map[uint32]capture.StackID{}, python: map[uint64]PythonID{}}
	r.easy, r.threads, r.resizes = new([MaxFunctions]plainSite), map[uint32]*threadCalls{}, map[uint64]*resize{}
	r.done, r.idle = make(chan struct{}), make(chan struct{})
	r.clock.resume(now)
}

// stop ends the draining goroutine.
func (r *reader) stop() {
	close(r.done)
	sleep := r.p.shared.half(hdSleep)
	sleep.Store(0)
	futexWake(sleep)
	<-r.idle
}

func (r *reader) stopping() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

const (
	// batch is how many records are handled before the lock is let go.
	batch = 4096
	// batchSize is how many events the sink gets at once: few enough to stay in the
	// processor's nearest cache. The slots of a span of Go are as many, often.
	batchSize = 128
	// pause is how long the consumer sleeps between records; it is woken when a
	// quarter of the ring is full, or 1 MiB of a larger one.
	pause = 20 * time.Millisecond
	// shortPause is how long it sleeps between records if no thread may wake it: in that time a quarter
	// of the ring is filled, at most. When there are none it sleeps longer each time, up to pause.
	shortPause = time.Millisecond
	// rest is how long it sleeps when there was none in a pause; the next one wakes it.
	rest = time.Second
	// patience is how long Drain waits for a record that a running thread has
	// begun.
	patience = 100 * time.Millisecond
	// pollInterval is the time between two looks at what is about to be written.
	pollInterval = 10 * time.Microsecond
)

// run drains the ring until stop.
func (r *reader) run() {
	defer close(r.idle)
	sleep, head := r.p.shared.half(hdSleep), r.p.shared.word(hdHead)
	// In a larger ring than for C no more records pile up either: threads of Go, which never wait for
	// room, fill the rest while hdb has no processor.
	enough := min(r.p.shared.size, ringSize) / 4
	dozed := time.Duration(0)
	for !r.stopping() {
		handled, released := r.handleBatch()
		if handled >= batch {
			continue
		}
		// Records that come one by one would be read where they are written: the
		// two processors would take the lines from one another. They pile up first.
		wakeAt, atMost := released+enough, pause
		if handled == 0 && head.Load() == released {
			wakeAt, atMost = released+1, rest
		}
		if !r.mayBeWoken(wakeAt) {
			dozed = r.doze(handled > 0, dozed)
			continue
		}
		switch {
		case r.stopping(): // whoever stops it may have looked before it slept
		case head.Load() >= released+enough:
			time.Sleep(pollInterval) // many wait behind a record that is being written
		case head.Load() >= wakeAt: // it came in between
		case handled > 0:
			futexNap(sleep, 1, int64(atMost))
		default:
			futexWait(sleep, 1, int64(atMost))
		}
		sleep.Store(0)
	}
}

// mayBeWoken has the next record from a position on wake the consumer, or tells that no
// thread may.
func (r *reader) mayBeWoken(at uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.polling {
		r.p.shared.word(hdWakeAt).Store(at)
		r.p.shared.half(hdSleep).Store(1)
	}
	return !r.polling
}

// poll has the consumer look for records by itself from now on, so that no thread makes
// a system call to wake it, or not.
func (r *reader) poll(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polling = on
	sleep := r.p.shared.half(hdSleep)
	sleep.Store(0)
	futexWake(sleep)
}

// polls reports whether the consumer looks for records by itself.
func (r *reader) polls() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.polling
}

// doze waits until it is time to look for records again. Its arguments say whether there were some at
// the last look, and how long it waited before that. It returns how long it has waited.
func (r *reader) doze(some bool, last time.Duration) time.Duration {
	next := shortPause
	if !some {
		next = min(2*max(last, shortPause), pause)
	}
	select {
	case <-r.done:
	case <-time.After(next):
	}
	return next
}

// handleBatch handles a batch of records and returns how many there were, and up to where
// there is room again.
func (r *reader) handleBatch() (handled int, released uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	handled = r.drain(batch)
	return handled, r.released
}

// Drain handles all records that are complete. Afterwards the sink knows what
// all threads did that are stopped now.
func (r *reader) Drain() {
	if r.p.closed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drainAll()
}

func (r *reader) drainAll() {
	deadline := time.Now().Add(patience)
	head := r.head()
	for r.tail < head {
		if r.drain(batch) > 0 {
			continue
		}
		if r.stopped || !r.p.armed && r.gaveUpAt == r.tail {
			return
		}
		if time.Now().After(deadline) {
			r.gaveUpAt = r.tail
			return
		}
		time.Sleep(pollInterval)
	}
}

// head is how far records go, which cannot be further than the ring has room.
func (r *reader) head() uint64 { return min(r.p.shared.word(hdHead).Load(), r.tail+r.p.shared.size) }

// drain handles n complete records, or a few more, or all that there are; of plain
// ones it counts the events. The lock is held.
func (r *reader) drain(n int) (handled int) {
	if !r.failed {
		err := panics.Catch(func() { handled = r.handle(n) })
		if err == nil {
			return handled
		}
		r.failed = true
		r.p.cfg.Sink.Failed(err)
	}
	return r.skip(n)
}

// skip drops n complete records, or all that there are.
func (r *reader) skip(n int) (skipped int) {
	for ; skipped < n; skipped++ {
		head := r.p.shared.at(r.tail).head()
		if head == 0 {
			break
		}
		if head&typeMask == recPad {
			r.clear() // as in handle: the padding may be as long as the ring
		}
		r.tail += r.p.shared.recordLength(head)
		if r.tail-r.released >= r.p.shared.size/16 {
			r.release()
		}
	}
	r.n, r.exits = 0, nil
	r.release()
	return skipped
}

// handle is drain as long as nothing has failed.
func (r *reader) handle(n int) int {
	shared := r.p.shared
	if shared.at(r.tail).head() == 0 {
		return 0
	}
	r.clock.tick()
	r.stacks.patience = patience
	r.plainSites()
	before, blocks := r.p.cfg.Sink.Heap()
	r.asked, r.made = 0, 0
	count := 0
	for count < n {
		end := r.tail + shared.size
		if len(r.exits) > 0 {
			r.forgetExited()
			if len(r.exits) > 0 {
				end = r.exits[0].end
			}
		}
		if len(r.p.slots.guests) == 0 && r.pending == 0 {
			if handled := r.plain(end); handled > 0 {
				count += handled
				r.filled()
				continue
			}
		}
		rec := shared.at(r.tail)
		head := rec.head()
		if head == 0 {
			break
		}
		size := shared.recordLength(head)
		switch head & typeMask {
		case recStack, recPython, recPair, recCode:
			r.stacks.takeAny(head, shared.words(r.tail, int(size/8)))
		case recSweep:
			r.sweep(head, shared.words(r.tail, int(sweepHead/8+sweepWords(head))))
		case recPad:
			r.clear() // it may be as long as the ring: more than that is not mapped behind what is left to clear
		case recAlloc, recAbandon:
			r.asked += rec[3]
			r.made++
			r.take(head, rec)
		default:
			r.take(head, rec)
		}
		r.tail += size
		count++
		r.filled()
	}
	r.forgetExited()
	r.flush()
	r.release()
	after, now := r.p.cfg.Sink.Heap()
	// The core has added what was asked for; what is live of that remains.
	r.p.shared.word(hdLive).Add(after - before - r.asked)
	r.p.shared.word(hdBlocks).Add(now - blocks - r.made)
	return count
}

// filled sees to the sink's getting events and the inferior's getting room.
func (r *reader) filled() {
	if r.n == len(r.batch) {
		r.flush()
	}
	if r.tail-r.released >= r.p.shared.size/16 {
		r.release()
	}
}

// flush hands to the sink what it has not got yet.
func (r *reader) flush() {
	r.clear()
	if r.n > 0 {
		n := r.n
		r.n = 0
		r.stats.Events += uint64(n)
		r.p.cfg.Sink.Batch(r.batch[:n], r.functions)
	}
}

// clear makes the records that were handled zeros.
func (r *reader) clear() {
	clear(r.p.shared.ring[r.cleared&(r.p.shared.size-1):][:r.tail-r.cleared])
	r.cleared = r.tail
}

// forgetExited forgets the calls of threads that have ended and whose records were
// all handled. A TID may be another thread's from then on.
func (r *reader) forgetExited() {
	for len(r.exits) > 0 && r.exits[0].end <= r.tail {
		tid := r.exits[0].tid
		r.exits = r.exits[1:]
		r.endResize(tid)
		r.reportInside(tid, 0)
		delete(r.threads, tid)
		r.lastIs = false
		delete(r.stacks.overflow, tid)
	}
}

// recordLength is the length of a record in bytes: a multiple of 16 that is not 0
// and not more than the ring has, whatever the first word is.
func (s *shared) recordLength(head uint64) uint64 {
	switch head & typeMask {
	case recPython:
		return (32 + 24*(head>>countShift&0xfff) + 15) &^ 15
	case recPair:
		return recordSize
	case recStack:
		return (16 + 8*(head>>countShift&0xfff) + 15) &^ 15
	case recSweep:
		return (sweepHead + 8*sweepWords(head) + 15) &^ 15
	case recCode:
		return max(head>>countShift&0xfff, 1) * 16
	case recPad:
		// Nothing keeps the inferior from writing nonsense to the ring.
		return min(max(head>>countShift, 1), s.size/16) * 16
	}
	if head&flagLong != 0 {
		return longRecord
	}
	return recordSize
}

// sweepWords is how many words the bitmap of a recSweep has.
func sweepWords(head uint64) uint64 { return min(head>>sweepShift, maxSweep) }

// release lets the inferior use the room of the records that were handled.
func (r *reader) release() {
	if r.tail == r.released {
		return
	}
	r.clear()
	s := r.p.shared
	s.word(hdTail).Store(r.tail)
	r.released = r.tail
	s.half(hdStalled).Store(0)
	if s.half(hdWaiting).Load() != 0 {
		s.half(hdDrained).Add(1)
		futexWake(s.half(hdDrained))
	}
}

// Stats returns the counts so far.
func (r *reader) Stats() Stats {
	if r.p.closed {
		return r.stats
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts()
}

func (r *reader) counts() Stats {
	s, h := r.stats, r.p.shared
	s.Stacks, s.Walks, s.Waits = h.word(hdNew).Load(), h.word(hdWalks).Load(), h.word(hdFull).Load()
	s.Lost, s.LostSt, s.NoThread = h.word(hdLost).Load(), h.word(hdLostSt).Load(), h.word(hdNoSlot).Load()
	s.LostPy = h.word(hdLostPy).Load()
	return s
}

// Resumed and Stopped bracket the time in which the inferior runs: its clock is stopped in between.
func (r *reader) Resumed(now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = false
	r.clock.resume(now)
}

// Idle takes time out of the inferior's: hdb's own work, during which a thread was stopped.
func (r *reader) Idle(d time.Duration) { r.clock.work.add(d) }

// Exclusive runs f while no event is handled, and after those that are complete
// have been.
func (r *reader) Exclusive(f func()) {
	if r.p.closed {
		f()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drainAll()
	f()
}

// Stopped handles what the threads recorded before they all stopped.
func (r *reader) Stopped() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.Drain()
}

// noteExit has the calls of a thread forgotten behind its records.
func (r *reader) noteExit(tid uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return
	}
	r.exits = append(r.exits, exit{tid, r.head()})
	r.accounted(0, 0, func() inferior.Action {
		r.forgetExited()
		r.flush()
		return inferior.Resume
	})
}

// accounted keeps the core's bounds of the live heap right while f reports a
// call for which the core has added so much.
func (r *reader) accounted(asked, made uint64, f func() inferior.Action) inferior.Action {
	bytes, blocks := r.p.cfg.Sink.Heap()
	action := f()
	after, now := r.p.cfg.Sink.Heap()
	r.p.shared.word(hdLive).Add(after - bytes - asked)
	r.p.shared.word(hdBlocks).Add(now - blocks - made)
	return action
}
