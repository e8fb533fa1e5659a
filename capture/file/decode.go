package file

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"hdb/capture"
)

// maxEvents is the most that a chunk may hold, and maxSummed the most that one of sums may
// represent; part of the wire format.
const (
	maxEvents = 1 << 18
	maxSummed = 1<<31 - 1
)

// parseEventHead reads the section secHead.
func parseEventHead(b []byte) (h eventHead, err error) { return parseHead(b, maxEvents) }

// parseHead reads the section secHead of at most that number of events.
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

// An eventDecoder is the inverse of an eventEncoder. It may be used for one chunk after
// the other.
type eventDecoder struct {
	unpacker
	columns [numEventSections]cursor
	shapes  []shape
	tids    []int32
	stacks  []capture.StackID // by index from 1
	origins []capture.StackID // of older blocks
	now     uint64
	seq     uint64
	last    uint64 // sequence number of the chunk's last event
	thread  int
	err     error // the first that concerns no single column

	model                   model
	ops                     []op
	gapAt, timeAt, threadAt int // events of the next change, -1 if there is none
}

// An op is a shape and how an event of it differs from what is expected.
type op struct {
	shape
	moves uint32
}

var eventSectionNames = [numEventSections]string{
	secHead: "head", secShapes: "shapes", secTIDs: "thread IDs", secStacks: "stack IDs", secTotals: "totals",
	secOrigins: "origins", secSummary: "summary", secTouched: "addresses", secMaps: "mappings",
	secOps: "ops", secOp: "op", secGapAt: "place of a gap", secGap: "gap", secThreadAt: "place of a thread", secThread: "thread",
	secTimeAt: "place of a time", secTime: "time", secStack: "stack", secSize: "size", secAux: "aux", secDepth: "depth", secAge: "age",
	secPlaced: "address", secLiteral: "literal", secOrigin: "gone", secOriginSize: "sizes of ended blocks",
}

// decode appends the events of a chunk to dst. Whatever the payload is, it
// returns all events, valid as far as the format can tell, or an error.
func (d *eventDecoder) decode(dst []capture.Event, payload []byte) ([]capture.Event, error) {
	sections, err := d.sections(payload)
	if err != nil {
		return dst, err
	}
	head, err := parseEventHead(sections[secHead])
	if err != nil {
		return dst, err
	}
	if n := len(sections[secOp]); head.count > n { // each event has an entry of at least a byte
		return dst, fmt.Errorf("%s: %d bytes for %d events", eventSectionNames[secOp], n, head.count)
	}
	if d.reset(head, sections); d.err != nil {
		return dst, d.err
	}
	n := len(dst)
	dst = slices.Grow(dst, head.count)[:n+head.count]
	events := dst[n:]
	clear(events)
	d.beginModel(head)
	for i := 0; i < len(events) && d.err == nil; i++ {
		d.event(events, i)
	}
	if d.err != nil {
		return dst[:n], d.err
	}
	if err := d.finish(head); err != nil {
		return dst[:n], err
	}
	return dst, nil
}

func (d *eventDecoder) reset(head eventHead, sections sections) {
	d.shapes, d.tids, d.stacks, d.origins = d.shapes[:0], d.tids[:0], d.stacks[:0], d.origins[:0]
	d.thread, d.err = 0, nil
	for i, name := range eventSectionNames {
		d.columns[i] = cursor{name: name, b: sections[i]}
	}
	d.dictionaries(head.count)
	d.now, d.seq, d.last = head.start, head.first-1, head.last
}

// dictionaries reads the three sections that the columns count through. None
// has more entries than there are events, as each is the first use of one.
func (d *eventDecoder) dictionaries(events int) {
	for c := &d.columns[secShapes]; len(c.b) > 0; {
		s := shape{kind: capture.Kind(c.byte()), flags: c.byte()}
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
func (c *cursor) stackIDs(ids []capture.StackID, least uint64) []capture.StackID {
	for id := uint64(0); len(c.b) > 0; {
		id += unzigzag(c.uvarint())
		if id < least || id > math.MaxUint32 {
			c.fail("an entry is out of range")
		}
		ids = append(ids, capture.StackID(id))
	}
	return ids
}

// finish checks that every column ended where the events did.
func (d *eventDecoder) finish(head eventHead) error {
	for i := range d.columns {
		c := &d.columns[i]
		if c.err == nil && len(c.b) > 0 && i != secHead && i != secTotals && i != secSummary && i != secTouched && i != secMaps {
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

// beginModel reads the ops of a chunk and begins its model.
func (d *eventDecoder) beginModel(head eventHead) {
	d.ops = d.ops[:0]
	for c := &d.columns[secOps]; len(c.b) > 0; {
		at, moves := c.uvarint(), c.uvarint()
		if at >= uint64(len(d.shapes)) || moves >= numMoves {
			c.fail("an entry is out of range")
			d.err = c.err
			return
		}
		d.ops = append(d.ops, op{d.shapes[at], uint32(moves)})
	}
	if len(d.tids) == 0 {
		d.err = fmt.Errorf("thread IDs: none for %d events", head.count)
		return
	}
	d.model.reset(head.count)
	d.model.threads = append(d.model.threads, make([]threadModel, len(d.tids))...)
	for _, id := range d.stacks[1:] {
		d.model.predictions = append(d.model.predictions, prediction{id: id})
	}
	d.gapAt, d.threadAt, d.timeAt = d.change(secGapAt, 0), d.change(secThreadAt, 0), d.change(secTimeAt, 0)
}

// change is the event of the next entry of such a column, which counts from event
// #from; -1 if there is none.
func (d *eventDecoder) change(id, from int) int {
	if len(d.columns[id].b) == 0 {
		return -1
	}
	return from + int(min(d.get(id), maxEvents))
}

// event fills in event #index. If that is not possible it sets an error, at the latest
// in finish.
func (d *eventDecoder) event(events []capture.Event, index int) {
	e := &events[index]
	d.seq++
	if index == d.gapAt {
		gap := d.get(secGap)
		if gap > d.last-d.seq {
			d.columns[secGap].fail("the number of an event is out of range")
		}
		d.seq += gap
		d.gapAt = d.later(secGapAt, index)
	}
	if index == d.timeAt {
		d.now += unzigzag(d.get(secTime))
		d.timeAt = d.later(secTimeAt, index)
	}
	if index == d.threadAt {
		d.thread = d.index(secThread, d.get(secThread), len(d.tids))
		d.threadAt = d.later(secThreadAt, index)
	}
	o := d.index(secOp, d.get(secOp), len(d.ops))
	if d.err != nil {
		return
	}
	op := d.ops[o]
	e.Seq, e.Kind, e.Func = d.seq, op.kind, op.fn
	e.Failed, e.Abandoned = op.has(shapeFailed), op.has(shapeAbandoned)
	e.TID = d.tids[d.thread]
	e.Time = time.Duration(d.now) * capture.Resolution
	t := &d.model.threads[d.thread]
	h := d.getStack(op, t, e)
	if op.has(shapeAux) {
		if op.moves&moveAux != 0 {
			h.aux = d.get(secAux)
		}
		e.Aux = h.aux
	}
	if op.endsBlock() {
		d.take(op, events, index, t, h)
	} else {
		d.give(op, events, index, t, h)
	}
}

// later is change after the entry of event #index, where an event has one at most.
func (d *eventDecoder) later(id, index int) int {
	at := d.change(id, index)
	if at == index {
		d.columns[id].fail("an event has two entries")
	}
	return at
}

// getStack gets the stack, if the event has one, and returns its prediction.
func (d *eventDecoder) getStack(op op, t *threadModel, e *capture.Event) *prediction {
	m := &d.model
	if !op.has(shapeStack) {
		return &m.predictions[0]
	}
	before := &m.predictions[t.stack]
	if op.moves&moveStack != 0 {
		before.next = uint32(d.index(secStack, d.get(secStack), len(m.predictions)))
	}
	t.stack = before.next
	e.Stack = m.predictions[t.stack].id
	return &m.predictions[t.stack]
}

// getRef is the inverse of ref.
func (d *eventDecoder) getRef(op op, index int, h *prediction, events []capture.Event) (a uint64, of int) {
	m := &d.model
	ok := true
	switch op.moves >> moveRef & 3 {
	case refLiteral:
		return d.getLiteral(), -1
	case refNext:
		of, ok = m.named.next(m.next)
	case refPredicted:
		of = index - int(h.age)
	default:
		of = index - int(min(d.get(secAge), maxEvents))
	}
	if !ok || of < 0 || of >= index || !m.named.has(of) {
		if d.err == nil {
			d.err = fmt.Errorf("event %d of the chunk: no such block", index)
		}
		return 0, -1
	}
	m.ref(h, index, of)
	return events[of].Addr, of
}

func (d *eventDecoder) getLiteral() uint64 {
	d.model.literal = undistance(d.model.literal, d.get(secLiteral))
	return d.model.literal
}

func (d *eventDecoder) take(op op, events []capture.Event, index int, t *threadModel, h *prediction) {
	e, of := &events[index], -1
	if op.has(shapeOld) {
		e.Old = d.getLiteral()
	}
	if op.has(shapeAddr) {
		e.Addr, of = d.getRef(op, index, h, events)
	}
	if op.has(shapeSize) {
		e.Size = h.size
		if of >= 0 {
			e.Size = events[of].Size
		}
		if op.moves&moveSize != 0 {
			e.Size = d.get(secSize)
		}
		h.size = e.Size
	}
	if e.Kind == capture.Unmap {
		return
	}
	d.getEnded(op, events, e, of)
	if e.Addr != 0 && !e.Failed {
		d.model.released(t, e)
	}
}

func (d *eventDecoder) give(op op, events []capture.Event, index int, t *threadModel, h *prediction) {
	e, of := &events[index], -1
	if op.has(shapeOld) {
		e.Old, of = d.getRef(op, index, h, events)
	}
	if op.has(shapeSize) {
		if op.moves&moveSize != 0 {
			h.size = d.get(secSize)
		}
		e.Size = h.size
	}
	if e.Kind == capture.Alloc || e.Kind == capture.Realloc {
		d.getEnded(op, events, e, of)
	}
	if !op.has(shapeAddr) {
		if e.Old != 0 && !e.Failed {
			d.model.released(t, e)
		}
		return
	}
	k := d.model.class(t, classOf(e.Size))
	e.Addr = d.getPlace(op, e, t, k)
	d.model.noteAllocated(t, e, k)
	if e.Allocates() {
		d.model.noteMade(index)
	}
}

// getEnded is the inverse of ended.
func (d *eventDecoder) getEnded(op op, events []capture.Event, e *capture.Event, of int) {
	temporary := d.model.temporary(of) != (op.moves&moveTemporary != 0)
	if of >= 0 {
		e.Ended = capture.Ended{Recorded: true, Temporary: temporary, Stack: events[of].Stack, Size: events[of].Size}
		return
	}
	o := d.model.origin(e)
	if op.moves&moveOrigin == 0 {
		if o != nil && o.recorded {
			e.Ended = capture.Ended{Recorded: true, Temporary: temporary, Stack: o.stack, Size: o.sizeOf(e)}
		}
	} else if v := d.get(secOrigin); v != 0 {
		if i := d.index(secOrigin, v-1, len(d.origins)); d.err == nil {
			e.Ended = capture.Ended{Recorded: true, Temporary: temporary, Stack: d.origins[i], Size: d.get(secOriginSize)}
		}
	}
	if o != nil {
		o.stack, o.recorded, o.size = e.Ended.Stack, e.Ended.Recorded, e.Ended.Size
	}
}

// getPlace is the address that the event's place names, which is taken from its free
// list.
func (d *eventDecoder) getPlace(op op, e *capture.Event, t *threadModel, k *class) uint64 {
	depth := 0
	switch place := op.moves >> movePlace & 7; place {
	case placeBump:
		return t.bump
	case placeStride:
		return k.last + (k.last - k.prev)
	case placeOld:
		return e.Old
	case placeLiteral:
		return undistance(t.bump, d.get(secPlaced))
	case placeDeeper:
		depth = int(min(d.get(secDepth), maxEvents))
	case placeUnknown:
		k = d.model.unknown(t)
	}
	if k == nil || depth >= len(k.free) {
		if d.err == nil {
			d.err = fmt.Errorf("place: %d below the top names no block", depth)
		}
		return 0
	}
	a := k.free[len(k.free)-1-depth]
	k.taken(depth)
	return a
}
