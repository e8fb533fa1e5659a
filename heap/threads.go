package heap

import (
	"math"

	"hdb/capture"
)

// Threads counts for each thread what it allocated, stack by stack, and how much of it is live,
// whichever thread frees it. A recording's summaries do not tell threads apart: each event is
// looked at, once. It takes 16 bytes and more for a live block. It is not safe for concurrent use;
// the recording may grow meanwhile.
type Threads struct {
	src   capture.Source
	state *Replay // whose blocks have the index of their flow for a stack
	next  uint64

	now, highest Point
	most         uint64 // bytes at the highest point, with those besides blocks
	index        map[threadStack]uint32
	flows        []ThreadFlow

	// ClassOf tells blocks of a stack apart by their size, if it is not nil. It is set before
	// the first event.
	ClassOf func(size uint64) uint64

	// Besides is how many bytes count after an event besides the blocks, for Highest; nil: none. It is set
	// before the first event, and asked about events that ascend.
	Besides func(seq uint64) uint64

	goroutines map[uint64]bool // that have been met, see ByGoroutine; nil: threads are distinguished
}

// A ThreadFlow is what one thread allocated with one stack, of a class of sizes.
type ThreadFlow struct {
	TID   int32  // see ByGoroutine
	Class uint64 // as Threads.ClassOf numbers it, 0 without
	capture.Flow
}

// MoreGoroutines represents those that were met when maxGoroutines had been.
const MoreGoroutines = math.MinInt32

// maxGoroutines bounds those that are distinguished: a server has a new one for each request.
const maxGoroutines = 4096

// ByGoroutine has the allocations of a Go runtime count for goroutines in place of threads, whose
// numbers, less than 0, represent TIDs: -17 is goroutine 17.
func (t *Threads) ByGoroutine() *Threads {
	t.goroutines = map[uint64]bool{}
	return t
}

// runner is the thread of an allocation, or its goroutine.
func (t *Threads) runner(e *capture.Event) int32 {
	if t.goroutines == nil || e.Aux == 0 {
		return e.TID
	}
	functions := t.src.Functions()
	if int(e.Func) >= len(functions) {
		return e.TID
	}
	id, ok := e.Goroutine(functions[e.Func])
	switch {
	case !ok || id == 0:
		return e.TID
	case t.goroutines[id]:
	case len(t.goroutines) == maxGoroutines || id > math.MaxInt32:
		return MoreGoroutines
	default:
		t.goroutines[id] = true
	}
	return -int32(id)
}

type threadStack struct {
	tid   int32
	stack capture.StackID
	class uint64
}

// NewThreads is a recording before its first event.
func NewThreads(src capture.Source) *Threads {
	return &Threads{src: src, state: &Replay{Live: NewLive()}, index: map[threadStack]uint32{}}
}

// Update looks at the next events, at most limit, and reports whether these were all.
func (t *Threads) Update(limit int) (all bool) { return t.UpdateTo(limit, End) }

// UpdateTo is Update up to event #to.
func (t *Threads) UpdateTo(limit int, to uint64) (all bool) {
	t.state.execs = t.state.execs[:0]
	for _, seq := range t.src.Execs() {
		if seq >= t.next { // those before have been followed
			t.state.execs = append(t.state.execs, seq)
		}
	}
	for e := range t.src.Events(t.next) {
		if e.Seq > to {
			break
		}
		if limit--; limit < 0 {
			return false
		}
		t.step(&e)
	}
	return true
}

// Follow looks at the events behind #from up to #to, as if there had been none before:
// of blocks that are older nothing is counted. Of the moments, which are events that
// ascend, it tells when they are over.
func (t *Threads) Follow(from, to uint64, moments []uint64, at func(i int)) {
	told := 0
	before := func(seq uint64) {
		for ; told < len(moments) && moments[told] < seq; told++ {
			at(told)
		}
	}
	t.state.execs = t.src.Execs()
	for e := range t.src.Events(from + 1) {
		before(e.Seq)
		if e.Seq > to {
			break
		}
		t.step(&e)
	}
	if to == End && t.state.Before(to) != nil { // an exec after the last event
		t.replaced()
	}
	before(End)
}

func (t *Threads) step(e *capture.Event) {
	if t.state.Before(e.Seq) != nil {
		t.replaced()
	}
	t.event(e)
	t.next, t.now.Seq, t.now.Time = e.Seq+1, e.Seq, e.Time
	all := t.now.Live
	if t.Besides != nil {
		all += t.Besides(e.Seq)
	}
	if all > t.most {
		t.highest, t.most = t.now, all
	}
}

func (t *Threads) replaced() {
	t.now.Live, t.now.Blocks = 0, 0
	for i := range t.flows {
		f := &t.flows[i].Flow
		f.Frees, f.Freed = f.Allocs, f.Bytes
	}
}

// event counts an event, as capture.Summary does: the block that it says is gone.
func (t *Threads) event(e *capture.Event) {
	var flow *ThreadFlow
	mine := *e
	if e.Allocates() {
		mine.Stack = t.flow(e)
	}
	if gone, ok := t.state.Apply(&mine); ok {
		flow = &t.flows[gone.Stack]
		flow.Frees++
		flow.Freed += gone.Size
		t.now.Live -= gone.Size
		t.now.Blocks--
		if e.Ended.Temporary {
			flow.Temporary++
		}
	}
	if e.Allocates() {
		flow = &t.flows[mine.Stack]
		flow.Allocs++
		flow.Bytes += e.Size
		t.now.Live += e.Size
		t.now.Blocks++
	}
}

// flow is the index of the flow of a thread.
func (t *Threads) flow(e *capture.Event) capture.StackID {
	key := threadStack{tid: t.runner(e), stack: e.Stack}
	if t.ClassOf != nil {
		key.class = t.ClassOf(e.Size)
	}
	i, ok := t.index[key]
	if !ok {
		i = uint32(len(t.flows))
		t.index[key] = i
		t.flows = append(t.flows, ThreadFlow{TID: key.tid, Class: key.class, Flow: capture.Flow{Stack: key.stack}})
	}
	return capture.StackID(i)
}

// Flows are those of all threads, in the order in which they began. They are valid
// until the next Update.
func (t *Threads) Flows() []ThreadFlow { return t.flows }

// Now is what is live after the last event that was looked at.
func (t *Threads) Now() Point { return t.now }

// Highest is the point at which most was live for the first time.
func (t *Threads) Highest() Point { return t.highest }

// Seen is the number of the last event that was looked at.
func (t *Threads) Seen() uint64 { return max(t.next, 1) - 1 }
