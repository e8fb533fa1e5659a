package capture

import "math/bits"

// The hash tables of the model. Their layout is no part of the wire format.

// A table maps numbers to non-negative int32. It is an open hash table that
// never forgets a key before reset.
type table[K uint32 | uint64] struct {
	slots []tableSlot[K]
	len   int
}

// A tableSlot is empty if after is 0. Slots of small keys are small: those of
// all stacks of a chunk shall fit in the cache.
type tableSlot[K uint32 | uint64] struct {
	key   K
	after int32 // the value + 1
}

func (t *table[K]) reset() {
	t.len = 0
	if t.slots == nil {
		t.slots = make([]tableSlot[K], 256)
	} else {
		clear(t.slots)
	}
}

// find is the slot of key, or the empty one where it belongs.
func (t *table[K]) find(key K) *tableSlot[K] {
	mask := uint64(len(t.slots) - 1)
	for i := mix(uint64(key)) >> 32 & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.after == 0 || s.key == key {
			return s
		}
	}
}

// at is the value of key, which becomes v if it had none.
func (t *table[K]) at(key K, v int32) (value int32, found bool) {
	s := t.find(key)
	if s.after != 0 {
		return s.after - 1, true
	}
	*s = tableSlot[K]{key, v + 1}
	if t.len++; 2*t.len > len(t.slots) {
		t.grow()
	}
	return v, false
}

func (t *table[K]) grow() {
	old := t.slots
	t.slots = make([]tableSlot[K], 2*len(old))
	for _, s := range old {
		if s.after != 0 {
			*t.find(s.key) = s
		}
	}
}

// A blockIndex finds the ordinal of the block at an address. It holds nothing
// but ordinals and a few bits of the hash, so that a chunk's fits in the cache:
// the addresses are in the blocks.
type blockIndex struct {
	slots []uint32 // empty: 0; else bits of the hash above ordBits, and the ordinal + 1
	shift uint8    // hash >> shift is the index
	len   int
}

// hashAddr is the hash of an address.
func hashAddr(a uint64) uint64 {
	hi, lo := bits.Mul64(a^0x8bb84b93962eacc9, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// ordBits suffice for two blocks of each of maxEvents.
const (
	ordBits = 20
	ordMask = 1<<ordBits - 1
)

// A blockSlot is where an address is found, or where it belongs.
type blockSlot struct {
	index uint32
	tag   uint32 // bits of the hash
	ord   int32  // of the block there, or -1
}

func (t *blockIndex) reset() {
	t.len = 0
	if t.slots == nil {
		t.resize(1024)
	} else {
		clear(t.slots)
	}
}

func (t *blockIndex) resize(n int) {
	t.slots = make([]uint32, n)
	t.shift = uint8(64 - bits.TrailingZeros(uint(n)))
}

func (t *blockIndex) find(blocks []block1, a uint64) blockSlot {
	h := hashAddr(a)
	tag := uint32(h) << ordBits
	mask := uint32(len(t.slots) - 1)
	for i := uint32(h >> (t.shift & 63)); ; i++ {
		s := t.slots[i&mask]
		if s == 0 {
			return blockSlot{i & mask, tag, -1}
		}
		if s&^ordMask == tag && blocks[s&ordMask-1].addr == a {
			return blockSlot{i & mask, tag, int32(s&ordMask) - 1}
		}
	}
}

// set makes the last block the one that s finds.
func (t *blockIndex) set(s blockSlot, blocks []block1) {
	t.slots[s.index] = s.tag | uint32(len(blocks))
	if s.ord >= 0 {
		return
	}
	if t.len++; 2*t.len > len(t.slots) {
		t.grow(blocks)
	}
}

func (t *blockIndex) grow(blocks []block1) {
	old := t.slots
	t.resize(2 * len(old))
	for _, v := range old {
		if v != 0 {
			s := t.find(blocks, blocks[v&ordMask-1].addr)
			t.slots[s.index] = s.tag | v&ordMask
		}
	}
}

// A stackIndex maps the IDs of stacks to numbers. A number that was never written
// is any: who asks looks whether what has that number is of that stack. So there is
// nothing to forget from one chunk to the next.
type stackIndex struct {
	dense []uint32            // by ID
	far   map[StackID]*uint32 // those of IDs from denseStacks on
}

const denseStacks = 1 << 22

// slot is where the number of a stack is.
func (x *stackIndex) slot(id StackID) *uint32 {
	if int(id) < len(x.dense) {
		return &x.dense[id]
	}
	return x.newSlot(id)
}

const noNumber = 1<<32 - 1

// known is the number of a stack, which may be any, noNumber if the stack has no place for one or
// is one of the far ones.
func (x *stackIndex) known(id StackID) uint32 {
	if int(id) < len(x.dense) {
		return x.dense[id]
	}
	return noNumber
}

func (x *stackIndex) newSlot(id StackID) *uint32 {
	if id < denseStacks {
		x.dense = append(x.dense, make([]uint32, max(int(id)+1, 2*len(x.dense), 256)-len(x.dense))...)
		return &x.dense[id]
	}
	slot := x.far[id]
	if slot == nil {
		if x.far == nil {
			x.far = map[StackID]*uint32{}
		}
		slot = new(uint32)
		x.far[id] = slot
	}
	return slot
}
