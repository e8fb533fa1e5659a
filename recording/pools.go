package recording

import (
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
)

// pooled tells whether the program has told of pools: then each event is looked at by itself.
func (n *run) pooled(events []capture.Event, functions []*breakpoints.Function) bool {
	if n.pools != nil {
		return true
	}
	if !n.mayPool {
		return false
	}
	return slices.ContainsFunc(events, func(e capture.Event) bool { return functions[e.Func].Group == breakpoints.GroupPool })
}

// ofPools has the pools follow an event that is to be posted, and records the ends of blocks
// that come with it. stack is what they have for a stack, and is asked only if they are
// recorded. It tells whether the event is none: a call that does nothing else.
func (n *run) ofPools(e *capture.Event, fn *breakpoints.Function, stack func() capture.StackID) (none bool) {
	if fn.Group == breakpoints.GroupPool && n.pools == nil {
		n.pools = heap.NewPools(n.live)
	}
	if n.pools == nil {
		return false
	}
	name := fn.Name
	var ends []capture.Event
	switch {
	case fn.EndsPool():
		ends, none = n.pools.Destroyed(e, e.Addr), true
	case fn.Group != breakpoints.GroupPool:
		ends = n.pools.Other(e)
	case fn.Kind == capture.Free:
		return !n.pools.Freed(e)
	default:
		ends, name = n.pools.Made(e, e.Aux), capture.PoolChunk
	}
	for i := range ends {
		end := &ends[i]
		n.seq++
		end.Seq, end.Func, end.Stack = n.seq, n.function(name), stack()
		n.last = n.out.AddEvent(end)
		n.recorded++
	}
	if len(ends) > 0 {
		n.process.Numbered()
	}
	return none
}
