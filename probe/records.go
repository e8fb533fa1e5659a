package probe

import (
	"math"
	"math/bits"

	"hdb/breakpoints"
	"hdb/capture"
)

// take handles one record of a call. The lock is held.
func (r *reader) take(head uint64, rec *record) {
	index := int(head >> siteShift % MaxFunctions)
	if index >= len(r.p.siteTable.list) {
		r.stats.Torn++
		return
	}
	s := r.p.siteTable.list[index]
	tid := uint32(head >> tidShift & (1<<22 - 1))
	if len(r.p.slots.guests) > 0 && r.p.slots.guests[tid] != nil {
		return
	}
	if head&typeMask == recBegin {
		r.begin(tid, s, rec[2])
		return
	}
	// Field by field: a literal would be made elsewhere and copied, and the
	// processor would wait for its small fields before it reads it in large pieces.
	e := &r.event
	e.Time, e.TID, e.Kind = r.clock.at(rec[1]), int32(tid), s.Function.Kind
	e.Addr, e.Size, e.Old, e.Aux = rec[2], rec[3], 0, 0
	e.Failed, e.Abandoned = false, false
	e.Stack = 0
	if head&flagBare == 0 {
		e.Stack = r.stacks.at(uint32(head>>stackShift), tid)
	}
	switch head & typeMask {
	case recAlloc:
		if head&flagLong != 0 {
			e.Aux = rec[5]
			if s.Function.Old.From == breakpoints.Argument { // whatever the inferior writes
				e.Old = rec[4]
			}
			if goAllocates(&s.Function) {
				e.Aux = s.goAux(rec[4], rec[5])
				r.goMade(e.Addr, e.Size, rec[4])
			}
			if s.Function.Mode.From == breakpoints.Argument {
				e.Aux = s.Function.MapAux(rec[5], rec[4])
			}
		}
		complete(e, &s.Function, head&flagFailed != 0)
		if s.Function.HeapInOld() && !e.Failed {
			e.Old = rec[4]
		}
		r.allocated(e, s, tid, head&flagInside != 0)
	case recFree:
		r.freed(e, s, tid)
	case recAbandon:
		if head&flagLong != 0 {
			e.Aux = rec[5]
		}
		constants(e, &s.Function)
		e.Failed, e.Abandoned, e.Addr = true, true, 0
		r.abandoned(e, s, tid)
	}
}

// complete makes of a result what it means: breakpoints.Call does the same for
// calls that the engine follows.
func complete(e *capture.Event, fn *breakpoints.Function, failed bool) {
	constants(e, fn)
	switch fn.Result {
	case breakpoints.NotMinus1:
		e.Failed = e.Addr == ^uint64(0)
	case breakpoints.IsZero:
		e.Failed = failed
	default:
		freed := e.Old != 0 && (e.Size == 0 || fn.Result == breakpoints.NullIsFreed)
		e.Failed = e.Addr == 0 && !freed
	}
	fn.Unmaps(e)
	if e.Failed {
		e.Addr = 0
	}
}

// constants are what a call is not told, but its function always has.
func constants(e *capture.Event, fn *breakpoints.Function) {
	if fn.Count.From == breakpoints.Constant {
		e.Aux = fn.Count.Value
		if high, low := bits.Mul64(e.Size, e.Aux); high == 0 {
			e.Size = low
		} else {
			e.Size = math.MaxUint64
		}
	}
	if fn.Align.From == breakpoints.Constant {
		e.Aux = fn.Align.Value
	}
}

// calls is what is known of the calls of a thread, which is remembered from now on.
func (r *reader) calls(tid uint32) *threadCalls {
	c := r.callsOf(tid)
	if c == nil {
		c = &threadCalls{}
		r.threads[tid] = c
		r.lastIs = false
	}
	return c
}

// callsOf is what is known of the calls of a thread, nil if nothing.
func (r *reader) callsOf(tid uint32) *threadCalls {
	if !r.lastIs || r.last != tid {
		r.last, r.lastOf, r.lastIs = tid, r.threads[tid], true
	}
	return r.lastOf
}

// begin notes that a realloc is about to give its old block up.
func (r *reader) begin(tid uint32, s *site, old uint64) {
	r.endResize(tid)
	z := &resize{tid: tid, site: s, old: old}
	r.resizes[old] = z
	r.calls(tid).resize = z
	r.pending++
}

// endResize forgets the realloc that a thread was in, and reports whether its old block was handed
// to another thread meanwhile.
func (r *reader) endResize(tid uint32) (taken bool) {
	c := r.callsOf(tid)
	if c == nil || c.resize == nil {
		return false
	}
	z := c.resize
	c.resize = nil
	r.pending--
	if r.resizes[z.old] == z {
		delete(r.resizes, z.old)
	}
	return z.taken
}

// allocated handles a call that has returned.
func (r *reader) allocated(e *capture.Event, s *site, tid uint32, inside bool) {
	if e.Kind == capture.Realloc && e.Old != 0 && r.endResize(tid) {
		e.Old = 0 // its end was reported already
	}
	if len(r.resizes) > 0 {
		if z := r.resizes[e.Addr]; z != nil && !e.Failed && z.tid != tid {
			// The block that a realloc of another thread has given up.
			z.taken = true
			delete(r.resizes, e.Addr)
			r.report(&capture.Event{Time: e.Time, TID: int32(z.tid), Kind: capture.Free, Addr: z.old, Stack: e.Stack}, z.site)
		}
	}
	if inside {
		if e.Failed {
			return // the call around it will tell
		}
		r.reportInside(tid, e.Addr)
		r.calls(tid).inside = &insideCall{*e, s}
		r.pending++
		return
	}
	r.reportInside(tid, e.Addr)
	r.report(e, s)
}

// reportInside reports the last event inside the call that a thread is in, unless it
// has made the block that the call has returned: then it was that call's work.
func (r *reader) reportInside(tid uint32, result uint64) {
	if r.pending == 0 {
		return
	}
	c := r.callsOf(tid)
	if c == nil || c.inside == nil {
		return
	}
	in := c.inside
	c.inside = nil
	r.pending--
	if in.event.Addr != result || result == 0 {
		r.report(&in.event, in.site)
	}
}

// freed handles a block that is freed.
func (r *reader) freed(e *capture.Event, s *site, tid uint32) {
	r.reportInside(tid, 0)
	r.report(e, s)
}

// abandoned handles a call that will not return.
func (r *reader) abandoned(e *capture.Event, s *site, tid uint32) {
	r.endResize(tid)
	r.reportInside(tid, 0)
	r.report(e, s)
}

func (r *reader) report(e *capture.Event, s *site) {
	d := &r.batch[r.n]
	d.Time, d.TID, d.Kind = e.Time, e.TID, e.Kind
	d.Addr, d.Size, d.Old, d.Aux = e.Addr, e.Size, e.Old, e.Aux
	d.Stack, d.Func, d.Failed, d.Abandoned = e.Stack, uint16(s.index), e.Failed, e.Abandoned
	if r.n++; r.n == len(r.batch) {
		r.flush()
	}
}
