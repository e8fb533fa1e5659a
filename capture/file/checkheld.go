package file

import "hdb/capture"

// A heldCheck follows the blocks of a capture to hold its checkpoints against them.
type heldCheck struct {
	f    *File
	next int // of f.checkpoints, the first that is not read
	cp   *checkpoint
	r    restorer
	made LiveBlocks
	lost bool // what is live is not known
}

// chunk follows the events of a chunk, and returns a checkpoint after them that is
// wrong, or nil.
func (h *heldCheck) chunk(events []capture.Event, fresh bool) *capture.Checkpoint {
	if h.lost {
		return nil
	}
	if fresh {
		h.made.Clear()
	}
	for i := range events {
		e := &events[i]
		h.made.Settle(e)
		if e.Allocates() {
			h.made.Put(e, e.Seq)
		}
	}
	last := events[len(events)-1].Seq
	for h.cp != nil || h.read() {
		if h.cp.after > last {
			return nil
		}
		h.r.add(h.cp)
		after := h.cp.after
		h.cp = nil
		if after == last && !h.right() {
			return &h.r.Checkpoint
		}
	}
	return nil
}

// read reads the next checkpoint.
func (h *heldCheck) read() bool {
	for h.next < len(h.f.checkpoints) {
		ref := h.f.checkpoints[h.next]
		h.next++
		c, err := h.f.checkpoint(ref)
		if err == nil {
			h.cp = c
			return true
		}
	}
	return false
}

// right reports whether the checkpoint has the blocks that live.
func (h *heldCheck) right() bool {
	h.r.settle()
	live := 0
	for i := range h.r.Blocks {
		b := &h.r.Blocks[i]
		switch seq, ok := h.made.at(b.Addr); {
		case ok && seq == b.Seq:
			live++
		case !ok || seq < b.Seq:
			return false
		}
	}
	return live == h.made.Len()
}
