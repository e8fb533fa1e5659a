package capture

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// maxEvents is the most that a chunk may hold, and maxSummed the most that one of
// sums may stand for; part of the wire format.
const (
	maxEvents = 1 << 18
	maxSummed = 1<<31 - 1
)

// parseEventHead reads the section secHead.
func parseEventHead(b []byte) (h eventHead, err error) { return parseHead(b, maxEvents) }

// parseHead reads the section secHead of at most so many events.
func parseHead(b []byte, most uint64) (h eventHead, err error) {
	c := cursor{name: "head", b: b}
	h.count = int(min(c.uvarint(), most+1))
	h.first = c.uvarint()
	h.last = h.first + c.uvarint()
	h.start = unzigzag(c.uvarint())
	h.end = h.start + unzigzag(c.uvarint())
	switch {
	case c.err != nil:
		return eventHead{}, c.err
	case h.count == 0 || h.count > int(most):
		return eventHead{}, fmt.Errorf("head: 0 events or more than %d", most)
	case h.first == 0 || h.last < h.first || h.last-h.first < uint64(h.count)-1:
		return eventHead{}, fmt.Errorf("head: %d events numbered %d to %d", h.count, h.first, h.last)
	}
	return h, nil
}

// A cursor reads the numbers of a column. After an error it returns zeros.
type cursor struct {
	name string
	b    []byte
	err  error
}

func (c *cursor) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 { // nearly always
		v := c.b[0]
		c.b = c.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail("a number is cut off or too large")
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail("too short")
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) fail(text string) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %s", c.name, text)
	}
	c.b = nil
}

// An eventDecoder is the inverse of an eventEncoder. It may be used for one
// chunk after the other.
type eventDecoder struct {
	unpacker
	columns [numEventSections]cursor
	model   heapModel
	shapes  []shape
	tids    []int32
	stacks  []StackID // by index from 1
	origins []StackID // of older blocks

	thread  int
	literal uint64
	now     uint64
	seq     uint64
	last    uint64 // sequence number of the chunk's last event
	gaps    bool
	gone    bool  // it is known which blocks end
	err     error // the first that concerns no single column
}

var eventSectionNames = [numEventSections]string{
	secHead: "head", secShapes: "shapes", secTIDs: "thread IDs", secStacks: "stack IDs",
	secShape: "shape", secGap: "gap", secThread: "thread", secTime: "time", secStack: "stack",
	secSize: "size", secAux: "aux", secPlace: "place", secRef: "ref", secLiteral: "literal", secTotals: "totals",
	secGone: "gone", secOrigins: "origins", secGoneSize: "sizes of ended blocks", secSummary: "summary", secTouched: "addresses",
}

// decode appends the events of a chunk to dst. Whatever the payload is, it
// returns all events, valid as far as the format can tell, or an error.
func (d *eventDecoder) decode(dst []Event, payload []byte) ([]Event, error) {
	sections, err := d.sections(payload)
	if err != nil {
		return dst, err
	}
	head, err := parseEventHead(sections[secHead])
	if err != nil {
		return dst, err
	}
	if head.count > len(sections[secShape]) {
		return dst, fmt.Errorf("shape: %d bytes for %d events", len(sections[secShape]), head.count)
	}
	if d.reset(head, sections); d.err != nil {
		return dst, d.err
	}
	n := len(dst)
	dst = slices.Grow(dst, head.count)
	for range head.count {
		var e Event
		d.event(&e)
		dst = append(dst, e)
		if d.err != nil {
			return dst[:n], d.err
		}
	}
	if err := d.finish(head); err != nil {
		return dst[:n], err
	}
	return dst, nil
}

func (d *eventDecoder) reset(head eventHead, sections sections) {
	*d = eventDecoder{unpacker: d.unpacker, model: d.model, shapes: d.shapes[:0], tids: d.tids[:0], stacks: d.stacks[:0], origins: d.origins[:0]}
	d.gaps = sections[secGap] != nil
	d.gone = sections[secSummary] != nil
	for i, name := range eventSectionNames {
		d.columns[i] = cursor{name: name, b: sections[i]}
	}
	d.model.reset()
	d.model.blocks = slices.Grow(d.model.blocks, head.count) // room is taken as it is used; to grow is to copy
	if d.dictionaries(head.count); d.err != nil {
		return
	}
	d.now, d.seq, d.last = head.start, head.first-1, head.last
	d.model.threads = append(d.model.threads, make([]threadModel, len(d.tids))...)
	d.model.habits = append(d.model.habits, make([]habit, len(d.stacks)-1)...)
}

// dictionaries reads the three sections that the columns count through. None
// has more entries than there are events, as each is the first use of one.
func (d *eventDecoder) dictionaries(events int) {
	for c := &d.columns[secShapes]; len(c.b) > 0; {
		s := shape{kind: Kind(c.byte()), flags: c.byte()}
		fn := c.uvarint()
		if s.flags >= shapeEnd || fn > math.MaxUint16 { // any kind: a later one is not wrong
			c.fail("an entry is out of range")
		}
		s.fn = uint16(fn)
		d.shapes = append(d.shapes, s)
	}
	for c := &d.columns[secTIDs]; len(c.b) > 0; {
		tid := int64(unzigzag(c.uvarint()))
		if int64(int32(tid)) != tid {
			c.fail("an entry is out of range")
		}
		d.tids = append(d.tids, int32(tid))
	}
	d.stacks = d.columns[secStacks].stackIDs(append(d.stacks, 0), 1)
	d.origins = d.columns[secOrigins].stackIDs(d.origins, 0)
	for _, id := range []int{secShapes, secTIDs, secStacks, secOrigins} {
		if err := d.columns[id].err; err != nil {
			d.err = err
		}
	}
	if n := max(len(d.shapes), len(d.tids), len(d.stacks)-1, len(d.origins)); n > events {
		d.err = fmt.Errorf("a dictionary has %d entries for %d events", n, events)
	}
}

// stackIDs appends the stacks of a dictionary, none below least.
func (c *cursor) stackIDs(ids []StackID, least uint64) []StackID {
	for id := uint64(0); len(c.b) > 0; {
		id += unzigzag(c.uvarint())
		if id < least || id > math.MaxUint32 {
			c.fail("an entry is out of range")
		}
		ids = append(ids, StackID(id))
	}
	return ids
}

// finish checks that every column ended where the events did.
func (d *eventDecoder) finish(head eventHead) error {
	for i := range d.columns {
		c := &d.columns[i]
		if c.err == nil && len(c.b) > 0 && i != secHead && i != secTotals && i != secSummary && i != secTouched {
			c.fail(fmt.Sprintf("%d bytes too long", len(c.b)))
		}
		if c.err != nil {
			return c.err
		}
	}
	if d.seq != head.last || d.now != head.end {
		return fmt.Errorf("head: the last event is #%d, not #%d", d.seq, head.last)
	}
	return nil
}

func (d *eventDecoder) get(id int) uint64 { return d.columns[id].uvarint() }

// index is v as an index into a dictionary of n entries.
func (d *eventDecoder) index(id int, v uint64, n int) int {
	if v >= uint64(n) {
		if d.err == nil {
			d.err = fmt.Errorf("%s: index %d of %d entries", d.columns[id].name, v, n)
		}
		return 0
	}
	return int(v)
}

// event fills in e. If that is not possible it sets an error, at the latest in
// finish.
func (d *eventDecoder) event(e *Event) {
	shapeIndex := d.index(secShape, d.get(secShape), len(d.shapes))
	d.thread = d.index(secThread, unfront(uint64(d.thread), d.get(secThread)), len(d.tids))
	if d.err != nil {
		return
	}
	sh := d.shapes[shapeIndex]
	d.seq++
	if d.gaps {
		gap := d.get(secGap)
		if gap > d.last-d.seq {
			d.columns[secGap].fail("the number of an event is out of range")
		}
		d.seq += gap
	}
	d.now += unzigzag(d.get(secTime))
	e.Seq, e.Kind, e.Func = d.seq, sh.kind, sh.fn
	e.Failed, e.Abandoned = sh.has(shapeFailed), sh.has(shapeAbandoned)
	e.TID = d.tids[d.thread]
	e.Time = time.Duration(d.now) * Resolution
	h := d.getStack(sh, e)
	if sh.has(shapeAux) {
		e.Aux = unfront(h.aux, d.get(secAux))
		h.aux = e.Aux
	}
	old := int32(-1)
	if sh.has(shapeOld) {
		e.Old, old = d.getRef()
	}
	if sh.takes() {
		d.take(sh, e)
	} else {
		d.give(sh, e, h, old)
	}
}

// getStack gets the stack, if the event has one, and returns its habit.
func (d *eventDecoder) getStack(sh shape, e *Event) *habit {
	if !sh.has(shapeStack) {
		d.model.now = 0
		return &d.model.habits[0]
	}
	i := d.index(secStack, unfront(uint64(d.model.expect(d.thread)), d.get(secStack)), len(d.stacks))
	d.model.ran(d.thread, uint32(i))
	d.model.now = int32(i)
	e.Stack = d.stacks[i]
	return &d.model.habits[i]
}

// getRef is the inverse of putRef.
func (d *eventDecoder) getRef() (a uint64, ord int32) {
	age := d.get(secRef)
	if age == 0 {
		d.literal = undistance(d.literal, d.get(secLiteral))
		return d.literal, -1
	}
	i := d.index(secRef, uint64(len(d.model.blocks))-age, len(d.model.blocks))
	if d.err != nil {
		return 0, -1
	}
	return d.model.blocks[i].addr, int32(i)
}

func (d *eventDecoder) take(sh shape, e *Event) {
	ord := int32(-1)
	if sh.has(shapeAddr) {
		e.Addr, ord = d.getRef()
	}
	if sh.has(shapeSize) {
		e.Size = unfront(d.model.sizeOf(ord), d.get(secSize))
	}
	d.getGone(e, ord)
	if sh.has(shapeAddr) && !sh.has(shapeFailed) {
		d.model.freed(d.thread, ord, e.Addr)
	}
}

// getGone is the inverse of putGone.
func (d *eventDecoder) getGone(e *Event, ord int32) {
	if !d.gone || !e.Kind.ends() {
		return
	}
	gone, older := d.model.origin(e, ord, d.stacks)
	switch v := d.get(secGone); v {
	case 0:
	case 1:
		gone = origin{}
	default:
		gone = origin{recorded: true}
		if i := d.index(secGone, v-2, len(d.origins)); d.err == nil {
			gone.stack = d.origins[i]
		}
	}
	if older != nil {
		*older = gone
	}
	if gone.recorded {
		e.Gone = Gone{Recorded: true, Stack: gone.stack, Size: unfront(goneSize(&d.model, e, ord), d.get(secGoneSize))}
	}
}

func (d *eventDecoder) give(sh shape, e *Event, h *habit, old int32) {
	if sh.has(shapeSize) {
		e.Size = unfront(h.size, d.get(secSize))
		h.size = e.Size
	}
	d.getGone(e, old)
	var s blockSlot
	var class int32
	if sh.has(shapeAddr) {
		class = d.model.class(d.thread, e.Size)
		e.Addr = d.getPlace(e, class)
		s = d.model.find(e.Addr)
	}
	d.model.gave(d.thread, sh, e, class, s, old)
}

// getPlace is the address that the next place names.
func (d *eventDecoder) getPlace(e *Event, class int32) uint64 {
	place := int(d.columns[secPlace].byte())
	switch place {
	case placeOld:
		return e.Old
	case placeLiteral:
		return undistance(d.model.threads[d.thread].bump, d.get(secLiteral))
	}
	a, ok := d.model.candidate(class, d.thread, place)
	if !ok && d.err == nil {
		d.err = fmt.Errorf("place: %d names no block", place)
	}
	return a
}
