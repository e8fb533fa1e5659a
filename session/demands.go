package session

import (
	"errors"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/internal/when"
	"hdb/query"
	"hdb/recording"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/values"
)

// demands is what asks for stops and events: the numbered stops with what they have planted, and
// next-alloc; and which of them was met since the program ran last.
type demands struct {
	account *target.Account
	stops   breakpoints.List
	counts  map[int]*counts // by the ID of the stop
	next    *nextEvent      // what next-alloc waits for, or nil
	hits    []hit           // stops that said yes since the last resume

	traps func(id int) []*inferior.Trap // that a stop has in memory
	calls func() []*when.Calls          // of leaked(), which are followed

	leaving *leaving          // what a run to the program's exit looks for, or nil
	expired *breakpoints.Stop // a watchpoint whose variable's function has returned, nil: none
}

// A hit is a numbered stop that matched, where and on what.
type hit struct {
	stop   *breakpoints.Stop // nil: the event that next-alloc waited for
	thread *inferior.Thread
	event  *recording.Event
	// occurred is what has happened, of a stop for such an occurrence.
	occurred string
	wrong    *query.WrongFree    // of a call that returns what is not a block
	met      *stopped.Met        // of a condition on state that has become true
	left     *stopped.LeftBlocks // of a call that has left blocks
	now      addr.Code           // how the thread's PC is looked up: at an event it is behind a call
}

// event is the event of the stop that a thread is at, of any thread for nil; nil: it is at none.
func (d *demands) event(t *inferior.Thread) *recording.Event {
	for _, h := range d.hits {
		if h.event != nil && (t == nil || h.thread == t) {
			return h.event
		}
	}
	return nil
}

// Last is the number of the last numbered stop that was set, 0: none was.
func (d *demands) Last() int { return d.stops.Last() }

// Caught are the events of C++ for which stops hold a thread that is at an address.
func (d *demands) Caught(at addr.Run) (events []string) {
	for _, h := range d.hits {
		if h.stop != nil && h.stop.Caught != "" && slices.ContainsFunc(h.stop.Places, func(p breakpoints.Place) bool { return p.Addr == at }) {
			events = append(events, h.stop.Caught)
		}
	}
	return events
}

// nextEvent is what next-alloc waits for.
type nextEvent struct {
	left int
	cond *cond.Cond
	want func(capture.Kind) bool
}

// A frameID is a frame of a thread, as long as it is on the stack. The zero frameID is none.
type frameID struct {
	thread   *inferior.Thread
	cfa      addr.Run
	function string
}

// counts are what is counted for a numbered stop.
type counts struct {
	seen    eventCount
	unsized eventCount // of frees of blocks whose size is not known
	unknown uint64     // events at which variables of its condition had no value
	why     string     // the first of those had none
	crowds  bool       // it was said that the stop is in the way of a jump of the probe
}

// eventCount counts events in the times in which a stop was set and enabled.
type eventCount struct {
	on        bool
	from, sum uint64
}

func (e *eventCount) begin(seq uint64) {
	if !e.on {
		e.on, e.from = true, seq
	}
}

func (e *eventCount) end(seq uint64) {
	e.sum, e.on = e.total(seq), false
}

func (e *eventCount) total(seq uint64) uint64 {
	if e.on && seq > e.from { // it is below if the stop was set where others were hit
		return e.sum + seq - e.from
	}
	return e.sum
}

// wantsEvents reports whether anything depends on allocation events.
func (d *demands) wantsEvents() bool {
	if d.account.Rec.On() || d.next != nil {
		return true
	}
	return slices.ContainsFunc(d.stops.All(), func(st *breakpoints.Stop) bool {
		if !st.Enabled {
			return false
		}
		return onEvents(st) || st.When != nil || asksHeap(st.Cond)
	})
}

// asksHeap reports whether a condition depends on what happened to the heap before.
func asksHeap(c *cond.Cond) bool {
	return c != nil && (c.Uses(cond.Live) || c.Uses(cond.Blocks) || c.Uses(cond.Nth))
}

// needsRing reports whether every event has to reach hdb: to be recorded, or because a stop depends
// on what happened before.
func (d *demands) needsRing() bool {
	if d.account.Rec.On() || d.next != nil && asksHeap(d.next.cond) {
		return true
	}
	return slices.ContainsFunc(d.stops.All(), func(st *breakpoints.Stop) bool {
		return st.Enabled && (st.When != nil || asksHeap(st.Cond) || printsRecords(st) || st.Kind == breakpoints.StopFree || onEvents(st) && st.Nth != 0)
	})
}

// asksNames reports whether something wants the names of functions at allocations: a condition,
// also for the frame that has the variables which it names, or a dprintf.
func (d *demands) asksNames() bool {
	asks := func(c *cond.Cond) bool {
		return c != nil && (c.UsesPredicate(cond.Func) || c.UsesPredicate(cond.Caller) || c.UsesProgram())
	}
	if f := d.account.Rec.Filter(); f != nil && asks(f.Cond) {
		return true
	}
	if n := d.next; n != nil && asks(n.cond) {
		return true
	}
	return slices.ContainsFunc(d.stops.All(), func(st *breakpoints.Stop) bool {
		return st.Enabled && (onEvents(st) && (st.GoesOn() || asks(st.Cond)) || asks(st.When.Asked()))
	})
}

// undecided counts an event at which a variable of a stop's condition had no value.
func (d *demands) undecided(st *breakpoints.Stop, err error) {
	b := d.counts[st.ID]
	if b.unknown++; b.why != "" {
		return
	}
	b.why = err.Error()
	if none := (*values.NoSymbolError)(nil); errors.As(err, &none) {
		b.why = fmt.Sprintf("no symbol %q there", none.Name)
	}
}

// entered are the threads that are at the entry of a function whose call was reported.
func (d *demands) entered() map[*inferior.Thread]addr.Run {
	at := map[*inferior.Thread]addr.Run{}
	for _, h := range d.hits {
		if h.event == nil || h.now.IsReturn() || h.event.Abandoned { // that is known at the entry of another
			continue
		}
		if regs, err := h.thread.Regs(); err == nil && regs.PC() == h.now.Addr() {
			at[h.thread] = h.now.Addr()
		}
	}
	return at
}

// stopSeq is the number of the last event for whoever looks at a stop: of the event there, if it is
// one. Other threads may have made more before they stopped.
func (d *demands) stopSeq() uint64 {
	last := uint64(0)
	for _, h := range d.hits {
		if h.event != nil {
			last = max(last, h.event.Seq)
		}
	}
	if last == 0 {
		return d.account.Rec.Seq()
	}
	return last
}

// count has the events counted that a stop sees from now on.
func (d *demands) count(b *counts) {
	b.seen.begin(d.account.Rec.Seq())
	b.unsized.begin(d.account.Rec.Live().Unsized())
}

// begin counts events for the enabled stops of a new run.
func (d *demands) begin() {
	d.hits, d.next = nil, nil
	for _, st := range d.stops.All() {
		b := d.counts[st.ID]
		b.seen, b.unsized = eventCount{}, eventCount{}
		b.unknown, b.why = 0, ""
		if st.Enabled {
			d.count(b)
		}
	}
}

// spanHits ends the count of stops that their hit has disabled.
func (d *demands) spanHits() {
	for _, h := range d.hits {
		if h.stop == nil || h.event == nil {
			continue
		}
		d.spanHit(h.stop, h.event.Seq)
		if b := d.counts[h.stop.ID]; b != nil && !h.stop.Enabled {
			b.unsized.end(d.account.Rec.Live().Unsized())
		}
	}
}

// spanHit ends the count of a stop at the event that was its hit, if that has disabled it.
// The recording may be locked.
func (d *demands) spanHit(st *breakpoints.Stop, seq uint64) {
	if b := d.counts[st.ID]; b != nil && !st.Enabled {
		b.seen.end(seq)
	}
}

// hasTraps reports whether a stop has an int3 in memory.
func (d *demands) hasTraps() bool {
	return slices.ContainsFunc(d.stops.All(), func(st *breakpoints.Stop) bool { return len(d.traps(st.ID)) > 0 })
}
