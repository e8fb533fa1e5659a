// Package heap answers questions about the blocks of a heap from the events that
// made them.
package heap

import (
	"iter"
	"math/bits"
	"unsafe"

	"hdb/capture"
	"hdb/internal/prefetch"
)

// A Block is memory that was handed out and not yet given back.
type Block struct {
	Seq    uint64          // the event that allocated it
	Size   uint64          // bytes asked for
	Stack  capture.StackID // of that event, 0 if it had none
	Logged bool            // that event was recorded, so that its end has to be, too
}

// Gone is what the event that ends the block says of it.
func (b Block) Gone() capture.Gone {
	if !b.Logged {
		return capture.Gone{}
	}
	return capture.Gone{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq}
}

// Live is the set of blocks that are allocated at a moment. Mappings are not part
// of it: they are the allocator's own, libraries and stacks of threads, and would
// be counted twice or for something else. Live follows events in their order; it
// is not safe for concurrent use.
//
// An event costs less than ten nanoseconds and no garbage while the heap does not
// grow. A block takes 12 bytes and its share of another 12 for each leaf of the
// table.
type Live struct {
	bytes  uint64
	peak   uint64
	unseen Block // see Unseen
	strays uint64
	blocks blockTable
}

// NewLive is an empty heap.
func NewLive() *Live {
	l := &Live{}
	l.blocks.init()
	return l
}

// Bytes is the sum of the sizes asked for of all live blocks.
func (l *Live) Bytes() uint64 { return l.bytes }

// Peak is the largest value that Bytes had.
func (l *Live) Peak() uint64 { return l.peak }

// Blocks is the number of live blocks.
func (l *Live) Blocks() int { return l.blocks.len() }

// At is the live block that starts at the address.
func (l *Live) At(addr uint64) (Block, bool) {
	return l.blocks.get(addr)
}

// All yields the live blocks with their addresses, in no order. The heap must
// not change meanwhile.
func (l *Live) All() iter.Seq2[uint64, Block] {
	return l.blocks.each
}

// Apply brings the heap to the moment after the event.
func (l *Live) Apply(e capture.Event) { l.Follow(&e, false) }

// Follow brings the heap to the moment after the event, and returns the block
// that it gave back or moved. A new block is marked as logged if the event will be
// recorded.
func (l *Live) Follow(e *capture.Event, logged bool) (gone Block, ok bool) {
	switch e.Kind {
	case capture.Alloc, capture.Realloc:
		return l.moved(e, logged)
	case capture.Free:
		if gone, ok = l.Take(e.Addr); !ok && e.Size == 0 && e.Addr != 0 {
			l.strays++
		}
		return gone, ok
	}
	return Block{}, false
}

// Strays is how many blocks were freed that were not live here, and whose size the call did
// not say: they were made unseen.
func (l *Live) Strays() uint64 { return l.strays }

const (
	// ahead is for how many events FollowAll asks for memory at once.
	ahead = 32
	// near is a distance in bytes: leaves of blocks nearer than that are likely to come
	// into the cache without being asked for.
	near = 1 << 14
)

// FollowAll follows events up to the first that leaves a block to Unseen, and
// returns how many those are. It tells them which blocks they ended, and the free
// of a block its size. The events' numbers must rise, one that failed must have no
// address, and a capture.Alloc no old block. It takes half the time of Follow: what most
// events do is done at once, and what a large heap knows of the blocks comes into the
// processor's cache for many events together.
func (l *Live) FollowAll(events []capture.Event, logged bool) int {
	l.unseen = Block{}
	if l.blocks.large() {
		l.blocks.fetch(events)
	}
	flags := cellFlags(logged)
	plain := len(events) > 0 && events[len(events)-1].Seq <= maxSeq
	n := uint(len(events))
	for i := uint(0); i < n; i++ {
		if plain {
			if i = l.followPlain(events, i, flags); i >= n {
				break
			}
		}
		e := &events[i]
		if e.Allocates() && l.allocated(e, flags) {
			continue
		}
		gone, ended := l.Follow(e, logged)
		if ended && e.Kind == capture.Free {
			e.Size = gone.Size
		}
		e.Gone = gone.Gone()
		if l.unseen != (Block{}) {
			return int(i) + 1
		}
	}
	return len(events)
}

// followPlain follows events from the one at i on as long as they are plain, and tells
// which is the first that is not. Plain are frees of blocks that have cells, and new blocks
// where others were before, or which a cell is found for in their leaf that no other
// has to move for: behind all, or, if there is no room, the next one if it is empty. One that
// failed has no address, and so no cell. The numbers of all have room in cells. It calls
// nothing but where a processor cannot count bits, so that what it needs stays in
// registers.
func (l *Live) followPlain(events []capture.Event, i uint, flags uint32) uint {
	t := &l.blocks
	for ; i < uint(len(events)); i++ {
		e := &events[i]
		if e.Kind > capture.Free && (e.Kind != capture.Realloc || e.Old != 0) {
			break
		}
		p := placeOf(e.Addr)
		span := p >> spanBits
		if span >= place(len(t.spans)) {
			break
		}
		s := t.spans[span]
		if s == nil {
			break
		}
		r := s[p.region()]
		if r == nil {
			break
		}
		f := t.at(r[p.leaf()])
		starts, bit := f.starts(), uint64(1)<<p.unit()
		c := f.cell(bits.OnesCount64(starts & (bit - 1))) // if there is one, or room
		if e.Kind == capture.Free {
			if starts&bit == 0 {
				break
			}
			state := c.c
			if state >= cellTaken|cellLogged {
				c.recorded(&e.Gone)
			} else if state&cellTaken != 0 {
				e.Gone = capture.Gone{}
			} else {
				break
			}
			c.c = 0
			t.takes++
			e.Size = uint64(state & maxSize)
			l.ended(uint64(state & maxSize))
			continue
		}
		size, stack := e.Size, e.Stack
		if size > maxSize || stack > maxStack {
			break
		}
		if starts&bit != 0 {
			if c.c != 0 {
				break
			}
		} else {
			if e.Addr == 0 { // there is no block, but its leaf may have others
				break
			}
			if bit > starts {
				if f.left == 0 {
					break
				}
				f.left--
			} else {
				if f.left != 0 || c.c != 0 {
					break
				}
				after := starts & -bit
				starts &^= after & -after
			}
			f.setStarts(starts | bit)
		}
		c.c = uint32(size) | flags
		c.setMade(e.Seq, stack)
		e.Gone = capture.Gone{}
		t.puts++
		l.began(size)
	}
	return i
}

// allocated makes the block that an event allocates, if it is one like most: it has room
// in a cell, no other block is there than one that a realloc ends, and what the
// realloc ends has a cell.
func (l *Live) allocated(e *capture.Event, flags uint32) bool {
	t, p := &l.blocks, placeOf(e.Addr)
	if !t.takesIn(p) || !fits(e.Size, e.Seq, e.Stack) {
		return false
	}
	c := t.cellFor(p, e.Size)
	if e.Old == 0 {
		if c.c != 0 {
			return false
		}
		e.Gone = capture.Gone{}
	} else {
		old := c
		if e.Old != e.Addr {
			p := placeOf(e.Old)
			if old = t.cell(p); old == nil || c.c != 0 {
				return false
			}
		}
		if !old.taken() {
			return false
		}
		l.ended(old.size())
		old.gone(&e.Gone)
		old.c = 0
		t.takes++
	}
	t.puts++
	c.setMade(e.Seq, e.Stack)
	c.c = uint32(e.Size) | flags
	l.began(e.Size)
	return true
}

// fetch asks for the leaves of the events' blocks, of the first ones if there are
// many, unless the blocks are near each other.
func (t *blockTable) fetch(events []capture.Event) {
	var leaves [ahead]unsafe.Pointer
	n := min(len(events), ahead)
	if n == 0 || events[0].Addr-events[n/2].Addr+near < 2*near {
		return
	}
	for i := range leaves[:n] {
		leaves[i] = unsafe.Pointer(t.at(t.index(placeOf(events[i].Addr))))
	}
	prefetch.Pairs(leaves[:n])
}

// moved follows an allocation that may take the place of an old block. The old
// one is gone when the call succeeded, and also when a size of 0 freed it (glibc
// returns NULL then).
func (l *Live) moved(e *capture.Event, logged bool) (gone Block, ok bool) {
	if e.Failed && (e.Size != 0 || e.Old == 0) {
		return gone, false
	}
	if e.Old != 0 {
		gone, ok = l.Take(e.Old)
	}
	if e.Failed || e.Addr == 0 {
		return gone, ok
	}
	unseen, replaced := l.Put(e.Addr, Block{Seq: e.Seq, Size: e.Size, Stack: e.Stack, Logged: logged})
	switch {
	case !replaced:
	case !ok:
		return unseen, true
	case unseen.Logged && !gone.Logged:
		l.unseen, gone = gone, unseen
	default:
		l.unseen = unseen
	}
	return gone, ok
}

// Unseen takes the block that the last event, which must be a realloc, ended beside
// the one that Follow returned, if any: that was logged rather than this.
func (l *Live) Unseen() Block {
	b := l.unseen
	l.unseen = Block{}
	return b
}

// Put makes b the block at the address and returns the block that was there: its
// free went unseen, for example before an attach. There is no block at 0.
func (l *Live) Put(addr uint64, b Block) (old Block, replaced bool) {
	if addr == 0 {
		return old, false
	}
	old, replaced = l.blocks.put(addr, b)
	if replaced {
		l.ended(old.Size)
	}
	l.began(b.Size)
	return old, replaced
}

// Take removes the block at the address and returns it.
func (l *Live) Take(addr uint64) (Block, bool) {
	b, ok := l.blocks.take(addr)
	if ok {
		l.ended(b.Size)
	}
	return b, ok
}

// Logged says that the event which made the block at the address, if there is
// one, was recorded, with that stack.
func (l *Live) Logged(addr uint64, stack capture.StackID) { l.blocks.logged(addr, stack) }

func (l *Live) began(size uint64) {
	l.bytes += size
	if l.bytes > l.peak {
		l.peak = l.bytes
	}
}

func (l *Live) ended(size uint64) { l.bytes -= size }
