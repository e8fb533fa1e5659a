// Package heap answers questions about the blocks of a heap from the events that
// made them.
package heap

import "hdb/capture"

// A Block is memory that was handed out and not yet given back.
type Block struct {
	Seq  uint64 // the event that allocated it
	Size uint64 // bytes asked for
}

// Live is the set of blocks that are allocated at a moment. Mappings are not part
// of it: they are the allocator's own, libraries and stacks of threads, and would
// be counted twice or for something else. Live follows events in their order; it
// is not safe for concurrent use.
type Live struct {
	// Gone, when set, is told of every block as it is given back.
	Gone func(Block)

	blocks map[uint64]Block
	bytes  uint64
	peak   uint64
}

// NewLive is an empty heap.
func NewLive() *Live { return &Live{blocks: map[uint64]Block{}} }

// Bytes is the sum of the sizes asked for of all live blocks.
func (l *Live) Bytes() uint64 { return l.bytes }

// Peak is the largest value that Bytes had.
func (l *Live) Peak() uint64 { return l.peak }

// Blocks is the number of live blocks.
func (l *Live) Blocks() int { return len(l.blocks) }

// At is the live block that starts at the address.
func (l *Live) At(addr uint64) (Block, bool) {
	b, ok := l.blocks[addr]
	return b, ok
}

// Events are the numbers of the events whose blocks are allocated.
func (l *Live) Events() map[uint64]bool {
	seqs := make(map[uint64]bool, len(l.blocks))
	for _, b := range l.blocks {
		seqs[b.Seq] = true
	}
	return seqs
}

// Apply brings the heap to the moment after the event.
func (l *Live) Apply(e capture.Event) {
	switch e.Kind {
	case capture.Alloc, capture.Realloc:
		l.moved(e)
	case capture.Free:
		l.drop(e.Addr)
	}
}

// Allocates tells events that put a block into Live.
func Allocates(e capture.Event) bool {
	return !e.Failed && e.Addr != 0 && (e.Kind == capture.Alloc || e.Kind == capture.Realloc)
}

// moved follows an allocation that may take the place of an old block. The old
// one is gone when the call succeeded, and also when a size of 0 freed it (glibc
// returns NULL then).
func (l *Live) moved(e capture.Event) {
	if e.Failed && (e.Size != 0 || e.Old == 0) {
		return
	}
	if e.Old != 0 {
		l.drop(e.Old)
	}
	if e.Failed || e.Addr == 0 {
		return
	}
	l.drop(e.Addr) // its free went unseen, for example before an attach
	l.blocks[e.Addr] = Block{Seq: e.Seq, Size: e.Size}
	l.bytes += e.Size
	l.peak = max(l.peak, l.bytes)
}

func (l *Live) drop(addr uint64) {
	b, ok := l.blocks[addr]
	if !ok {
		return
	}
	delete(l.blocks, addr)
	l.bytes -= b.Size
	if l.Gone != nil {
		l.Gone(b)
	}
}
