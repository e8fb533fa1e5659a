package capture

import "math"

// A step is what an event did to one block of the heap, as far as a checkpoint
// needs to know, or a range of addresses that it was about. Steps are noted while
// events are encoded, in some two nanoseconds; the rest is done by the queue.
type step struct {
	addr, size uint64
	gone       uint64 // ended: the number of the event that made the block, 0 if unknown
	rel        uint32 // made: the event's number minus that of the chunk's first
	stack      StackID
	tid        int32
	fn         uint16
	kind       Kind
	what       stepKind
}

type stepKind uint8

const (
	stepMade  stepKind = iota // a recorded block began
	stepEnded                 // a recorded block ended, by a call that says so
	stepLost                  // a recorded block ended that nobody gave back
	stepOther                 // something else was done at these addresses
)

// A trail is the steps of a chunk's events.
type trail struct {
	steps []step
	fresh bool // the program was replaced before the first event
}

// follow notes what an event did whose number minus that of the chunk's first is
// rel.
func (t *trail) follow(e *Event, rel uint64) {
	if e.Gone.Recorded {
		s := step{addr: e.Addr, size: e.Gone.Size, gone: e.Gone.Seq, what: stepEnded}
		switch {
		case e.Kind == Realloc && e.Old != 0:
			s.addr = e.Old
		case e.Kind != Free:
			s.what = stepLost
		}
		t.steps = append(t.steps, s)
	} else if e.Old != 0 {
		t.steps = append(t.steps, step{addr: e.Old, size: 1, what: stepOther})
	}
	switch {
	case e.Allocates():
		s := step{addr: e.Addr, size: e.Size, rel: uint32(rel), stack: e.Stack, tid: e.TID, fn: e.Func, kind: e.Kind}
		if rel > math.MaxUint32 {
			s.addr = 0 // no such block: who keeps the checkpoints gives up
		}
		t.steps = append(t.steps, s)
	case e.Addr != 0 && (e.Kind != Free || e.Size > e.Gone.Size || !e.Gone.Recorded):
		t.steps = append(t.steps, step{addr: e.Addr, size: e.Size, what: stepOther})
	}
}
