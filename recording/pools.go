package recording

import (
	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/probe"
)

// followsOwners reports whether a function tells about pools or heaps, the owners of blocks.
func followsOwners(fn *breakpoints.Function) bool { return ofProgram(fn) || fn.OfHeaps() }

// ofProgram reports whether a function is one of an allocator of the program's own.
func ofProgram(fn *breakpoints.Function) bool {
	return fn.Group == breakpoints.GroupPool || fn.Group == breakpoints.GroupUser
}

// ownerFuncsOf are the functions of the probe that tell about owners, nil if there are none.
func ownerFuncsOf(functions []*breakpoints.Function) (of *[probe.MaxFunctions]bool) {
	for i, f := range functions {
		if f != nil && followsOwners(f) {
			if of == nil {
				of = new([probe.MaxFunctions]bool)
			}
			of[i] = true
		}
	}
	return of
}

// mayHaveOwners reports whether the program has told about pools or heaps, up to these events: then each event is looked at by
// itself.
func (n *run) mayHaveOwners(events []capture.Event) bool {
	if n.pools != nil || n.heaps != nil {
		return true
	}
	of := n.ownerFuncs
	if of == nil {
		return false
	}
	for i := range events {
		if of[events[i].Func%probe.MaxFunctions] {
			return true
		}
	}
	return false
}

// followOwners has pools and heaps follow an event that is to be posted, whose block comes from a heap if from is
// not 0. It records the ends of blocks that come with the event. stack is what they have for a stack, and is
// asked only if they are recorded. It reports whether the event is none: a call that does nothing else.
func (n *run) followOwners(e *capture.Event, fn *breakpoints.Function, from uint64, stack func() capture.StackID) (none bool) {
	if n.on && ofProgram(fn) {
		n.recordEnds(n.live.Pooled(e), capture.PoolChunk, stack)
	}
	if fn.Group == breakpoints.GroupPool {
		return n.followPool(e, fn, stack)
	}
	if n.heaps != nil || fn.OfHeaps() {
		if none = n.followHeap(e, fn, from, stack); none {
			return true
		}
	}
	if n.pools != nil {
		n.recordEnds(n.pools.Other(e), fn.Name, stack)
	}
	return false
}

// followPool is followOwners for the functions by which a program describes its own pools.
func (n *run) followPool(e *capture.Event, fn *breakpoints.Function, stack func() capture.StackID) (none bool) {
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

// recordEnds records the ends of blocks and of the program's own mappings.
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
