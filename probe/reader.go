package probe

import (
	"time"
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/prefetch"
)

// A Sink takes the events of a probe, one at a time: those from the ring on the
// goroutine that drains it, Alloc on the one that owns the process.
type Sink interface {
	// Stack keeps a stack that events will refer to. Its PCs belong to the probe.
	Stack(capture.Stack) capture.StackID
	// Event takes an event from the ring, in order. Its Seq is the sink's to set,
	// and so is its Func, which numbers the functions of the probe until then. The
	// event belongs to the probe.
	Event(*capture.Event, *breakpoints.Function)
	// Soon tells which blocks the next events are about, so that what is known of
	// them can be fetched at once rather than one after the other. They need not
	// be: the inferior's memory says so.
	Soon(blocks []uint64)
	// Alloc takes a call that a stop may want, as breakpoints.Sink does.
	Alloc(*inferior.Thread, breakpoints.Call) inferior.Action
	// May reports whether a stop can hold for a call with this stack, whatever
	// else is true of it.
	May(*inferior.Thread, breakpoints.Call) bool
	// Live reports whether a block is allocated.
	Live(block uint64) bool
	// Heap is the size of all live blocks in bytes, and their number.
	Heap() (bytes, blocks uint64)
}

// Stats counts what a probe did.
type Stats struct {
	Events   uint64 // taken from the ring
	Stacks   uint64 // different ones
	Walks    uint64 // stacks walked in full; the others were remembered
	Waits    uint64 // times that a thread waited for room in the ring
	Lost     uint64 // events for which there was no room
	LostSt   uint64 // stacks for which there was no room
	NoThread uint64 // calls of threads that the probe had no place for
	Torn     uint64 // records that a thread never completed
}

// Add sums the counts of two probes.
func (s Stats) Add(o Stats) Stats {
	return Stats{
		Events: s.Events + o.Events, Stacks: s.Stacks + o.Stacks, Walks: s.Walks + o.Walks, Waits: s.Waits + o.Waits,
		Lost: s.Lost + o.Lost, LostSt: s.LostSt + o.LostSt, NoThread: s.NoThread + o.NoThread, Torn: s.Torn + o.Torn,
	}
}

// reader is the consumer of the ring. Its fields are guarded by Probe.mu, but for
// counted and cellOf, which are the owner's; guests is written by the owner only,
// which therefore reads it without.
type reader struct {
	p        *Probe
	tail     uint64                     // position of the next record
	released uint64                     // the tail that the inferior sees
	stacks   []uint32                   // by number: index into known, 0 not seen yet
	known    []capture.StackID          // from 1
	firsts   []uint64                   // and the first return address
	overflow map[uint32]capture.StackID // by TID: stacks without a number
	clock    clock
	threads  map[uint32]*threadCalls
	last     uint32             // a TID,
	lastOf   *threadCalls       // and what threads says of it
	lastIs   bool               // that it is known
	resizes  map[uint64]*resize // reallocs that have begun, by their old block
	exits    []exit             // threads that have ended, in the order of their ends
	event    capture.Event      // handed to the sink
	soon     [lookAhead]uint64  // the same
	lines    [lookAhead]uintptr // memory of look
	stats    Stats
	counted  uint64            // events of slots that were given back
	cellOf   []uint64          // thread numbers that conditions name
	guests   map[uint32][]byte // slots of threads whose vfork child uses them, by its TID
	patience time.Duration     // left for stacks that have not come, in this batch
	pcs      []addr.Run        // of the stack handed to the sink
	apart    span              // addresses without islands, around one that was asked for
	done     chan struct{}
	idle     chan struct{}
}

// threadCalls is what is known of the calls a thread is in.
type threadCalls struct {
	inside []insideCall // blocks allocated inside a call, and not freed there
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

func (r *reader) start(p *Probe) {
	*r = reader{
		p: p, stacks: make([]uint32, 1<<stackBits), known: make([]capture.StackID, 1), firsts: make([]uint64, 1), overflow: map[uint32]capture.StackID{},
		guests: map[uint32][]byte{}, threads: map[uint32]*threadCalls{}, resizes: map[uint64]*resize{},
		done: make(chan struct{}), idle: make(chan struct{}),
	}
	r.clock.resume(p.cfg.Now)
	go r.run()
}

// stop ends the draining goroutine.
func (r *reader) stop() {
	close(r.done)
	futexWake(r.p.shared.half(hdSleep))
	<-r.idle
}

const (
	// batch is how many records are handled before the lock is let go.
	batch = 4096
	// lookAhead is how many records are looked at before they are handled.
	lookAhead = 16
	// pause is how long the consumer sleeps when the ring is empty; it is woken
	// when a quarter of the ring is full.
	pause = 20 * time.Millisecond
	// patience is how long Drain waits for a record that a running thread has
	// begun.
	patience = 100 * time.Millisecond
	// glance is the time between two looks at what is about to be written.
	glance = 10 * time.Microsecond
)

// run drains the ring until stop.
func (r *reader) run() {
	defer close(r.idle)
	sleep := r.p.shared.half(hdSleep)
	for {
		select {
		case <-r.done:
			return
		default:
		}
		handled, released := r.some()
		if handled == batch {
			continue
		}
		// Records that come one by one would be read where they are written: the
		// two processors would take the lines from one another. They pile up first.
		wakeAt := released + ringSize/4
		r.p.shared.word(hdWakeAt).Store(wakeAt)
		sleep.Store(1)
		if r.p.shared.word(hdHead).Load() < wakeAt {
			futexWait(sleep, 1, int64(pause))
		} else {
			time.Sleep(glance) // many wait behind a record that is being written
		}
		sleep.Store(0)
	}
}

// some handles a batch of records and tells how many there were, and up to where
// there is room again.
func (r *reader) some() (handled int, released uint64) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	handled = r.drain(batch)
	return handled, r.released
}

// Drain handles all records that are complete. Afterwards the sink knows what
// all threads did that are stopped now.
func (p *Probe) Drain() {
	if p.closed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainAll()
}

func (p *Probe) drainAll() {
	deadline := time.Now().Add(patience)
	head := p.head()
	for p.tail < head {
		if p.drain(batch) > 0 {
			continue
		}
		if p.stopped || time.Now().After(deadline) {
			return
		}
		time.Sleep(glance)
	}
}

// head is how far records go, which cannot be further than the ring has room.
func (r *reader) head() uint64 { return min(r.p.shared.word(hdHead).Load(), r.tail+ringSize) }

// drain handles up to n complete records. The lock is held.
func (r *reader) drain(n int) int {
	shared := r.p.shared
	if shared.at(r.tail).head() == 0 {
		return 0
	}
	r.clock.tick()
	r.patience = patience
	before, blocks := r.p.cfg.Sink.Heap()
	var asked, made uint64
	count := 0
	for ; count < n; count++ {
		if len(r.exits) > 0 {
			r.forgetExited()
		}
		if count%lookAhead == 0 {
			r.look()
		}
		rec := shared.at(r.tail)
		head := rec.head()
		if head == 0 {
			break
		}
		size := recordLength(head)
		switch head & typeMask {
		case recAlloc, recAbandon:
			asked += rec[3]
			made++
			r.take(head, rec)
		case recStack:
			r.takeStack(head, shared.words(r.tail, int(size/8)))
		case recPad:
		default:
			r.take(head, rec)
		}
		if size == recordSize {
			*(*[recordSize / 8]uint64)(rec[:]) = [recordSize / 8]uint64{}
		} else {
			clear(shared.words(r.tail, int(size/8)))
		}
		r.tail += size
		if r.tail-r.released >= ringSize/16 {
			r.release()
		}
	}
	r.forgetExited()
	r.release()
	after, now := r.p.cfg.Sink.Heap()
	// The core has added what was asked for; what of that is live remains.
	r.p.shared.word(hdLive).Add(after - before - asked)
	r.p.shared.word(hdBlocks).Add(now - blocks - made)
	return count
}

// look tells the sink of what the next records are about, and fetches what is
// known of their stacks.
func (r *reader) look() {
	n := 0
	for at := r.tail; n < lookAhead; n++ {
		rec := r.p.shared.at(at)
		head := rec.head()
		if head == 0 || head&typeMask > recAbandon {
			break
		}
		r.soon[n] = rec[2]
		r.lines[n] = uintptr(unsafe.Pointer(&r.stacks[head>>stackShift%(1<<stackBits)]))
		at += recordLength(head)
	}
	prefetch.Read(r.lines[:n])
	r.p.cfg.Sink.Soon(r.soon[:n])
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
		delete(r.overflow, tid)
	}
}

// recordLength is the length of a record in bytes: a multiple of 16 that is not 0
// and not more than the ring has, whatever the first word is.
func recordLength(head uint64) uint64 {
	switch head & typeMask {
	case recStack:
		return (16 + 8*(head>>countShift&0xfff) + 15) &^ 15
	case recPad:
		// Nothing keeps the inferior from writing nonsense to the ring.
		return min(max(head>>countShift, 1), ringSize/16) * 16
	}
	if head&flagLong != 0 {
		return longRecord
	}
	return recordSize
}

// release lets the inferior use the room of the records that were handled.
func (r *reader) release() {
	if r.tail == r.released {
		return
	}
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
func (p *Probe) Stats() Stats {
	if p.closed {
		return p.stats
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts()
}

func (p *Probe) counts() Stats {
	s, h := p.stats, p.shared
	s.Stacks, s.Walks, s.Waits = h.word(hdNew).Load(), h.word(hdWalks).Load(), h.word(hdFull).Load()
	s.Lost, s.LostSt, s.NoThread = h.word(hdLost).Load(), h.word(hdLostSt).Load(), h.word(hdNoSlot).Load()
	return s
}

// Resumed and Stopped bracket the time in which the inferior runs: its clock
// stands still in between.
func (p *Probe) Resumed(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = false
	p.clock.resume(now)
}

// Idle takes time out of the inferior's: hdb's own work, during which a thread
// stood still.
func (p *Probe) Idle(d time.Duration) { p.clock.idle.Add(int64(d)) }

// Exclusive runs f while no event is handled, and after those that are complete
// have been.
func (p *Probe) Exclusive(f func()) {
	if p.closed {
		f()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainAll()
	f()
}

// Stopped handles what the threads recorded before they all stopped.
func (p *Probe) Stopped() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.Drain()
}
