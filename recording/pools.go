package recording

import (
	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
)

// tellsOfPools tells functions that tell of pools or heaps.
func tellsOfPools(fn *breakpoints.Function) bool {
	return fn.Group == breakpoints.GroupPool || fn.OfHeaps()
}

// pooled tells whether the program has told of pools or heaps: then each event is looked at by itself.
func (n *run) pooled(events []capture.Event, functions []*breakpoints.Function) bool {
	if n.pools != nil || n.heaps != nil {
		return true
	}
	if !n.mayPool {
		return false
	}
	for i := range events {
		if tellsOfPools(functions[events[i].Func]) {
			return true
		}
	}
	return false
}

// ofPools has pools and heaps follow an event that is to be posted, whose block comes from a heap if from is
// not 0. It records the ends of blocks that come with the event. stack is what they have for a stack, and is
// asked only if they are recorded. It tells whether the event is none: a call that does nothing else.
func (n *run) ofPools(e *capture.Event, fn *breakpoints.Function, from uint64, stack func() capture.StackID) (none bool) {
	if fn.Group == breakpoints.GroupPool {
		return n.ofPool(e, fn, stack)
	}
	if n.heaps != nil || fn.OfHeaps() {
		if none = n.ofHeap(e, fn, from, stack); none {
			return true
		}
	}
	if n.pools != nil {
		n.recordEnds(n.pools.Other(e), fn.Name, stack)
	}
	return false
}

// ofPool is ofPools for the functions by which a program tells of its own pools.
func (n *run) ofPool(e *capture.Event, fn *breakpoints.Function, stack func() capture.StackID) (none bool) {
	if n.pools == nil {
		n.pools = heap.NewPools(n.live)
	}
	switch {
	case fn.Whole:
		n.recordEnds(n.pools.Destroyed(e, e.Addr), fn.Name, stack)
		return true
	case fn.Kind == capture.Free:
		return !n.pools.Freed(e)
	}
	n.recordEnds(n.pools.Made(e, e.Aux), capture.PoolChunk, stack)
	return false
}

// ofHeap is ofPools for the events of allocators, some of which have first-class heaps.
func (n *run) ofHeap(e *capture.Event, fn *breakpoints.Function, from uint64, stack func() capture.StackID) (none bool) {
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

// endBlocks ends blocks by e, which is no event of its own. One that is a pool's chunk ends with the blocks in it.
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

// recordEnds records the ends of blocks.
func (n *run) recordEnds(ends []capture.Event, function string, stack func() capture.StackID) {
	for i := range ends {
		end := &ends[i]
		n.seq++
		end.Seq, end.Func, end.Stack = n.seq, n.function(function), stack()
		n.last = n.out.AddEvent(end)
		n.recorded++
		n.process.Numbered()
	}
}
