package heap

import (
	"slices"

	"hdb/capture"
)

// held follows events from a checkpoint on, and keeps what is known of each block.
type held struct {
	blocks []capture.Held // ascending by Seq; with address 0 it ended
	at     *Replay        // the index of each in blocks, + 1, for its Seq
	next   uint64         // the first event to follow
}

// heldFrom is the heap at the last checkpoint up to event #to, or before the first
// event.
func (x *Index) heldFrom(to uint64) *held {
	h := &held{at: NewReplay(x.src)}
	if c := x.src.Checkpoint(to); c != nil {
		h.blocks, h.next = c.Blocks, c.Seq+1
		h.at.Before(c.Seq)
		for i := range h.blocks {
			h.put(i)
		}
	}
	return h
}

// put makes block i the one at its address.
func (h *held) put(i int) {
	b := &h.blocks[i]
	h.at.Put(b.Addr, Block{Seq: uint64(i + 1), Size: b.Size})
}

// before brings the heap to the moment before event #seq.
func (h *held) before(seq uint64) {
	if h.at.Before(seq) != nil {
		h.blocks = h.blocks[:0]
	}
}

// event follows an event.
func (h *held) event(e *capture.Event) {
	h.before(e.Seq)
	mine := *e
	mine.Seq = uint64(len(h.blocks) + 1)
	if ended, ok := h.at.Apply(&mine); ok {
		h.blocks[ended.Seq-1].Addr = 0
	}
	if e.Allocates() {
		h.blocks = append(h.blocks, capture.Held{
			Seq: e.Seq, Addr: e.Addr, Size: e.Size, Stack: e.Stack, TID: e.TID, Func: e.Func, Kind: e.Kind,
		})
	}
}

// Held are the blocks that are live after event #to, in the order in which they were
// made.
func (x *Index) Held(to uint64) []capture.Held {
	h := x.heldFrom(to)
	for e := range x.src.Events(h.next) {
		if e.Seq > to {
			break
		}
		h.event(&e)
	}
	h.before(to) // an exec after the last event
	return slices.DeleteFunc(h.blocks, func(b capture.Held) bool { return b.Addr == 0 })
}

// Containing is the block of those that holds the address, nil if none does. Where
// several do it is the one that begins there, or the last that was made.
func Containing(blocks []capture.Held, addr uint64) *capture.Held {
	var found *capture.Held
	for i := range blocks {
		b := &blocks[i]
		if b.Addr == addr {
			return b
		}
		if b.Addr < addr && addr-b.Addr < b.Size {
			found = b
		}
	}
	return found
}

// Nearest are the blocks of those that begin before the address, or at it, and
// behind it, nil if there are none.
func Nearest(blocks []capture.Held, addr uint64) (below, above *capture.Held) {
	for i := range blocks {
		b := &blocks[i]
		if b.Addr <= addr && (below == nil || b.Addr > below.Addr) {
			below = b
		}
		if b.Addr > addr && (above == nil || b.Addr < above.Addr) {
			above = b
		}
	}
	return below, above
}
