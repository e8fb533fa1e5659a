package capture

import "math/bits"

// The model of the heap and of the program that the encoder and the decoder of
// a chunk of events both run. It predicts the next event, and the chunk stores
// how far that was wrong. It begins empty with each chunk, so that a chunk can
// be decoded without those before it.
//
// Everything in this file is part of the wire format.

// Places say where a new block lies. A place at or above placeDeeper is an
// entry of the free list below its top.
const (
	placeTop     = iota // the block of its class that was freed last
	placeBump           // behind the thread's previous block
	placeStride         // as far from the class's previous block as that was from the one before
	placeOld            // at the block handed in
	placeUnknown        // the block of unknown class that was freed last
	placeLiteral        // elsewhere: by its distance from placeBump
	placeDeeper

	maxDepth = 16 // places below the top that are looked at
)

// unknownClass is the class of blocks that are older than the chunk.
const unknownClass = ^uint64(0)

// chunkSize is what malloc of glibc takes for a block: a word in front, 16-byte
// alignment, no less than 32 bytes (malloc/malloc.c, request2size). It wraps.
func chunkSize(size uint64) uint64 {
	return max((size+8+15)&^15, 32)
}

// A block is an address that the chunk allocated, or freed without having
// allocated it.
type block struct {
	addr, size uint64
	next       int32 // the next older entry of its free list, or -1
	free       bool  // not taken since it was freed
	listed     bool  // in a free list, or was: a second time would make a cycle
}

// A class is what one thread allocated and freed of one size.
type class struct {
	head       int32  // youngest entry of the free list, or -1
	last, prev uint64 // addresses allocated last and before that
}

// A threadModel is what one thread did last.
type threadModel struct {
	bump  uint64 // end of the block it allocated last
	stack uint32 // index of the stack of its last event
}

// A habit is what events with one stack did last.
type habit struct {
	next      uint32 // index of the stack that followed in the thread
	size, aux uint64
}

// A heapModel predicts events.
type heapModel struct {
	blocks  []block // by ordinal: the order in which they became known
	classes []class
	at      table // address -> ordinal of the block there
	classAt table // thread and size -> index into classes
	threads []threadModel
	habits  []habit // by index of the stack; habits[0] is of events without one
}

func (m *heapModel) reset() {
	m.blocks = m.blocks[:0]
	m.classes = m.classes[:0]
	m.at.reset()
	m.classAt.reset()
	m.threads = m.threads[:0]
	m.habits = append(m.habits[:0], habit{})
}

// class is the class of blocks of that size in that thread. The pointer is
// good until the next call.
func (m *heapModel) class(thread int, size uint64) *class {
	i, found := m.classAt.at(classKey(thread, size), int32(len(m.classes)))
	if !found {
		m.classes = append(m.classes, class{head: -1})
	}
	return &m.classes[i]
}

func classKey(thread int, size uint64) uint64 {
	if size != unknownClass {
		size = chunkSize(size) >> 4
	}
	return size ^ bits.RotateLeft64(uint64(thread), 48)
}

// top drops the entries of the class's list that were taken meanwhile and
// returns the first that was not, or -1.
func (m *heapModel) top(c *class) int32 {
	for c.head >= 0 && !m.blocks[c.head].free {
		c.head = m.blocks[c.head].next
	}
	return c.head
}

// allocated notes a block at a, of a size, made by thread.
func (m *heapModel) allocated(thread int, a, size uint64) {
	c := m.class(thread, size)
	c.prev, c.last = c.last, a
	m.threads[thread].bump = a + chunkSize(size)
	m.add(block{addr: a, size: size, next: -1})
}

// resized notes that the block at a, with that ordinal or -1, got a new size
// without moving.
func (m *heapModel) resized(thread int, ord int32, a, size uint64) {
	t := &m.threads[thread]
	if ord >= 0 && t.bump == a+chunkSize(m.blocks[ord].size) {
		t.bump = a + chunkSize(size)
	}
	m.add(block{addr: a, size: size, next: -1})
}

// expect is the stack that the thread's next event probably has.
func (m *heapModel) expect(thread int) uint32 { return m.habits[m.threads[thread].stack].next }

// ran notes that the thread's next event had that stack.
func (m *heapModel) ran(thread int, stack uint32) {
	t := &m.threads[thread]
	m.habits[t.stack].next = stack
	t.stack = stack
}

// candidate is the address that place names for a block of the class c, if it
// names one.
func (m *heapModel) candidate(c *class, thread, place int) (a uint64, ok bool) {
	ord := int32(-1)
	switch {
	case place == placeBump:
		return m.threads[thread].bump, true
	case place == placeStride:
		return c.last + (c.last - c.prev), true
	case place == placeUnknown:
		if i := m.classAt.get(classKey(thread, unknownClass)); i >= 0 {
			ord = m.top(&m.classes[i])
		}
	case place == placeTop, place >= placeDeeper && place < placeDeeper+maxDepth:
		ord = m.top(c)
		for ; ord >= 0 && place >= placeDeeper; place-- {
			ord = m.blocks[ord].next
		}
	}
	if ord < 0 {
		return 0, false
	}
	return m.blocks[ord].addr, true
}

// add makes b the block at its address.
func (m *heapModel) add(b block) {
	ord := int32(len(m.blocks))
	if old, found := m.at.at(b.addr, ord); found {
		m.blocks[old].free = false
		m.at.set(b.addr, ord)
	}
	m.blocks = append(m.blocks, b)
}

// freed notes that thread freed the block at a, with that ordinal or -1 if it
// is older than the chunk.
func (m *heapModel) freed(thread int, ord int32, a uint64) {
	if ord < 0 {
		ord = int32(len(m.blocks))
		m.add(block{addr: a, size: unknownClass, next: -1})
	}
	b := &m.blocks[ord]
	if b.listed {
		return // freed twice
	}
	c := m.class(thread, b.size)
	b.free, b.listed, b.next = true, true, m.top(c)
	c.head = ord
}

// gave notes an event that made the block e.Addr, or failed to; old is the
// ordinal of e.Old or -1.
func (m *heapModel) gave(thread int, sh shape, e *Event, old int32) {
	if sh.has(shapeFailed) {
		return
	}
	if sh.has(shapeOld) && e.Old == e.Addr {
		m.resized(thread, old, e.Addr, e.Size)
		return
	}
	if sh.has(shapeAddr) {
		m.allocated(thread, e.Addr, e.Size)
	}
	if sh.has(shapeOld) {
		m.freed(thread, old, e.Old)
	}
}

// sizeOf is the size of the block with that ordinal, 0 if it is not known.
func (m *heapModel) sizeOf(ord int32) uint64 {
	if ord < 0 || m.blocks[ord].size == unknownClass {
		return 0
	}
	return m.blocks[ord].size
}

// front codes v so that the predicted value becomes 0, and is its own kind of
// move-to-front: one to one for all of uint64.
func front(predicted, v uint64) uint64 {
	switch {
	case v == predicted:
		return 0
	case v < predicted:
		return v + 1
	}
	return v
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

// A table maps uint64 to non-negative int32. It is an open hash table that
// never forgets a key before reset.
type table struct {
	slots []tableSlot
	len   int
	epoch uint32 // slots of older epochs are empty: reset costs nothing
}

type tableSlot struct {
	key   uint64
	value int32
	epoch uint32
}

func (t *table) reset() {
	t.len = 0
	t.epoch++
	if t.epoch == 0 || t.slots == nil {
		t.slots, t.epoch = make([]tableSlot, 256), 1
	}
}

// find is the slot of key, or the empty one where it belongs.
func (t *table) find(key uint64) *tableSlot {
	mask := uint64(len(t.slots) - 1)
	for i := mix(key) >> 32 & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.epoch != t.epoch || s.key == key {
			return s
		}
	}
}

// get is the value of key, or -1.
func (t *table) get(key uint64) int32 {
	if s := t.find(key); s.epoch == t.epoch {
		return s.value
	}
	return -1
}

// at is the value of key, which becomes v if it had none.
func (t *table) at(key uint64, v int32) (value int32, found bool) {
	s := t.find(key)
	if s.epoch == t.epoch {
		return s.value, true
	}
	*s = tableSlot{key, v, t.epoch}
	if t.len++; 2*t.len > len(t.slots) {
		t.grow()
	}
	return v, false
}

// set changes the value of a key that has one.
func (t *table) set(key uint64, v int32) { t.find(key).value = v }

func (t *table) grow() {
	old := t.slots
	t.slots = make([]tableSlot, 2*len(old))
	for _, s := range old {
		if s.epoch == t.epoch {
			*t.find(s.key) = s
		}
	}
}
