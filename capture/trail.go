package capture

import "math"

// A step is what an event did to one block of the heap, as far as a checkpoint
// needs to know, or a range of addresses that it was about. Steps are noted while
// events are encoded, in some two nanoseconds; the rest is done by the queue.
type step struct {
	addr, size uint64
	low, high  uint32 // made: stack, and the event's number minus that of the chunk's first; ended: see gone
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

// lostEnd is the end of a block that no event tells.
func lostEnd(seq uint64) step {
	return step{low: uint32(seq), high: uint32(seq >> 32), what: stepLost}
}

// gone is the event that made the block which ended.
func (s *step) gone() uint64 { return uint64(s.low) | uint64(s.high)<<32 }

// A trail is the steps of a chunk's events.
type trail struct {
	steps []step
	whole bool // none is missing
	fresh bool // the program was replaced before the first event
}

// next is room for a step, all of which has to be written: the memory was used before.
func (t *trail) next() *step {
	n := len(t.steps)
	if n == cap(t.steps) {
		t.steps = append(t.steps, step{})
	} else {
		t.steps = t.steps[:n+1]
	}
	return &t.steps[n]
}

// follow notes what an event did whose number minus that of the chunk's first is
// rel.
func (t *trail) follow(e *Event, rel uint64) {
	if e.Gone.Recorded {
		s := t.next()
		s.addr, s.size = e.Addr, e.Gone.Size
		s.low, s.high, s.kind, s.what = uint32(e.Gone.Seq), uint32(e.Gone.Seq>>32), e.Kind, stepEnded
		switch {
		case e.Kind == Realloc && e.Old != 0:
			s.addr = e.Old
		case e.Kind != Free:
			s.what = stepLost
		}
	} else if e.Old != 0 {
		*t.next() = step{addr: e.Old, size: 1, what: stepOther}
	}
	switch {
	case e.Allocates():
		s := t.next()
		s.addr, s.size = e.Addr, e.Size
		s.low, s.high = uint32(e.Stack), uint32(rel)
		s.tid, s.fn, s.kind, s.what = e.TID, e.Func, e.Kind, stepMade
		if rel > math.MaxUint32 {
			s.addr = 0 // no such block: who keeps the checkpoints gives up
		}
	case e.Addr != 0 && (e.Kind != Free || e.Size > e.Gone.Size || !e.Gone.Recorded):
		*t.next() = step{addr: e.Addr, size: e.Size, what: stepOther}
	}
}
