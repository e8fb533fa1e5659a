package recording

import (
	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
)

// followHeap is followOwners for the events of allocators, some of which have first-class heaps.
func (n *run) followHeap(e *capture.Event, fn *breakpoints.Function, from uint64, stack func() capture.StackID) (none bool) {
	if n.heaps == nil {
		n.heaps = heap.NewHeaps(n.live)
	}
	switch {
	case !fn.Whole:
		if chosen := n.heaps.Default(e.TID); from == 0 && chosen != 0 && fn.OfMimalloc() {
			from = chosen
		}
		n.heaps.Post(e, from)
		return false
	case fn.Name == breakpoints.HeapSetDefault:
		n.heaps.SetDefault(e.TID, e.Addr)
	case fn.Name == breakpoints.HeapDelete:
		n.endBlocks(n.heaps.Delete(e.Addr), e, fn.Name, stack)
	case fn.Name == breakpoints.HeapDestroy:
		n.endBlocks(n.heaps.Destroy(e.Addr), e, fn.Name, stack)
	}
	return true
}

// endBlocks ends blocks by e, which is not an event of its own. One that is a pool's chunk ends with the blocks in
// it.
func (n *run) endBlocks(blocks []uint64, e *capture.Event, function string, stack func() capture.StackID) {
	for _, at := range blocks {
		if n.pools != nil {
			n.recordEnds(n.pools.Other(&capture.Event{Time: e.Time, TID: e.TID, Kind: capture.Free, Addr: at}), function, stack)
		}
		if end, logged := n.live.End(e, at); logged {
			n.recordEnds([]capture.Event{end}, function, stack)
		}
	}
}
