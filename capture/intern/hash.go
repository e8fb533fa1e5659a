package intern

import (
	"math/bits"

	"hdb/capture"
)

// A table maps numbers to non-negative int32. It is an open hash table that
// never forgets a key before reset.
type Table[K uint32 | uint64] struct {
	slots []tableSlot[K]
	Len   int
}

// A tableSlot is empty if after is 0. Slots of small keys are small: those of
// all stacks of a chunk shall fit in the cache.
type tableSlot[K uint32 | uint64] struct {
	key   K
	after int32 // the value + 1
}

func (t *Table[K]) Reset() {
	t.Len = 0
	if t.slots == nil {
		t.slots = make([]tableSlot[K], 256)
	} else {
		clear(t.slots)
	}
}

// find is the slot of key, or the empty one where it belongs.
func (t *Table[K]) find(key K) *tableSlot[K] {
	mask := uint64(len(t.slots) - 1)
	for i := Mix(uint64(key)) >> 32 & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.after == 0 || s.key == key {
			return s
		}
	}
}

// At is the value of key, which becomes v if it had none.
func (t *Table[K]) At(key K, v int32) (value int32, found bool) {
	s := t.find(key)
	if s.after != 0 {
		return s.after - 1, true
	}
	*s = tableSlot[K]{key, v + 1}
	if t.Len++; 2*t.Len > len(t.slots) {
		t.grow()
	}
	return v, false
}

func (t *Table[K]) grow() {
	old := t.slots
	t.slots = make([]tableSlot[K], 2*len(old))
	for _, s := range old {
		if s.after != 0 {
			*t.find(s.key) = s
		}
	}
}

// HashAddr is the hash of an address.
func HashAddr(a uint64) uint64 {
	hi, lo := bits.Mul64(a^0x8bb84b93962eacc9, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// An Index maps the IDs of stacks to numbers. A number that was never written
// is any: who asks looks whether what has that number is of that stack. So there is
// nothing to forget from one chunk to the next.
type Index struct {
	dense []uint32                    // by ID
	far   map[capture.StackID]*uint32 // those of IDs from denseStacks on
}

const denseStacks = 1 << 22

// Slot is where the number of a stack is.
func (x *Index) Slot(id capture.StackID) *uint32 {
	if int(id) < len(x.dense) {
		return &x.dense[id]
	}
	return x.newSlot(id)
}

const NoNumber = 1<<32 - 1

// Known is the number of a stack, which may be any, noNumber if the stack has no place for one or
// is one of the far ones.
func (x *Index) Known(id capture.StackID) uint32 {
	if int(id) < len(x.dense) {
		return x.dense[id]
	}
	return NoNumber
}

func (x *Index) newSlot(id capture.StackID) *uint32 {
	if id < denseStacks {
		x.dense = append(x.dense, make([]uint32, max(int(id)+1, 2*len(x.dense), 256)-len(x.dense))...)
		return &x.dense[id]
	}
	slot := x.far[id]
	if slot == nil {
		if x.far == nil {
			x.far = map[capture.StackID]*uint32{}
		}
		slot = new(uint32)
		x.far[id] = slot
	}
	return slot
}
