package capture

import (
	"encoding/binary"
	"time"
)

// Sections of a chunk of events; part of the wire format.
const (
	secHead    = 1  // see eventHead
	secShapes  = 2  // dictionary: kind, flags, function
	secTIDs    = 3  // dictionary: thread IDs
	secStacks  = 4  // dictionary: stack IDs
	secShape   = 5  // column: index into shapes
	secGap     = 6  // column: sequence numbers left out before the event; absent if none are
	secThread  = 7  // column: index into the thread IDs
	secTime    = 8  // column: microseconds since the event before
	secStack   = 9  // column: index into the stack IDs
	secSize    = 10 // column
	secAux     = 11 // column
	secPlace   = 12 // column: the place of a new block
	secRef     = 13 // column: age of the block handed in
	secLiteral = 14 // column: addresses that neither places nor ages tell
	secTotals  = 15 // since 1.1: the Totals after the chunk's events; a column no more than the head

	// Since 1.2, all or none of them.
	secGone     = 16 // column: which block an event ended
	secOrigins  = 17 // dictionary: stack IDs of blocks that are older than the chunk
	secGoneSize = 18 // column: the size of a block that ended
	secSummary  = 19 // see Summary

	secTouched = 20 // since 1.5: see pageSet

	numEventSections = 21
)

// Flags of a shape; part of the wire format. A field whose flag is not set is 0
// and does not occur in the columns.
const (
	shapeFailed = 1 << iota
	shapeAddr
	shapeSize
	shapeOld
	shapeAux
	shapeStack
	shapeAbandoned

	shapeEnd = 1 << iota
)

// A shape is what events of one kind have in common. Programs make a handful.
type shape struct {
	kind  Kind
	flags uint8
	fn    uint16
}

func shapeOf(e *Event) shape {
	flags := flagIf(e.Failed, shapeFailed) | flagIf(e.Addr != 0, shapeAddr) | flagIf(e.Size != 0, shapeSize) |
		flagIf(e.Old != 0, shapeOld) | flagIf(e.Aux != 0, shapeAux) | flagIf(e.Stack != 0, shapeStack) |
		flagIf(e.Abandoned, shapeAbandoned)
	return shape{kind: e.Kind, fn: e.Func, flags: flags}
}

// flagIf compiles to code without branches: no event is like the one before.
func flagIf(cond bool, flag uint8) uint8 {
	var b uint8
	if cond {
		b = 1
	}
	return b * flag
}

func (s shape) key() uint32 {
	return uint32(s.kind) | uint32(s.flags)<<8 | uint32(s.fn)<<16
}

func (s shape) has(flag uint8) bool { return s.flags&flag != 0 }

// takes reports whether Addr names a block that exists.
func (s shape) takes() bool { return s.kind == Free || s.kind == Unmap }

// eventHead begins the payload of a chunk of events, so that an index can be
// made without decoding it.
type eventHead struct {
	count       int
	first, last uint64 // sequence numbers
	start, end  uint64 // times of the first and last event in units of Resolution
}

func headOf(events []Event) eventHead {
	first, last := &events[0], &events[len(events)-1]
	return eventHead{
		count: len(events),
		first: first.Seq, last: last.Seq,
		start: ticks(first.Time), end: ticks(last.Time),
	}
}

func (h eventHead) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(h.count))
	b = binary.AppendUvarint(b, h.first)
	b = binary.AppendUvarint(b, h.last-h.first)
	b = binary.AppendUvarint(b, zigzag(h.start))
	return binary.AppendUvarint(b, zigzag(h.end-h.start))
}

// appendTotals appends what secTotals holds. The time of the last event is in
// the head.
func appendTotals(b []byte, t *Totals) []byte {
	for _, v := range []uint64{t.Events, t.Allocs, t.Frees, t.Failed, t.Bytes, t.Lost} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// parseTotals is the inverse of appendTotals, for a chunk with that head.
func parseTotals(b []byte, head eventHead) (t Totals, err error) {
	c := cursor{name: "totals", b: b}
	for _, v := range []*uint64{&t.Events, &t.Allocs, &t.Frees, &t.Failed, &t.Bytes, &t.Lost} {
		*v = c.uvarint()
	}
	t.Last = time.Duration(head.end) * Resolution
	return t, c.err
}

// eventColumns are the sections of a chunk of events that are not yet packed.
type eventColumns struct {
	head    eventHead
	columns [numEventSections][]byte
	trail
}

// appendTo appends the payload; totals may be nil. The summary goes first, as it
// is read most often.
func (c *eventColumns) appendTo(dst []byte, p *packer, totals *Totals) []byte {
	dst = appendStored(dst, secHead, c.head.append(nil))
	if totals != nil {
		dst = appendStored(dst, secTotals, appendTotals(nil, totals))
	}
	pack := func(id int) {
		if len(c.columns[id]) > 0 {
			dst = p.appendPacked(dst, id, c.columns[id])
		}
	}
	pack(secSummary)
	pack(secTouched)
	for id := secShapes; id <= secLiteral; id++ {
		pack(id)
	}
	for id := secGone; id <= secGoneSize; id++ {
		pack(id)
	}
	return dst
}

// An eventEncoder makes columns of the events of a chunk, as they come. It may be
// used for one chunk after the other: begin, event for each of at least one, end.
type eventEncoder struct {
	eventColumns
	zeros      [numEventSections]int // that belong at the end of a column, see putRare
	model      heapModel
	shapes     table[uint32] // key of the shape -> index
	tids       table[uint32] // thread ID -> index
	stacks     stackIndex    // stack ID -> index, from 1
	ids        []StackID     // the inverse of stacks
	sum        summer
	unfollowed bool    // nobody knows which blocks end: there is no summary
	following  bool    // the trail is wanted
	pages      pageSet // of encode

	lastShape uint32 // key of the last event's
	shape     int32  // and its index
	tid       int32  // the last event's
	thread    int    // and its index
	ref       uint64 // the address of the last ref
	literal   uint64 // the address that a ref put into secLiteral last
	gaps      bool
}

// begin begins a chunk with an event of that number and time in ticks.
func (c *eventEncoder) begin(seq, now uint64) {
	for i := range c.columns {
		c.columns[i] = c.columns[i][:0]
	}
	clear(c.zeros[:])
	c.model.reset()
	c.shapes.reset()
	c.tids.reset()
	c.ids = append(c.ids[:0], 0)
	c.sum.begin()
	c.shape, c.thread, c.ref, c.literal, c.gaps = -1, -1, 0, 0, false
	c.whole = c.following
	c.head = eventHead{first: seq, last: seq - 1, start: now, end: now}
}

// end is the columns of the chunk. The encoder goes on with the memory of spare,
// which may have none.
func (c *eventEncoder) end(spare eventColumns) eventColumns {
	c.fill(secThread)
	if c.gaps {
		c.fill(secGap)
	}
	if !c.unfollowed {
		c.fill(secGone)
		c.fill(secGoneSize)
		c.fresh = c.sum.fresh
		c.columns[secSummary] = c.sum.append(c.columns[secSummary], c.head.first, c.head.start, c.ids)
	}
	c.whole = c.whole && c.following
	done := c.eventColumns
	c.eventColumns = spare
	c.steps = c.steps[:0]
	c.head.count = 0
	return done
}

// encode appends the payload of a chunk of events, of which there must be at
// least one; totals may be nil.
func (c *eventEncoder) encode(dst []byte, p *packer, events []Event, totals *Totals) []byte {
	c.steps = c.steps[:0]
	c.begin(events[0].Seq, ticks(events[0].Time))
	for i := range events {
		e := &events[i]
		c.event(e, e.Seq, ticks(e.Time))
	}
	columns := c.end(eventColumns{})
	columns.columns[secTouched] = c.pages.appendTouched(columns.columns[secTouched], columns.head, &columns.trail)
	dst = columns.appendTo(dst, p, totals)
	c.eventColumns = columns
	return dst
}

// ticks is d in units of Resolution.
func ticks(d time.Duration) uint64 { return uint64(d / Resolution) }

func (c *eventEncoder) put(id int, v uint64) {
	if v < 0x80 {
		c.columns[id] = append(c.columns[id], byte(v))
	} else {
		c.columns[id] = binary.AppendUvarint(c.columns[id], v)
	}
}

// putRare is put for a column that is nearly always 0. Zeros are only counted
// until another number follows or fill is called.
func (c *eventEncoder) putRare(id int, v uint64) {
	if v == 0 {
		c.zeros[id]++
	} else {
		c.putRarest(id, v)
	}
}

func (c *eventEncoder) putRarest(id int, v uint64) {
	c.fill(id)
	c.put(id, v)
}

func (c *eventEncoder) fill(id int) {
	c.columns[id] = append(c.columns[id], make([]byte, c.zeros[id])...)
	c.zeros[id] = 0
}

// event adds an event, with the number and the time in ticks that it is kept with.
func (c *eventEncoder) event(e *Event, seq, now uint64) {
	sh := shapeOf(e)
	c.putShape(sh)
	gap := seq - c.head.last - 1
	c.putRare(secGap, gap)
	c.gaps = c.gaps || gap != 0
	c.head.last = seq
	c.putThread(e.TID)
	c.put(secTime, zigzag(now-c.head.end))
	c.head.end = now
	c.head.count++
	h := c.putStack(sh, e.Stack)
	if sh.has(shapeAux) {
		c.put(secAux, front(h.aux, e.Aux))
		h.aux = e.Aux
	}
	old := int32(-1)
	if sh.has(shapeOld) {
		old, _ = c.putRef(e.Old)
	}
	c.sum.call(e)
	if c.following {
		c.follow(e, seq-c.head.first)
	}
	if sh.takes() {
		c.take(sh, e)
	} else {
		c.give(sh, e, h, old)
	}
}

// putGone puts which block the event ends, whose ordinal is ord or -1, and counts
// that.
func (c *eventEncoder) putGone(e *Event, ord int32) {
	if c.unfollowed || !e.Kind.ends() {
		return
	}
	gone := origin{e.Gone.Stack, e.Gone.Recorded}
	expected, older := c.model.origin(e, ord, c.ids)
	if gone == expected && older == nil {
		c.putRare(secGone, 0)
		if gone.recorded {
			c.putGoneSize(e, ord)
			c.sum.ended(c.sum.flow(c.model.blocks[ord].stack), e)
		}
		return
	}
	i := int32(-1)
	if gone.recorded {
		i = c.originIndex(gone.stack)
	}
	if gone == expected {
		c.putRare(secGone, 0)
	} else {
		c.putRare(secGone, uint64(i+2))
	}
	if older != nil {
		*older = gone
	}
	if gone.recorded {
		c.putGoneSize(e, ord)
		c.sum.ended(&c.sum.origins[i], e)
	}
}

func (c *eventEncoder) putGoneSize(e *Event, ord int32) {
	c.putRare(secGoneSize, front(goneSize(&c.model, e, ord), e.Gone.Size))
}

// goneSize is the size that the block an event ends probably has.
func goneSize(m *heapModel, e *Event, ord int32) uint64 {
	if e.Kind == Free {
		return e.Size
	}
	return m.sizeOf(ord)
}

// originIndex is the index of the stack of an older block, which may be new.
func (c *eventEncoder) originIndex(id StackID) int32 {
	slot := c.sum.originAt.slot(id)
	if i := *slot; int(i) < len(c.sum.origins) && c.sum.origins[i].Stack == id {
		return int32(i)
	}
	n, before := len(c.sum.origins), StackID(0)
	if n > 0 {
		before = c.sum.origins[n-1].Stack
	}
	c.put(secOrigins, zigzag(uint64(id)-uint64(before)))
	c.sum.origins = append(c.sum.origins, Flow{Stack: id})
	*slot = uint32(n)
	return int32(n)
}

func (c *eventEncoder) putShape(sh shape) {
	if key := sh.key(); key != c.lastShape || c.shape < 0 {
		i, found := c.shapes.at(key, int32(c.shapes.len))
		if !found {
			c.columns[secShapes] = append(c.columns[secShapes], byte(sh.kind), sh.flags)
			c.put(secShapes, uint64(sh.fn))
		}
		c.lastShape, c.shape = key, i
	}
	c.put(secShape, uint64(c.shape))
}

func (c *eventEncoder) putThread(tid int32) {
	if tid == c.tid && c.thread >= 0 {
		c.putRare(secThread, 0)
		return
	}
	i, found := c.tids.at(uint32(tid), int32(c.tids.len))
	if !found {
		c.put(secTIDs, zigzag(uint64(tid)))
		c.model.threads = append(c.model.threads, threadModel{})
	}
	c.putRare(secThread, front(uint64(max(c.thread, 0)), uint64(i)))
	c.tid, c.thread = tid, int(i)
}

// putStack puts the stack, if the event has one, and returns its habit.
func (c *eventEncoder) putStack(sh shape, id StackID) *habit {
	if !sh.has(shapeStack) {
		c.model.now = 0
		return &c.model.habits[0]
	}
	expected := c.model.expect(c.thread)
	i := expected
	if c.ids[i] != id {
		i = c.stackIndex(id)
	}
	c.put(secStack, front(uint64(expected), uint64(i)))
	c.model.ran(c.thread, i)
	c.model.now = int32(i)
	return &c.model.habits[i]
}

// stackIndex is the index of a stack, which may be new.
func (c *eventEncoder) stackIndex(id StackID) uint32 {
	slot := c.stacks.slot(id)
	if i := *slot; int(i) < len(c.ids) && c.ids[i] == id {
		return i
	}
	i := uint32(len(c.ids))
	c.put(secStacks, zigzag(uint64(id)-uint64(c.ids[i-1])))
	c.ids = append(c.ids, id)
	c.model.habits = append(c.model.habits, habit{})
	*slot = i
	return i
}

// oldAge is the age from which on a ref may rather be a literal.
const oldAge = 1 << 9

// putRef puts the address of a block that exists and returns the block's
// ordinal, or -1 if it is not named by its age, and the slot of the address.
//
// A program that ends, or destroys something large, often frees what it once
// made in the order of the addresses: then their distances are short and alike,
// which large ages are not.
func (c *eventEncoder) putRef(a uint64) (ord int32, s blockSlot) {
	s = c.model.find(a)
	ord = s.ord
	age := uint64(len(c.model.blocks)) - uint64(ord)
	if age >= oldAge && distance(c.ref, a) < 1<<7 {
		ord = -1
	}
	c.ref = a
	if ord >= 0 {
		c.put(secRef, age)
		return ord, s
	}
	c.put(secRef, 0)
	c.put(secLiteral, distance(c.literal, a))
	c.literal = a
	return -1, s
}

// take puts the rest of an event that gives Addr back.
func (c *eventEncoder) take(sh shape, e *Event) {
	ord, s := int32(-1), blockSlot{}
	if sh.has(shapeAddr) {
		ord, s = c.putRef(e.Addr)
	}
	if sh.has(shapeSize) {
		c.put(secSize, front(c.model.sizeOf(ord), e.Size))
	}
	c.putGone(e, ord)
	if sh.has(shapeAddr) && !sh.has(shapeFailed) {
		c.model.freedAt(c.thread, ord, s, e.Addr)
	}
}

// give puts the rest of an event that makes a block at Addr.
func (c *eventEncoder) give(sh shape, e *Event, h *habit, old int32) {
	if sh.has(shapeSize) {
		c.put(secSize, front(h.size, e.Size))
		h.size = e.Size
	}
	c.putGone(e, old)
	if e.Allocates() {
		c.sum.made(c.sum.flow(c.model.now), e, c.head.last, c.head.end)
	}
	var s blockSlot
	var class int32
	if sh.has(shapeAddr) {
		s = c.model.find(e.Addr)
		class = c.model.class(c.thread, e.Size)
		place := c.place(e, class, s.ord)
		c.columns[secPlace] = append(c.columns[secPlace], byte(place))
		if place == placeLiteral {
			c.put(secLiteral, distance(c.model.threads[c.thread].bump, e.Addr))
		}
	}
	c.model.gave(c.thread, sh, e, class, s, old)
}

// place is the first place that names e.Addr, at which the block ord lies or
// lay. Blocks that are free are always the last at their address.
func (c *eventEncoder) place(e *Event, class, ord int32) int {
	if e.Addr == e.Old {
		return placeOld
	}
	m := &c.model
	if ord >= 0 && m.top(class) == ord {
		return placeTop
	}
	if m.threads[c.thread].bump == e.Addr {
		return placeBump
	}
	if k := &m.classes[class]; k.last+(k.last-k.prev) == e.Addr {
		return placeStride
	}
	if ord < 0 {
		return placeLiteral // it never was in a list
	}
	if m.top(m.class(c.thread, unknownClass)) == ord {
		return placeUnknown
	}
	return c.deeper(class, e.Addr)
}

// deeper is the place of an address in the class's list, below the top: that of
// the last block there, or of an older one that it took the place of.
func (c *eventEncoder) deeper(class int32, a uint64) int {
	at := c.model.top(class)
	for place := placeDeeper; at >= 0 && place < placeDeeper+maxDepth; place++ {
		if at = c.model.blocks[at].next; at >= 0 && c.model.blocks[at].addr == a {
			return place
		}
	}
	return placeLiteral
}
