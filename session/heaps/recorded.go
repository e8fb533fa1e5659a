package heaps

import (
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/query"
	"hdb/recording"
	"hdb/session/target"
)

// Record adds the blocks of the recording that are live behind an event, none without a recording.
func (h *Heap) Record(to *memory.Source, behind uint64) error {
	if h.target.Mode() != target.Live {
		return nil
	}
	src, x, err := h.recorded.CountedEvents()
	if err != nil {
		if h.target.Reading.GivenUp() {
			return h.target.Reading.Cut()
		}
		return nil // nothing is recorded, or sums alone
	}
	to.Past = func() (past memory.Past, err error) {
		unbroken, whole := h.recorded.Unbroken()
		if past.All = whole; unbroken && (!whole || slices.Contains(src.Functions(), capture.PoolChunk)) {
			past.Had, past.Pools = query.Had(src, behind)
		}
		return past, h.target.Reading.Cut()
	}
	to.Calls = func(id capture.StackID) []addr.Run { return src.Stack(id).PCs }
	if behind == heap.End && h.recorded.Followed() {
		to.Recorded = LiveBlocks{h.recorded.Now()}
		return nil
	}
	held := x.Held(behind)
	out := make([]memory.Block, len(held))
	for i := range held {
		out[i] = BlockOf(held[i].Addr, held[i].Size, held[i].Seq, held[i].Stack)
	}
	to.Recorded = memory.ListRecorded(out)
	return nil
}

// BlockOf is a block of the recording in the form of package memory.
func BlockOf(at, size, seq uint64, stack capture.StackID) memory.Block {
	return memory.Block{Addr: at, Size: size, Seq: seq, Stack: stack}
}

// LiveBlocks are those of now. An Image that is made of them is thrown away before the program continues.
type LiveBlocks struct{ recording.Live }

// From fills room with blocks.
func (l LiveBlocks) From(low uint64, room []memory.Block) (n int) {
	if len(room) == 0 {
		return 0
	}
	for at, b := range l.RecordedFrom(low) {
		room[n] = BlockOf(at, b.Size, b.Seq, b.Stack)
		if n++; n == len(room) {
			break
		}
	}
	return n
}

// At is the block that begins at an address.
func (l LiveBlocks) At(at uint64) (memory.Block, bool) {
	b, ok := l.RecordedAt(at)
	return BlockOf(at, b.Size, b.Seq, b.Stack), ok
}
