package file

import (
	"iter"
	"math/bits"
	"slices"

	"hdb/capture"
)

// The model of the program and its allocator that the encoder and the decoder of a
// chunk of events both run. It predicts the next event, and the chunk stores how far
// that was wrong. It begins empty with each chunk, so that a chunk can be decoded
// without those before it.
//
// Everything in this file is part of the wire format, except what is marked as of the encoder only.

// Moves say how an event differs from what is expected of one of its shape.
const (
	moveStack  = 1 << 0 // another stack, in secStack
	moveSize   = 1 << 1 // another size, in secSize
	moveAux    = 1 << 2 // another aux, in secAux
	moveOrigin = 1 << 3 // another block ended, in secOrigin

	movePlace = 4 // shift of a place, 3 bits
	moveRef   = 7 // shift of a ref, 2 bits

	moveTemporary = 1 << 9 // the block that ended was temporary and that is not expected, or the other way round
	numMoves      = 1 << 10
)

// Places say where a new block lies.
const (
	placeTop     = iota // at the block of its class that was freed last
	placeBump           // behind the thread's previous block
	placeStride         // as far from the class's previous block as that was from the one before
	placeOld            // at the block handed in
	placeUnknown        // as placeTop, of the blocks whose size is unknown
	placeLiteral        // elsewhere: by its distance from placeBump
	placeDeeper         // at one of its class that was freed earlier

	maxDepth = 16 // blocks below the top that are looked at
)

// Refs name a block that exists.
const (
	refAge       = iota // by how many events ago it was made
	refLiteral          // by its address: it is older than the chunk, or not known
	refNext             // the next one made after the one that the ref before named
	refPredicted        // as many events ago as what the stack's event before named
)

// chunkSize is what malloc of glibc takes for a block: a word in front, 16-byte
// alignment, no less than 32 bytes (malloc/malloc.c, request2size). It wraps.
func chunkSize(size uint64) uint64 {
	return max((size+8+15)&^15, 32)
}

// A class is what one thread allocated and returned of about one size.
type class struct {
	last, prev uint64   // addresses allocated last and before that
	free       []uint64 // addresses freed and not taken from here since, the last one last
}

const (
	unknownClass = 0 // of blocks whose size is not known
	smallClasses = 64
	largeClasses = 32
	numClasses   = smallClasses + largeClasses
	maxSmall     = 16*(smallClasses-1) - 8 // the largest size of a class of its own
)

// classOf is the class of blocks of a size: one for each size of chunk below a KiB, and
// a few for all larger ones.
func classOf(size uint64) uint64 { return classOfChunk(chunkSize(size)) }

func classOfChunk(chunk uint64) uint64 {
	chunk >>= 4
	if chunk >= smallClasses {
		chunk = smallClasses + chunk%largeClasses
	}
	return chunk
}

// A threadModel is what one thread did last.
type threadModel struct {
	stack   uint32             // index of the stack of its last event
	bump    uint64             // end of the block it allocated last
	classes [numClasses]uint32 // indices; 0: there was nothing yet
}

// class is a class of a thread. It is valid until the next call.
func (m *model) class(t *threadModel, of uint64) *class {
	if at := t.classes[of]; at != 0 {
		return &m.classes[at]
	}
	return m.newClass(t, of)
}

// newClass is a class that had nothing yet. Its index is always the same if it is of the
// first thread: its memory holds as much as it had in chunks before.
func (m *model) newClass(t *threadModel, of uint64) *class {
	i := int(of) + 1
	if t != &m.threads[0] {
		i = len(m.classes)
		m.classes = slices.Grow(m.classes, 1)[:i+1]
	}
	k := &m.classes[i]
	k.last, k.prev, k.free = 0, 0, k.free[:0]
	t.classes[of] = uint32(i)
	return k
}

// unknown is what the thread returned of unknown size, nil if there was nothing.
func (m *model) unknown(t *threadModel) *class {
	if at := t.classes[unknownClass]; at != 0 {
		return &m.classes[at]
	}
	return nil
}

// released notes that the event gave a block back: at its address, or the one handed
// in.
func (m *model) released(t *threadModel, e *capture.Event) {
	a, of := e.Addr, uint64(unknownClass)
	if e.Kind != capture.Free {
		a = e.Old
	}
	if e.Ended.Recorded {
		of = classOf(e.Ended.Size)
	}
	m.class(t, of).released(a)
}

// released makes the address the top of the free list.
func (k *class) released(a uint64) {
	k.free = append(roomy(k.free, 64), a)
}

// noteAllocated notes that the event made something of the class at its address.
func (m *model) noteAllocated(t *threadModel, e *capture.Event, k *class) {
	switch {
	case e.Failed:
	case e.Addr != e.Old:
		k.prev, k.last = k.last, e.Addr
		t.bump = e.Addr + chunkSize(e.Size)
		if e.Old != 0 {
			m.released(t, e)
		}
	case e.Ended.Recorded && t.bump == e.Addr+chunkSize(e.Ended.Size):
		t.bump = e.Addr + chunkSize(e.Size)
	}
}

// below is how far below the top of the free list the address is, 0 if it is not there or the
// top.
func (k *class) below(a uint64) uint32 {
	for depth := 1; depth <= maxDepth && depth < len(k.free); depth++ {
		if k.free[len(k.free)-1-depth] == a {
			return uint32(depth)
		}
	}
	return 0
}

// taken takes the block so far below the top of the free list out.
func (k *class) taken(depth int) {
	n := len(k.free)
	copy(k.free[n-1-depth:], k.free[n-depth:])
	k.free = k.free[:n-1]
}

// A prediction is what events with one stack did last.
type prediction struct {
	id   capture.StackID // of the stack, 0 of events without one
	next uint32          // index of the stack that followed in the thread
	age  uint32          // of the block that the last ref named, in events
	size uint64
	aux  uint64
	key  uint64 // of the op that its last event had, see opKey; of the encoder only, as is op
	op   int32  // and the op's index

	// If the last event was a plain one, its thread and stack, see Event.who, and the index of its
	// class; of the encoder only, too. If not, who is 0, which no plain event has.
	threadAndStack uint64
	class          uint32
}

// An eventSet is some of the events of a chunk.
type eventSet []uint64

func (s eventSet) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }
func (s eventSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s eventSet) remove(i int)   { s[i>>6] &^= 1 << (i & 63) }

// addRange adds n events, at least one, from #i on.
func (s eventSet) addRange(i, n int) {
	last := i + n - 1
	word := i >> 6
	bits := ^uint64(0) << (i & 63)
	for ; word != last>>6; word++ {
		s[word] |= bits
		bits = ^uint64(0)
	}
	s[word] |= bits & (^uint64(0) >> (^last & 63))
}

// reset empties the set, with room for n events.
func (s *eventSet) reset(n int) {
	*s = slices.Grow((*s)[:0], (n+63)/64)[:(n+63)/64]
	clear(*s)
}

// count is how many events are in the set.
func (s eventSet) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// fill puts all n events into the set.
func (s *eventSet) fill(n int) {
	s.reset(n)
	for i := range n {
		s.add(i)
	}
}

// all yields the events of the set, ascending.
func (s eventSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// next is the first event in the set from #i on; not much further is looked.
func (s eventSet) next(i int) (at int, ok bool) {
	word := i >> 6
	if word >= len(s) {
		return 0, false
	}
	if rest := s[word] >> (i & 63); rest != 0 {
		return i + bits.TrailingZeros64(rest), true
	}
	if word++; word < len(s) && s[word] != 0 {
		return word<<6 + bits.TrailingZeros64(s[word]), true
	}
	return 0, false
}

// An origin says what a block is that is older than the chunk, if it was recorded.
type origin struct {
	stack    capture.StackID
	recorded bool
	at       int32 // index of the stack in the dictionary, of the encoder only
	size     uint64
}

// numOrigins is the number of origins of older blocks that are remembered, by
// size: blocks of one size are often made in one place.
const numOrigins = 256

// A model is what is known of the program.
type model struct {
	threads     []threadModel // by index of the thread
	classes     []class       // none is #0
	predictions []prediction  // by index of the stack; predictions[0] is of events without one
	named       eventSet      // events that made blocks which no ref has named since
	next        int           // the event after the one whose block the last ref named
	made        int           // the event that made a block last, -1 if none of the chunk has
	origins     [numOrigins]origin
	literal     uint64 // the address that a ref told last
}

// reset empties the model for a chunk of at most n events.
func (m *model) reset(n int) {
	m.threads, m.classes = m.threads[:0], slices.Grow(m.classes[:0], numClasses+1)[:numClasses+1]
	m.predictions = append(m.predictions[:0], prediction{})
	m.named.reset(n)
	m.next, m.made, m.literal = 0, -1, 0
	m.origins = [numOrigins]origin{}
}

// ref notes that the event #index named the block that the event #of made.
func (m *model) ref(h *prediction, index, of int) {
	m.named.remove(of)
	m.next = of + 1
	h.age = uint32(index - of)
}

// noteMade notes that the event #index made a block.
func (m *model) noteMade(index int) {
	m.named.add(index)
	m.made = index
}

// temporary reports whether the block that event #of of the chunk made, or an older one if of is
// -1, is expected to be temporary if it ends now.
func (m *model) temporary(of int) bool { return of >= 0 && of == m.made }

// origin is where what an event of that kind and size, which names no block of the chunk,
// probably ended is remembered; nil if it probably ended nothing.
func (m *model) origin(e *capture.Event) *origin {
	if e.Kind != capture.Free && e.Old == 0 {
		return nil
	}
	return &m.origins[e.Size%numOrigins]
}

// expects reports whether it was to be expected that the event ended g, and remembers it, with the
// index of its stack in the dictionary.
func (m *model) expects(e *capture.Event, g *capture.Ended, at int) bool {
	o := m.origin(e)
	if o == nil {
		return !g.Recorded
	}
	same := o.recorded == g.Recorded && (!g.Recorded || o.stack == g.Stack && o.sizeOf(e) == g.Size)
	o.stack, o.recorded, o.size, o.at = g.Stack, g.Recorded, g.Size, int32(at)
	return same
}

// sizeOf is the size of a block that the event ended.
func (o *origin) sizeOf(e *capture.Event) uint64 {
	if e.Kind == capture.Free {
		return e.Size
	}
	return o.size
}

// zigzag codes small numbers of both signs as small ones.
func zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }

// unzigzag is the inverse of zigzag.
func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

// distance codes the difference of two addresses. It is a zigzag whose bits 1
// to 4, which only tell that an address is not 16-byte aligned, become the
// highest ones: most differences are four bits shorter.
func distance(from, to uint64) uint64 {
	z := zigzag(to - from)
	sign, y := z&1, z>>1
	low := (y ^ -sign) & 15
	return (y>>4|low<<59)<<1 | sign
}

// undistance is the inverse of distance.
func undistance(from, code uint64) uint64 {
	sign, y := code&1, code>>1
	low := (y>>59 ^ -sign) & 15
	return from + unzigzag((y<<4&(1<<63-1)|low)<<1|sign)
}
