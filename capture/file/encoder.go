package file

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"hdb/capture"
	"hdb/capture/intern"
)

// An eventEncoder makes columns of the events of a chunk, as they come. It may be
// used for one chunk after the other: begin, event for each of at least one and
// at most eventsPerChunk, end.
type eventEncoder struct {
	eventColumns
	model     model
	opOf      []uint16 // the op of each event of the chunk, by its index
	counts    []uint64 // of events, by op
	tallied   int      // the first event that is not in counts
	roomTo    int      // and the first that there may be no room for, see plainRoom
	dict      opDictionary
	tidAt     intern.Table[uint32] // thread ID -> index
	stackAt   intern.Index         // stack ID -> index, from 1
	sum       accumulator
	following bool    // the effects are wanted
	pages     pageSet // the addresses that the events are about
	maps      mapEncoder
	types     []uint64 // notes of types of Go, see noteOf

	tid        int32         // the last event's
	thread     int           // and its index
	threadAt   int           // the event since which it is
	timeAt     int           // the event since which it is the same time
	time       time.Duration // of head.end, see timeOf
	gapAt      int           // the event that the last gap was before
	gapped     bool
	otherBytes uint64 // allocated, but not on the heap
	latest     int    // index of the thread that made a block last, -1 if that was before the chunk
	lastTID    int32  // the ID of the one that did in the chunks before
	runBackoff int    // events to encode before a run is looked for again
}

// begin begins a chunk with an event of that number and time in ticks.
func (c *eventEncoder) begin(seq, now uint64) {
	for i := range c.columns {
		c.columns[i] = c.columns[i][:0]
	}
	c.model.reset(eventsPerChunk)
	c.chunkEffects.reset()
	c.chunkEffects.room(len(c.opOf))
	c.pages.reset()
	c.types = c.types[:0]
	c.maps.b = c.columns[secMaps]
	c.whole = c.following
	c.dict.reset()
	c.tidAt.Reset()
	c.counts, c.tallied, c.roomTo, c.otherBytes = c.counts[:0], 0, 0, 0
	c.sum.begin()
	c.sum.flows = append(c.sum.flows, capture.Flow{})
	c.thread, c.threadAt, c.timeAt, c.gapAt, c.gapped, c.latest = -1, 0, 0, 0, false, -1
	c.runBackoff = 1
	c.head = eventHead{first: seq, last: seq - 1, start: now, end: now}
	c.time = timeOf(now)
}

// end is the columns of the chunk. The encoder continues with the memory of spare, which may have
// none.
func (c *eventEncoder) end(spare eventColumns) eventColumns {
	c.putOps()
	c.tally()
	c.fresh = c.sum.fresh
	c.sum.counted(c.counts, c.ops, &c.sizes)
	c.columns[secSummary] = c.sum.append(c.columns[secSummary], c.head.first, c.head.start, c.stacks)
	c.columns[secMaps] = c.maps.b
	if c.whole {
		c.columns[secTouched] = c.pages.append(c.columns[secTouched], c.head.count)
	}
	c.live = append(c.live[:0], c.model.named...)
	if c.latest >= 0 {
		c.lastTID = c.sums[c.latest].TID
	}
	done := c.eventColumns
	c.eventColumns = spare
	c.head.count, c.chunkEffects.ended = 0, c.chunkEffects.ended[:0]
	return done
}

// putOps makes the column of ops.
func (c *eventEncoder) putOps() {
	ops := c.opOf[:c.head.count]
	b := slices.Grow(c.columns[secOp][:0], len(ops))
	if len(c.ops) > 0x80 {
		for _, op := range ops {
			b = binary.AppendUvarint(b, uint64(op))
		}
	} else {
		b = b[:len(ops)]
		for i := range b {
			b[i] = byte(ops[i])
		}
	}
	c.columns[secOp] = b
}

// tally counts the events of each op that were not counted yet.
func (c *eventEncoder) tally() {
	for len(c.counts) < len(c.ops) {
		c.counts = append(c.counts, 0)
	}
	ops := c.opOf[c.tallied:c.head.count]
	if c.tallied = c.head.count; len(ops) == 0 {
		return
	}
	// Who adds to a counter again at once waits for it: there are four of each.
	var parts [4][256]uint32
	if len(c.ops) <= len(parts[0]) {
		for ; len(ops) >= 4; ops = ops[4:] {
			parts[0][uint8(ops[0])]++
			parts[1][uint8(ops[1])]++
			parts[2][uint8(ops[2])]++
			parts[3][uint8(ops[3])]++
		}
		for i := range c.counts {
			c.counts[i] += uint64(parts[0][i]) + uint64(parts[1][i]) + uint64(parts[2][i]) + uint64(parts[3][i])
		}
	}
	for _, op := range ops {
		c.counts[op]++
	}
}

// encode appends the payload of a chunk of events, of which there must be at
// least one; totals may be nil.
func (c *eventEncoder) encode(dst []byte, p *packer, events []capture.Event, totals *capture.Totals) []byte {
	c.chunkEffects.ended = c.chunkEffects.ended[:0]
	c.begin(events[0].Seq, ticks(events[0].Time))
	c.events(events)
	columns := c.end(eventColumns{})
	dst = columns.appendTo(dst, p, totals)
	c.eventColumns = columns
	return dst
}

// count adds the events of the chunk to totals.
func (c *eventEncoder) count(t *capture.Totals) {
	if c.head.count == 0 {
		return
	}
	t.Last = time.Duration(c.head.end) * capture.Resolution
	c.tally()
	for i, n := range c.counts {
		t.Count(c.ops[i].kind, c.ops[i].has(shapeFailed), n)
	}
	t.Bytes += c.otherBytes
	for i := range c.sums {
		t.Bytes += c.sums[i].Bytes
	}
}

// ticks is d in units of Resolution.
func ticks(d time.Duration) uint64 { return uint64(d / capture.Resolution) }

// event adds an event, with the number and the time in ticks that it is kept with.
func (c *eventEncoder) event(e *capture.Event, seq, now uint64) {
	index := c.head.count
	if seq != c.head.last+1 || c.gapped {
		c.number(index, seq)
	}
	if renumbered(e, seq) {
		c.chunkEffects.renumbered = true
	}
	if now != c.head.end {
		c.later(index, now)
	}
	if e.TID != c.tid || c.thread < 0 {
		c.switchTo(index, e.TID)
	}
	c.head.count, c.head.last = index+1, seq
	t := &c.model.threads[c.thread]
	stack, moves := uint32(0), uint32(0)
	if e.Stack != 0 {
		stack, moves = c.stackOf(e, t)
		moves |= hasStack
	}
	h := &c.model.predictions[stack]
	h.threadAndStack = 0 // what is asked of plain events is not asked of this
	if e.Aux != 0 {
		moves |= c.aux(e, h, stack)
	}
	if e.Failed {
		moves |= hasFailed
	}
	if e.Abandoned {
		moves |= hasAbandoned
	}
	takes := e.Kind.Releases()
	if takes {
		moves |= c.take(e, t, h, index)
	} else {
		moves |= c.encodeAllocation(e, t, h, index)
	}
	if key := opKey(functionAndKind(e)&(1<<24-1), moves); h.key != key {
		c.otherOp(h, key)
	}
	if index >= len(c.opOf) {
		c.room(index)
	}
	c.opOf[index] = uint16(h.op)
	switch {
	case takes:
		if e.Kind == capture.Unmap {
			c.maps.add(e, seq, c.head.first)
		}
	case e.Allocates():
		c.putMade(e, index, stack, moves, h.op)
	default:
		c.pages.about(e.Addr, e.Size)
		if !e.Failed && e.Kind.Obtains() {
			c.otherBytes += e.Size
		}
		if e.Kind.Maps() {
			c.maps.add(e, seq, c.head.first)
		}
	}
}

// otherOp notes that the last event of the stack has another op than the one before. Most
// have the same.
func (c *eventEncoder) otherOp(h *prediction, key uint64) {
	u := c.dict.op(key, &c.eventColumns)
	h.key, h.op = key, u.index
}

// present reports whether a time is head.end in ticks, without a division. It is false of negative times.
func (c *eventEncoder) present(t time.Duration) bool {
	return uint64(t-c.time) < uint64(capture.Resolution)
}

// timeOf is the first time of a tick, for present. Of negative ones, which are rounded the other way, it is one that
// no time of an event is near.
func timeOf(now uint64) time.Duration {
	if now > uint64(math.MaxInt64/capture.Resolution) {
		return math.MinInt64
	}
	return time.Duration(now) * capture.Resolution
}

// later notes that the event is of another time than the last one.
func (c *eventEncoder) later(index int, now uint64) {
	c.put(secTimeAt, uint64(index-c.timeAt))
	c.put(secTime, zigzag(now-c.head.end))
	c.timeAt, c.head.end, c.time = index, now, timeOf(now)
}

// stackOf puts the stack of an event that has one.
func (c *eventEncoder) stackOf(e *capture.Event, t *threadModel) (index, moves uint32) {
	index = c.model.predictions[t.stack].next
	if c.model.predictions[index].id != e.Stack {
		index, moves = c.otherStack(t, e.Stack), moveStack
	}
	t.stack = index
	return index, moves
}

// aux puts the aux of an event that has one.
func (c *eventEncoder) aux(e *capture.Event, h *prediction, stack uint32) (moves uint32) {
	if e.Aux == h.aux {
		return hasAux
	}
	if otherType(e.Aux, h.aux) {
		c.types = append(c.types, noteOf(e.Aux, stack, uint32(c.head.count-1)))
	}
	c.put(secAux, e.Aux)
	h.aux = e.Aux
	return hasAux | moveAux
}

// number notes an event of which numbers are left out, or were before.
func (c *eventEncoder) number(index int, seq uint64) {
	if !c.gapped {
		c.gapped = true
		for i := range index {
			c.seqs = append(c.seqs, c.head.first+uint64(i))
		}
	}
	c.seqs = append(c.seqs, seq)
	if gap := seq - c.head.last - 1; gap != 0 {
		c.put(secGapAt, uint64(index-c.gapAt))
		c.put(secGap, gap)
		c.gapAt = index
	}
}

// switchTo notes that the event is of another thread than the last one.
func (c *eventEncoder) switchTo(index int, tid int32) {
	i, found := c.tidAt.At(uint32(tid), int32(len(c.sums)))
	if !found {
		c.put(secTIDs, zigzag(uint64(tid)))
		c.sums = append(c.sums, capture.ThreadSum{TID: tid})
		c.model.threads = append(c.model.threads, threadModel{})
	}
	if c.thread >= 0 {
		c.put(secThreadAt, uint64(index-c.threadAt))
		c.put(secThread, uint64(i))
		c.threadAt = index
	}
	c.tid, c.thread = tid, int(i)
}

// otherStack is the index of a stack that is not the expected one.
func (c *eventEncoder) otherStack(t *threadModel, id capture.StackID) uint32 {
	i := c.stackIndex(id)
	c.put(secStack, uint64(i))
	c.model.predictions[t.stack].next = i
	return i
}

// stackIndex is the index of a stack, which may be new.
func (c *eventEncoder) stackIndex(id capture.StackID) uint32 {
	slot := c.stackAt.Slot(id)
	if i := *slot; int(i) < len(c.stacks) && c.stacks[i] == id {
		return i
	}
	i := uint32(len(c.stacks))
	c.put(secStacks, zigzag(uint64(id)-uint64(c.stacks[i-1])))
	c.stacks = append(roomy(c.stacks, 256), id)
	c.model.predictions = append(roomy(c.model.predictions, 256), prediction{id: id})
	c.sum.flows = append(roomy(c.sum.flows, 256), capture.Flow{})
	*slot = i
	return i
}

// take encodes an event that gives something back.
func (c *eventEncoder) take(e *capture.Event, t *threadModel, h *prediction, index int) (moves uint32) {
	of := -1
	if e.Old != 0 {
		moves |= hasOld
		c.putLiteral(e.Old)
	}
	if e.Addr != 0 {
		var ref uint32
		of, ref = c.ref(e, e.Addr, h, index)
		moves |= ref | hasAddr
	}
	if e.Size != 0 {
		moves |= hasSize
		expected := h.size
		if of >= 0 {
			_, expected, _ = c.block(&c.made[of])
		}
		if e.Size != expected {
			moves |= moveSize
			c.put(secSize, e.Size)
		}
		h.size = e.Size
	}
	if e.Kind == capture.Unmap {
		if !e.Failed {
			c.sum.unmapped += e.Size
		}
		c.pages.about(e.Addr, e.Size)
		return moves
	}
	moves |= c.ended(e, of)
	if !e.Ended.Recorded || e.Size > e.Ended.Size {
		c.pages.about(e.Addr, e.Size)
	}
	if e.Addr != 0 && !e.Failed {
		c.model.released(t, e)
	}
	return moves
}

// encodeAllocation encodes an event that makes something, perhaps of a block that is handed in.
func (c *eventEncoder) encodeAllocation(e *capture.Event, t *threadModel, h *prediction, index int) (moves uint32) {
	of := -1
	if e.Old != 0 {
		of, moves = c.ref(e, e.Old, h, index)
		moves |= hasOld
		if of < 0 {
			c.pages.about(e.Old, e.Ended.Size)
		}
	}
	if e.Size != 0 {
		if moves |= hasSize; e.Size != h.size {
			moves |= moveSize
			c.put(secSize, e.Size)
			h.size = e.Size
		}
	}
	if (e.Old != 0 || e.Ended.Recorded) && e.Kind.CanEnd() {
		moves |= c.ended(e, of)
	}
	if e.Kind == capture.Map && !e.Failed {
		c.sum.mapped += e.Size
	}
	if e.Addr == 0 {
		if e.Old != 0 && !e.Failed {
			c.model.released(t, e)
		}
		return moves
	}
	k := c.model.class(t, classOf(e.Size))
	moves |= c.place(e, t, k)<<movePlace | hasAddr
	c.model.noteAllocated(t, e, k)
	return moves
}

// ended puts which block the event ends, unless it is the one that event #of of the
// chunk made, and counts it.
func (c *eventEncoder) ended(e *capture.Event, of int) (moves uint32) {
	if e.Ended.Recorded && e.Ended.Temporary != c.model.temporary(of) {
		moves = moveTemporary
	}
	if of >= 0 {
		_, _, stack := c.block(&c.made[of])
		c.endedOf(e, &c.sum.flows[stack])
		return moves
	}
	at, g := -1, &e.Ended
	if g.Recorded {
		at = c.originIndex(g.Stack)
	}
	if !c.model.expects(e, g, at) {
		moves |= moveOrigin
		c.put(secOrigin, uint64(at+1))
		if at >= 0 {
			c.put(secOriginSize, g.Size)
		}
	}
	if at >= 0 {
		c.chunkEffects.noteEnd(g.Seq)
		c.pages.about(e.Addr, g.Size)
		c.endedOf(e, &c.sum.origins[at])
	}
	return moves
}

// endedOf counts the block that the event ends for the flow of its origin.
func (c *eventEncoder) endedOf(e *capture.Event, f *capture.Flow) {
	c.sum.ended(f, e.Ended.Size, e.Ended.Temporary)
	if !e.Ended.Temporary {
		return
	}
	c.sizes.ended(e.Ended.Size)
	if c.latest >= 0 {
		c.sums[c.latest].Temporary++
	} else {
		c.before = append(c.before, c.lastTID)
	}
}

// originIndex is the index of the stack of an older block, which may be new.
func (c *eventEncoder) originIndex(id capture.StackID) int {
	slot := c.sum.originAt.Slot(id)
	if i := *slot; int(i) < len(c.sum.origins) && c.sum.origins[i].Stack == id {
		return int(i)
	}
	n, before := len(c.sum.origins), capture.StackID(0)
	if n > 0 {
		before = c.sum.origins[n-1].Stack
	}
	c.put(secOrigins, zigzag(uint64(id)-uint64(before)))
	c.sum.origins = append(c.sum.origins, capture.Flow{Stack: id})
	*slot = uint32(n)
	return n
}

// putMade notes the block that the event makes.
func (c *eventEncoder) putMade(e *capture.Event, index int, stack, moves uint32, op int32) {
	c.chunkEffects.put(index, e.Addr, e.Size, stack, int(op), c.thread)
	if !toldBefore(moves, e.Size) {
		c.pages.about(e.Addr, e.Size)
	}
	c.model.noteMade(index)
	c.sum.made(&c.sum.flows[stack], e, c.head.last, c.head.end)
	c.sizes.made(e.Size)
	s := &c.sums[c.thread]
	s.Allocs++
	s.Bytes += e.Size
	c.latest = c.thread
}

// toldBefore reports whether the addresses of a new block of a size were noted when the one that
// was there was freed.
func toldBefore(moves uint32, size uint64) bool {
	place := moves >> movePlace & 7
	return size <= maxSmall && (place == placeTop || place == placeDeeper)
}

// room makes room for what is noted of event #index of the chunk.
func (c *eventEncoder) room(index int) {
	size := 4096
	if index >= size {
		size = eventsPerChunk
	}
	c.chunkEffects.room(size)
	c.opOf = append(make([]uint16, 0, size), c.opOf...)[:size]
}
