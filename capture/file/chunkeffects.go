package file

import (
	"slices"
	"unsafe"

	"hdb/capture"
)

// A chunkEffects is what a chunk of events did to the heap, as far as checkpoints and the
// addresses of the chunk need to know. It is noted while events are encoded, in a
// nanosecond or two; the rest is done by the queue.
type chunkEffects struct {
	made   []madeBlock         // by event; for all of a word of live, or none
	odd    []oddBlock          // that do not fit there
	live   eventSet            // the events that made a block which no event named as ended
	ended  []uint64            // the events that made the other blocks that ended, 0 if unknown
	seqs   []uint64            // the events' numbers; none if nothing is left out between them
	stacks []capture.StackID   // by index of the stack
	ops    []shape             // the shapes of ops, by index
	sums   []capture.ThreadSum // by index of the thread
	sizes  sizeSums
	before []int32 // threads whose blocks, made in the chunk before, were temporary
	whole  bool    // all is noted
	fresh  bool    // the program was replaced before the first event

	renumbered bool // some events were renumbered: ended may refer to the wrong ones
}

// A madeBlock is what is known of the event that made a block. It takes 16 bytes: those
// of a chunk shall fit in the cache.
type madeBlock struct {
	where  uint64 // the address, and above it the index of the op
	size   uint32
	stack  uint16 // index; oddStack: the address is the index of an oddBlock, whose by is the stack
	thread uint16 // index
}

// word is all but where as one number, see madeWord.
func (m *madeBlock) word() *uint64 { return (*uint64)(unsafe.Pointer(&m.size)) }

func madeWord(size uint32, stack, thread uint16) uint64 {
	return uint64(size) | uint64(stack)<<32 | uint64(thread)<<48
}

// This does not compile if the fields are elsewhere than madeWord expects.
const (
	_ = uint(unsafe.Offsetof(madeBlock{}.stack) - unsafe.Offsetof(madeBlock{}.size) - 4)
	_ = uint(4 + unsafe.Offsetof(madeBlock{}.size) - unsafe.Offsetof(madeBlock{}.stack))
	_ = uint(unsafe.Offsetof(madeBlock{}.thread) - unsafe.Offsetof(madeBlock{}.size) - 6)
	_ = uint(6 + unsafe.Offsetof(madeBlock{}.size) - unsafe.Offsetof(madeBlock{}.thread))
)

const oddStack = 1<<16 - 1

// put notes the block that event #index made.
func (o *chunkEffects) put(index int, addr, size uint64, stack uint32, op, thread int) {
	m := &o.made[index] // field by field: the processor would wait for those of a copy
	m.size, m.thread = uint32(size), uint16(thread)
	if addr>>addrBits|size>>32 != 0 || stack >= oddStack {
		addr, stack = o.putOdd(addr, size, stack), oddStack
	}
	m.where, m.stack = uint64(op)<<addrBits|addr, uint16(stack)
}

func (o *chunkEffects) putOdd(addr, size uint64, stack uint32) uint64 {
	o.odd = append(o.odd, oddBlock{addr, size, stack})
	return uint64(len(o.odd) - 1)
}

// block is the block, and the index of the stack where it was made.
func (o *chunkEffects) block(m *madeBlock) (addr, size uint64, stack uint32) {
	addr = m.where & (1<<addrBits - 1)
	if m.stack == oddStack {
		b := &o.odd[addr]
		return b.addr, b.size, b.by
	}
	return addr, uint64(m.size), uint32(m.stack)
}

// sizeSums count blocks by their sizes.
type sizeSums struct {
	allocs, temporary           [smallSizes]uint32 // by size
	largeAllocs, largeTemporary []uint64           // the sizes of the others
}

const smallSizes = 1024

// reset begins a chunk; what ended is the end of the last event of the chunk before.
func (o *chunkEffects) reset() {
	o.odd, o.seqs, o.before = o.odd[:0], o.seqs[:0], o.before[:0]
	o.stacks, o.ops, o.sums = append(o.stacks[:0], 0), o.ops[:0], o.sums[:0]
	o.sizes.reset()
	o.fresh, o.renumbered = false, false
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
		s.largeAllocs = append(roomy(s.largeAllocs, 1024), size)
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
// that was perhaps not used before.
func roomy[T any](s []T, least int) []T {
	if len(s) < cap(s) {
		return s
	}
	more := make([]T, len(s), max(4*len(s), least))
	copy(more, s)
	return more
}

// room makes room for the blocks of n events.
func (o *chunkEffects) room(events int) {
	if events > len(o.made) {
		o.made = slices.Grow(o.made, events-len(o.made))[:events]
	}
}

// noteEnd notes that the last event ended a block, which event #seq made.
func (o *chunkEffects) noteEnd(seq uint64) {
	o.ended = append(roomy(o.ended, eventsPerChunk), seq)
}

// indexOf is the event of the chunk with a number.
func (o *chunkEffects) indexOf(head *eventHead, seq uint64) (index int, ok bool) {
	if len(o.seqs) > 0 {
		return slices.BinarySearch(o.seqs, seq)
	}
	return int(seq - head.first), seq-head.first < uint64(head.count)
}
