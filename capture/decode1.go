package capture

import (
	"fmt"
	"slices"
	"time"
)

// Columns of a chunk of events of version 1, which this version reads.
const (
	sec1Shape    = 5  // index into shapes
	sec1Gap      = 6  // sequence numbers left out before the event; absent if none are
	sec1Thread   = 7  // index into the thread IDs
	sec1Time     = 8  // microseconds since the event before
	sec1Stack    = 9  // index into the stack IDs
	sec1Size     = 10 //
	sec1Aux      = 11 //
	sec1Place    = 12 // the place of a new block
	sec1Ref      = 13 // age of the block handed in
	sec1Literal  = 14 // addresses that neither places nor ages tell
	sec1Gone     = 16 // since 1.2: which block an event ended
	sec1GoneSize = 18 // since 1.2: the size of a block that ended
)

// A decoder1 is what the decoder knows of a chunk of version 1.
type decoder1 struct {
	model   model1
	literal uint64
	gaps    bool
}

// reset1 begins a chunk.
func (d *eventDecoder) reset1(head eventHead, sections sections) {
	d.old.gaps, d.old.literal = sections[sec1Gap] != nil, 0
	m := &d.old.model
	m.reset()
	m.blocks = slices.Grow(m.blocks, head.count) // room is taken as it is used; to grow is to copy
	m.threads = append(m.threads, make([]thread1, len(d.tids))...)
	m.habits = append(m.habits, make([]habit1, len(d.stacks)-1)...)
}

// event1 fills in e. If that is not possible it sets an error, at the latest in
// finish.
func (d *eventDecoder) event1(e *Event) {
	shapeIndex := d.index(sec1Shape, d.get(sec1Shape), len(d.shapes))
	d.thread = d.index(sec1Thread, unfront(uint64(d.thread), d.get(sec1Thread)), len(d.tids))
	if d.err != nil {
		return
	}
	sh := d.shapes[shapeIndex]
	d.seq++
	if d.old.gaps {
		gap := d.get(sec1Gap)
		if gap > d.last-d.seq {
			d.columns[sec1Gap].fail("the number of an event is out of range")
		}
		d.seq += gap
	}
	d.now += unzigzag(d.get(sec1Time))
	e.Seq, e.Kind, e.Func = d.seq, sh.kind, sh.fn
	e.Failed, e.Abandoned = sh.has(shapeFailed), sh.has(shapeAbandoned)
	e.TID = d.tids[d.thread]
	e.Time = time.Duration(d.now) * Resolution
	h := d.getStack1(sh, e)
	if sh.has(shapeAux) {
		e.Aux = unfront(h.aux, d.get(sec1Aux))
		h.aux = e.Aux
	}
	old := int32(-1)
	if sh.has(shapeOld) {
		e.Old, old = d.getRef1()
	}
	if sh.takes() {
		d.take1(sh, e)
	} else {
		d.give1(sh, e, h, old)
	}
}

// getStack1 gets the stack, if the event has one, and returns its habit.
func (d *eventDecoder) getStack1(sh shape, e *Event) *habit1 {
	if !sh.has(shapeStack) {
		d.old.model.now = 0
		return &d.old.model.habits[0]
	}
	i := d.index(sec1Stack, unfront(uint64(d.old.model.expect(d.thread)), d.get(sec1Stack)), len(d.stacks))
	d.old.model.ran(d.thread, uint32(i))
	d.old.model.now = int32(i)
	e.Stack = d.stacks[i]
	return &d.old.model.habits[i]
}

// getRef1 is the block that a ref names.
func (d *eventDecoder) getRef1() (a uint64, ord int32) {
	age := d.get(sec1Ref)
	if age == 0 {
		d.old.literal = undistance(d.old.literal, d.get(sec1Literal))
		return d.old.literal, -1
	}
	i := d.index(sec1Ref, uint64(len(d.old.model.blocks))-age, len(d.old.model.blocks))
	if d.err != nil {
		return 0, -1
	}
	return d.old.model.blocks[i].addr, int32(i)
}

func (d *eventDecoder) take1(sh shape, e *Event) {
	ord := int32(-1)
	if sh.has(shapeAddr) {
		e.Addr, ord = d.getRef1()
	}
	if sh.has(shapeSize) {
		e.Size = unfront(d.old.model.sizeOf(ord), d.get(sec1Size))
	}
	d.getGone1(e, ord)
	if sh.has(shapeAddr) && !sh.has(shapeFailed) {
		d.old.model.freed(d.thread, ord, e.Addr)
	}
}

// getGone1 is the inverse of what put it.
func (d *eventDecoder) getGone1(e *Event, ord int32) {
	if !d.gone || !e.Kind.ends() {
		return
	}
	gone, older := d.old.model.origin(e, ord, d.stacks)
	switch v := d.get(sec1Gone); v {
	case 0:
	case 1:
		gone = origin1{}
	default:
		gone = origin1{recorded: true}
		if i := d.index(sec1Gone, v-2, len(d.origins)); d.err == nil {
			gone.stack = d.origins[i]
		}
	}
	if older != nil {
		*older = gone
	}
	if gone.recorded {
		e.Gone = Gone{Recorded: true, Stack: gone.stack, Size: unfront(d.old.model.goneSize(e, ord), d.get(sec1GoneSize))}
	}
}

func (d *eventDecoder) give1(sh shape, e *Event, h *habit1, old int32) {
	if sh.has(shapeSize) {
		e.Size = unfront(h.size, d.get(sec1Size))
		h.size = e.Size
	}
	d.getGone1(e, old)
	var s blockSlot
	var class int32
	if sh.has(shapeAddr) {
		class = d.old.model.class(d.thread, e.Size)
		e.Addr = d.getPlace1(e, class)
		s = d.old.model.find(e.Addr)
	}
	d.old.model.gave(d.thread, sh, e, class, s, old)
}

// getPlace1 is the address that the next place names.
func (d *eventDecoder) getPlace1(e *Event, class int32) uint64 {
	place := int(d.columns[sec1Place].byte())
	switch place {
	case place1Old:
		return e.Old
	case place1Literal:
		return undistance(d.old.model.threads[d.thread].bump, d.get(sec1Literal))
	}
	a, ok := d.old.model.candidate(class, d.thread, place)
	if !ok && d.err == nil {
		d.err = fmt.Errorf("place: %d names no block", place)
	}
	return a
}
