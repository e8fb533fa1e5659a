package capture

import (
	"math/bits"
	"slices"
)

// The model of the heap and of the program that the encoder and the decoder of
// a chunk of events both run. It predicts the next event, and the chunk stores
// how far that was wrong. It begins empty with each chunk, so that a chunk can
// be decoded without those before it.
//
// Everything in this file is part of the wire format.

// Places say where a new block lies. A place at or above place1Deeper is an
// entry of the free list below its top.
const (
	place1Top     = iota // the block of its class that was freed last
	place1Bump           // behind the thread's previous block
	place1Stride         // as far from the class's previous block as that was from the one before
	place1Old            // at the block handed in
	place1Unknown        // the block of unknown class that was freed last
	place1Literal        // elsewhere: by its distance from place1Bump
	place1Deeper

	maxDepth1 = 16 // places below the top that are looked at
)

// unknownClass1 is the class of blocks that are older than the chunk.
const unknownClass1 = ^uint64(0)

// A block1 is an address that the chunk allocated, or freed without having
// allocated it.
type block1 struct {
	addr, size uint64
	next       int32 // the next older entry of its free list, or -1
	list       int32 // in no list: -1; else the index of the class << 1 | listFree1
	stack      int32 // index of the stack of the event that made it, -1 if that is older
}

// listFree1 is set in block.list until the block is taken. A block that was in a
// list is never put into one again: that would make a cycle.
const listFree1 = 1

func (b *block1) free() bool { return b.list >= 0 && b.list&listFree1 != 0 }

// A class1 is what one thread allocated and freed of one size.
type class1 struct {
	head       int32  // youngest entry of the free list, or -1
	last, prev uint64 // addresses allocated last and before that
}

// smallClasses1 are found without a search: chunks below a KiB.
const smallClasses1 = 64

// A thread1 is what one thread did last.
type thread1 struct {
	bump    uint64               // end of the block it allocated last
	stack   uint32               // index of the stack of its last event
	unknown int32                // as small, of unknownClass1
	small   [smallClasses1]int32 // by chunk size / 16: index into classes, from 1
}

// A habit1 is what events with one stack did last.
type habit1 struct {
	next      uint32 // index of the stack that followed in the thread
	size, aux uint64
}

// A model1 predicts events.
type model1 struct {
	blocks  []block1 // by ordinal: the order in which they became known
	at      blockIndex
	classes []class1
	classAt table[uint64] // thread and size of classes that are not small -> index into classes
	threads []thread1
	habits  []habit1 // by index of the stack; habits[0] is of events without one
	now     int32    // index of the stack of this event
	origins [numOrigins1]origin1
}

// An origin1 says where a block is from: the stack of the event that made it, if
// that was recorded.
type origin1 struct {
	stack    StackID
	recorded bool
}

// numOrigins1 is the number of origins of older blocks that are remembered, by
// size: blocks of one size are often made in one place.
const numOrigins1 = 256

// origin is where the block that the event ends is probably from; ord is its
// ordinal or -1, ids are the stacks by their index. Older blocks have a place
// in origins.
func (m *model1) origin(e *Event, ord int32, ids []StackID) (expected origin1, older *origin1) {
	switch {
	case e.Kind == Alloc:
		return origin1{}, nil // nothing was there
	case ord >= 0 && m.blocks[ord].stack >= 0:
		return origin1{ids[m.blocks[ord].stack], true}, nil
	}
	older = &m.origins[e.Size%numOrigins1]
	return *older, older
}

func (m *model1) reset() {
	m.blocks = m.blocks[:0]
	m.classes = m.classes[:0]
	m.at.reset()
	m.classAt.reset()
	m.threads = m.threads[:0]
	m.habits = append(m.habits[:0], habit1{})
	m.origins = [numOrigins1]origin1{}
}

// class is the index of the class of blocks of that size in that thread.
func (m *model1) class(thread int, size uint64) int32 {
	t := &m.threads[thread]
	i, chunk := &t.unknown, chunkSize(size)>>4
	if size != unknownClass1 {
		if chunk >= smallClasses1 {
			return m.largeClass(thread, chunk)
		}
		i = &t.small[chunk]
	}
	if *i == 0 {
		m.classes = append(m.classes, class1{head: -1})
		*i = int32(len(m.classes))
	}
	return *i - 1
}

// largeClass is the class of blocks whose chunks have that size / 16.
func (m *model1) largeClass(thread int, chunk uint64) int32 {
	i, found := m.classAt.at(chunk^bits.RotateLeft64(uint64(thread), 48), int32(len(m.classes)))
	if !found {
		m.classes = append(m.classes, class1{head: -1})
	}
	return i
}

// top drops the entries of the class's list that were taken meanwhile and
// returns the first that was not, or -1.
func (m *model1) top(class int32) int32 {
	c := &m.classes[class]
	for c.head >= 0 && !m.blocks[c.head].free() {
		c.head = m.blocks[c.head].next
	}
	return c.head
}

// allocated notes a block of a size at a, made by thread, where s is the slot of
// a.
func (m *model1) allocated(thread int, class int32, s blockSlot, a, size uint64) {
	c := &m.classes[class]
	c.prev, c.last = c.last, a
	m.threads[thread].bump = a + chunkSize(size)
	m.add(s, a, size, m.now)
}

// resized notes that the block at a, whose slot is s, got a new size without
// moving. Its ordinal is ord, or -1 if it was not named by its age.
func (m *model1) resized(thread int, ord int32, s blockSlot, a, size uint64) {
	t := &m.threads[thread]
	if ord >= 0 && t.bump == a+chunkSize(m.blocks[ord].size) {
		t.bump = a + chunkSize(size)
	}
	m.add(s, a, size, m.now)
}

// expect is the stack that the thread's next event probably has.
func (m *model1) expect(thread int) uint32 { return m.habits[m.threads[thread].stack].next }

// ran notes that the thread's next event had that stack.
func (m *model1) ran(thread int, stack uint32) {
	t := &m.threads[thread]
	m.habits[t.stack].next = stack
	t.stack = stack
}

// candidate is the address that place names for a block of the class, if it
// names one.
func (m *model1) candidate(class int32, thread, place int) (a uint64, ok bool) {
	ord := int32(-1)
	switch {
	case place == place1Bump:
		return m.threads[thread].bump, true
	case place == place1Stride:
		c := &m.classes[class]
		return c.last + (c.last - c.prev), true
	case place == place1Unknown:
		ord = m.top(m.class(thread, unknownClass1))
	case place == place1Top, place >= place1Deeper && place < place1Deeper+maxDepth1:
		ord = m.top(class)
		for ; ord >= 0 && place >= place1Deeper; place-- {
			ord = m.blocks[ord].next
		}
	}
	if ord < 0 {
		return 0, false
	}
	return m.blocks[ord].addr, true
}

// find is the slot of the address a.
func (m *model1) find(a uint64) blockSlot { return m.at.find(m.blocks, a) }

// add makes a block of a size and stack the one at a, whose slot s was found since
// the last block was added. The fields are written one by one: the processor would
// wait for those of a copy before it reads them in larger pieces.
func (m *model1) add(s blockSlot, a, size uint64, stack int32) {
	if s.ord >= 0 {
		if old := &m.blocks[s.ord]; old.list >= 0 {
			old.list &^= listFree1
		}
	}
	n := len(m.blocks)
	if n == cap(m.blocks) {
		m.blocks = slices.Grow(m.blocks, 1)
	}
	m.blocks = m.blocks[:n+1]
	b := &m.blocks[n]
	b.addr, b.size, b.next, b.list, b.stack = a, size, -1, -1, stack
	m.at.set(s, m.blocks)
}

// freed notes that thread freed the block at a, with that ordinal or -1 if it
// is older than the chunk.
func (m *model1) freed(thread int, ord int32, a uint64) {
	var s blockSlot
	if ord < 0 {
		s = m.find(a)
	}
	m.freedAt(thread, ord, s, a)
}

// freedAt is freed where s is the slot of a, of which only an older block's is asked
// for.
func (m *model1) freedAt(thread int, ord int32, s blockSlot, a uint64) {
	if ord < 0 {
		ord = int32(len(m.blocks))
		m.add(s, a, unknownClass1, -1)
	}
	b := &m.blocks[ord]
	if b.list >= 0 {
		return // freed twice
	}
	class := m.class(thread, b.size)
	b.next = m.top(class)
	b.list = class<<1 | listFree1
	m.classes[class].head = ord
}

// gave notes an event that made the block e.Addr of the class, or failed to; s
// is the slot of e.Addr, and old the ordinal of e.Old or -1.
func (m *model1) gave(thread int, sh shape, e *Event, class int32, s blockSlot, old int32) {
	if sh.has(shapeFailed) {
		return
	}
	if sh.has(shapeOld) && sh.has(shapeAddr) && e.Old == e.Addr {
		m.resized(thread, old, s, e.Addr, e.Size)
		return
	}
	if sh.has(shapeAddr) {
		m.allocated(thread, class, s, e.Addr, e.Size)
	}
	if sh.has(shapeOld) {
		m.freed(thread, old, e.Old)
	}
}

// sizeOf is the size of the block with that ordinal, 0 if it is not known.
func (m *model1) sizeOf(ord int32) uint64 {
	if ord < 0 || m.blocks[ord].size == unknownClass1 {
		return 0
	}
	return m.blocks[ord].size
}

// unfront is the inverse of front.
func unfront(predicted, code uint64) uint64 {
	switch {
	case code == 0:
		return predicted
	case code <= predicted:
		return code - 1
	}
	return code
}

// goneSize is the size that the block an event ends probably has.
func (m *model1) goneSize(e *Event, ord int32) uint64 {
	if e.Kind == Free {
		return e.Size
	}
	return m.sizeOf(ord)
}
