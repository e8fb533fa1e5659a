package capturetest

import "hdb/capture"

// A HeapByAddress finds out which recorded blocks events end, in the plainest way.
type HeapByAddress struct {
	Blocks map[uint64]capture.Event
	last   uint64 // the address of the block made last, 0 if that has ended
}

// NewHeapByAddress is a heap without blocks.
func NewHeapByAddress() *HeapByAddress { return &HeapByAddress{Blocks: map[uint64]capture.Event{}} }

// Follow is what the event ended.
func (h *HeapByAddress) Follow(e *capture.Event) (ended capture.Ended) {
	end := func(a uint64) {
		if b, ok := h.Blocks[a]; ok && a != 0 {
			ended = capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Temporary: a == h.last && e.Kind != capture.Alloc}
			delete(h.Blocks, a)
			if a == h.last {
				h.last = 0
			}
		}
	}
	switch {
	case e.Failed:
	case e.Kind == capture.Free, e.Kind == capture.Alloc: // or the end of the block there was not seen
		end(e.Addr)
	case e.Kind == capture.Realloc:
		end(e.Old)
	}
	if e.Allocates() {
		h.Blocks[e.Addr], h.last = *e, e.Addr
	}
	return ended
}

// Bytes is the size of all blocks.
func (h *HeapByAddress) Bytes() (n uint64) {
	for _, b := range h.Blocks {
		n += b.Size
	}
	return n
}

// Following is a recorder whose events say which blocks they end.
type Following struct {
	ChunkRecorder
	heap  *HeapByAddress
	chunk int
}

// NewFollowing is a recorder that adds events to r, in chunks of n.
func NewFollowing(r ChunkRecorder, chunk int) *Following {
	return &Following{r, NewHeapByAddress(), chunk}
}

// AddEvent adds an event with what it ended.
func (f *Following) AddEvent(e *capture.Event) uint64 {
	if _, taken := f.heap.Blocks[e.Addr]; taken && e.Kind == capture.Realloc && e.Addr != e.Old {
		e.Addr |= 1 << 45 // of two blocks that end an event tells one
	}
	e.Ended = f.heap.Follow(e)
	seq := f.ChunkRecorder.AddEvent(e)
	if f.Pending() == f.chunk {
		f.Push()
	}
	return seq
}

// A ChunkRecorder is a recorder that writes chunks of events.
type ChunkRecorder interface {
	capture.Recorder
	Pending() int // events of the next chunk
	Push()        // ends a chunk
}
