package heap

import (
	"math/bits"

	"hdb/capture"
)

// shardBits of an address's hash choose its shard.
const shardBits = 8

// A blockTable maps addresses to blocks: an open hash table with linear
// probing. It is cut into shards that grow one by one, so that the largest
// pause is that of copying a 256th of it: a few hundred microseconds when ten
// million blocks live. Nothing in it is a pointer that the garbage collector
// would follow.
type blockTable struct {
	shards [1 << shardBits]shard
	len    int
}

// A shard's slots are a power of two, at most three quarters of them taken.
type shard struct {
	slots []slot
	shift uint8 // hash>>shift, the shard's bits cut off, is a slot's index
	len   int
}

// A slot is half a cache line; it is empty if the address is 0, where no block
// can lie.
type slot struct {
	addr   uint64
	seq    uint64
	size   uint64
	stack  capture.StackID
	logged bool
}

func (s *slot) block() Block {
	return Block{Seq: s.seq, Size: s.size, Stack: s.stack, Logged: s.logged}
}

const minSlots = 16 // of a shard

// hash spreads the address over all bits: both halves of a product with a
// random constant.
func hash(addr uint64) uint64 {
	hi, lo := bits.Mul64(addr^0x8bb84b93962eacc9, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// home is where a block with that hash belongs if nothing else lies there.
func (s *shard) home(h uint64) uint64 { return h << shardBits >> (s.shift & 63) }

func (t *blockTable) shard(h uint64) *shard { return &t.shards[h>>(64-shardBits)] }

// find is the slot of the block at addr, or nil.
func (t *blockTable) find(addr uint64) *slot {
	h := hash(addr)
	s := t.shard(h)
	if i, ok := s.find(h, addr); ok {
		return &s.slots[i]
	}
	return nil
}

// find is the index of addr's slot, or of the empty one where it belongs. The
// shard has slots unless it is empty; then it is false.
func (s *shard) find(h, addr uint64) (uint64, bool) {
	mask := uint64(len(s.slots)) - 1
	if len(s.slots) == 0 || addr == 0 {
		return 0, false
	}
	for i := s.home(h); ; i++ {
		switch s.slots[i&mask].addr {
		case addr:
			return i & mask, true
		case 0:
			return i & mask, false
		}
	}
}

// put stores b at addr, which is not 0, and returns what was there.
func (t *blockTable) put(addr uint64, b Block) (old Block, replaced bool) {
	h := hash(addr)
	s := t.shard(h)
	i, found := s.find(h, addr)
	switch {
	case found:
		old = s.slots[i].block()
	case 4*(s.len+1) > 3*len(s.slots):
		s.grow()
		i, _ = s.find(h, addr)
		fallthrough
	default:
		s.len++
		t.len++
	}
	s.slots[i] = slot{addr: addr, seq: b.Seq, size: b.Size, stack: b.Stack, logged: b.Logged}
	return old, found
}

// take removes the block at addr.
func (t *blockTable) take(addr uint64) (Block, bool) {
	h := hash(addr)
	s := t.shard(h)
	i, found := s.find(h, addr)
	if !found {
		return Block{}, false
	}
	b := s.slots[i].block()
	s.remove(i)
	t.len--
	return b, true
}

// remove empties slot i and moves those behind it up that would not be found
// any more, so that no slot is ever marked as deleted.
func (s *shard) remove(i uint64) {
	mask := uint64(len(s.slots)) - 1
	s.len--
	for j := i; ; {
		j = (j + 1) & mask
		next := &s.slots[j]
		if next.addr == 0 {
			break
		}
		if home := s.home(hash(next.addr)); (j-home)&mask >= (j-i)&mask {
			s.slots[i] = *next
			i = j
		}
	}
	s.slots[i] = slot{}
}

func (s *shard) grow() {
	old := s.slots
	s.slots = make([]slot, max(2*len(old), minSlots))
	s.shift = uint8(64 - bits.TrailingZeros(uint(len(s.slots))))
	for k := range old {
		if a := old[k].addr; a != 0 {
			i, _ := s.find(hash(a), a)
			s.slots[i] = old[k]
		}
	}
}
