package capture

import "slices"

// An outcome is what a chunk of events did to the heap, as far as checkpoints and the
// addresses of the chunk need to know. It is noted while events are encoded, in a
// nanosecond or two; the rest is done by the queue.
type outcome struct {
	made   []madeBlock    // by event
	born   eventSet       // the events that made a block
	live   eventSet       // those of them whose block no event named as ended
	ended  []uint64       // the events that made the other blocks that ended, 0 if unknown
	others []touchedBlock // more addresses that the events were about
	seqs   []uint64       // the events' numbers; none if nothing is left out between them
	stacks []StackID      // by index of the stack
	ops    []shape        // the shapes of ops, by index
	sums   []ThreadSum    // by index of the thread
	sizes  sizeSums
	before []int32 // threads whose blocks, made in the chunk before, were temporary
	whole  bool    // all is noted
	fresh  bool    // the program was replaced before the first event
}

// A madeBlock is what is known of the event that made a block.
type madeBlock struct {
	addr, size uint64
	stack      uint32 // index
	op, thread uint16 // indices
}

// A touchedBlock is addresses.
type touchedBlock struct{ addr, size uint64 }

// sizeSums count blocks by their sizes.
type sizeSums struct {
	allocs, temporary           [smallSizes]uint32 // by size
	largeAllocs, largeTemporary []uint64           // the sizes of the others
}

const smallSizes = 1024

// reset begins a chunk; what ended is that of the last event of the one before.
func (o *outcome) reset() {
	o.born.reset(eventsPerChunk)
	o.others, o.seqs, o.before = o.others[:0], o.seqs[:0], o.before[:0]
	o.stacks, o.ops, o.sums = append(o.stacks[:0], 0), o.ops[:0], o.sums[:0]
	o.sizes.reset()
	o.fresh = false
}

func (s *sizeSums) reset() {
	clear(s.allocs[:])
	clear(s.temporary[:])
	s.largeAllocs, s.largeTemporary = s.largeAllocs[:0], s.largeTemporary[:0]
}

// made counts a block.
func (s *sizeSums) made(size uint64) {
	if size < smallSizes {
		s.allocs[size]++
	} else {
		s.largeAllocs = append(s.largeAllocs, size)
	}
}

// ended counts a temporary block.
func (s *sizeSums) ended(size uint64) {
	if size < smallSizes {
		s.temporary[size]++
	} else {
		s.largeTemporary = append(s.largeTemporary, size)
	}
}

// roomy is s with room for one more, and at once for many: to grow is to copy, to memory
// that was not used before. It touches none of the room, which slices.Grow would clear.
func roomy[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	more := make([]T, len(s), len(s)+max(len(s), eventsPerChunk))
	copy(more, s)
	return more
}

// room makes room for event #index of the chunk.
func (o *outcome) room(index int) {
	size := 4096
	if index >= size {
		size = eventsPerChunk
	}
	more := make([]madeBlock, size)
	copy(more, o.made)
	o.made = more
}

// indexOf is the event of the chunk with a number.
func (o *outcome) indexOf(head *eventHead, seq uint64) (index int, ok bool) {
	if len(o.seqs) > 0 {
		return slices.BinarySearch(o.seqs, seq)
	}
	return int(seq - head.first), seq-head.first < uint64(head.count)
}
