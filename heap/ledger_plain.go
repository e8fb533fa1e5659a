package heap

import (
	"math/bits"
	"unsafe"

	"hdb/capture"
	"hdb/internal/prefetch"
)

// The short way of a Ledger for the events that most programs make most of the time. It
// decides what Post does, and takes half the time: BenchmarkLive. FuzzPostAll and TestPostAll hold it
// against Post.

const (
	// ahead is for how many events PostAll asks for memory at once.
	ahead = 32
	// near is a distance in bytes: leaves of blocks nearer than that are likely to come
	// into the cache without being asked for.
	near = 1 << 14
)

// postPlain posts events from the one at i on as long as they are plain, and tells
// which is the first that is not. Plain are frees of blocks that have cells, and new blocks
// where others were before, or which a cell is found for in their leaf that no other
// has to move for: behind all, or, if there is no room, the next one if it is empty. One that
// failed has no address, and so no cell. The numbers of all have room in cells. It calls
// nothing but where a processor cannot count bits, so that what it needs stays in
// registers.
func (l *Ledger) postPlain(events []capture.Event, i uint, flags uint32) uint {
	t, last := &l.blocks, l.last
	// Blocks of one leaf often come together.
	f, number := t.at(0), place(1<<64-1)
	for ; i < uint(len(events)); i++ {
		e := &events[i]
		if e.Kind > capture.Free && (e.Kind != capture.Realloc || e.Old != 0) {
			break
		}
		p := placeOf(e.Addr)
		if p>>leafBits != number {
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
			f, number = t.at(r[p.leaf()]), p>>leafBits
		}
		starts, bit := f.starts(), uint64(1)<<p.unit()
		c := f.cell(bits.OnesCount64(starts & (bit - 1))) // if there is one, or room
		if e.Kind == capture.Free {
			if starts&bit == 0 {
				break
			}
			state := c.c
			if state >= cellTaken|cellLogged {
				c.recorded(&e.Ended)
				e.Ended.Temporary = e.Ended.Seq == last
			} else if state&cellTaken != 0 {
				e.Ended = capture.Ended{}
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
		e.Ended = capture.Ended{}
		t.puts++
		last = e.Seq
		l.began(size)
	}
	l.last = last
	return i
}

// allocated makes the block that an event allocates, if it is one like most: it has room
// in a cell, no other block is there than one that a realloc ends, and what the
// realloc ends has a cell.
func (l *Ledger) allocated(e *capture.Event, flags uint32) bool {
	t, p := &l.blocks, placeOf(e.Addr)
	if !t.takesIn(p) || !fits(e.Size, e.Seq, e.Stack) {
		return false
	}
	c := t.cellFor(p, e.Size)
	if e.Old == 0 {
		if c.c != 0 {
			return false
		}
		e.Ended = capture.Ended{}
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
		old.gone(&e.Ended)
		e.Ended.Temporary = e.Ended.Recorded && e.Ended.Seq == l.last
		old.c = 0
		t.takes++
	}
	t.puts++
	c.setMade(e.Seq, e.Stack)
	c.c = uint32(e.Size) | flags
	l.last = e.Seq
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
