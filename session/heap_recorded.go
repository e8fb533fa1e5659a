package session

import (
	"hdb/capture"
	"hdb/heap"
	"hdb/memory"
	"hdb/recording"
)

// recordedBlocks are the blocks of the recording that are live behind an event, nil without a recording.
func (h *Heap) recordedBlocks(behind uint64) (memory.Recorded, error) {
	if h.mode() != Live {
		return nil, nil
	}
	_, x, err := h.recorded.countedEvents()
	if err != nil {
		if h.reading.GivenUp() {
			return nil, h.reading.Cut()
		}
		return nil, nil // nothing is recorded, or sums alone
	}
	if behind == heap.End && h.recorded.followed() {
		return liveBlocks{h.recorded.rec.Live()}, nil
	}
	held := x.Held(behind)
	out := make([]memory.Block, len(held))
	for i := range held {
		out[i] = blockOf(held[i].Addr, held[i].Size, held[i].Seq, held[i].Stack)
	}
	return memory.ListRecorded(out), nil
}

func blockOf(at, size, seq uint64, stack capture.StackID) memory.Block {
	return memory.Block{Addr: at, Size: size, Seq: seq, Stack: stack}
}

// liveBlocks are those of now. An Image that is made of them is thrown away before the program goes on.
type liveBlocks struct{ recording.Live }

// From fills room with blocks.
func (l liveBlocks) From(low uint64, room []memory.Block) (n int) {
	if len(room) == 0 {
		return 0
	}
	for at, b := range l.RecordedFrom(low) {
		room[n] = blockOf(at, b.Size, b.Seq, b.Stack)
		if n++; n == len(room) {
			break
		}
	}
	return n
}

// At is the block that begins at an address.
func (l liveBlocks) At(at uint64) (memory.Block, bool) {
	b, ok := l.RecordedAt(at)
	return blockOf(at, b.Size, b.Seq, b.Stack), ok
}
