package file

import (
	"time"
	"unsafe"

	"hdb/capture"
)

// The shortest way of the encoder: events that differ from the one before by address and time
// alone, and by the number of what they end. A program of Go makes such where it fills a span,
// and the collector where it finds one dead; others where they build a list. The tests of
// plain events hold it against eventEncoder.event, too.

// run does what event does for the events up to the first that differs from what the one before
// makes expect, and returns how many they are. There must be room as for plain. It changes
// nothing that an event which it does not take would find otherwise.
func (c *eventEncoder) run(events []capture.Event) int {
	switch e := &events[0]; {
	case e.TID != c.tid || e.Old != 0 || failure(e) != 0:
		return 0
	case e.Kind == capture.Free && e.Stack == 0 && e.Aux == 0 && c.present(e.Time):
		return c.runOfFrees(events)
	case e.Kind == capture.Alloc && !e.Ended.Recorded:
		return c.runOfAllocs(events)
	}
	return 0
}

// A pageRun is blocks of one size in one region of pages, one behind the other.
type pageRun struct {
	pages  *regionMasks
	length uint64 // of a block's addresses, less one
	limit  uint64 // the last address that a block can begin at
	first  uint64 // from which on pages are still to be marked
}

// startRun begins with the block at addr, and is false if it is of more than one region.
func (c *eventEncoder) startRun(addr, size uint64) (r pageRun, ok bool) {
	end := touchedEnd(addr, size, chunkSize(size))
	if addr-1 >= 1<<addrBits-1 || size-1 >= longPlain-1 {
		return r, false
	}
	if r.pages = c.pages.nearOf(addr, end); r.pages == nil {
		return r, false
	}
	r.length = end - addr
	r.limit = min(addr|(1<<(pageBits+regionBits)-1)-r.length, 1<<addrBits-1)
	r.first = addr
	return r, true
}

// joins reports whether the pages of two blocks of which one begins step behind the other may be
// marked together: no grain between them is of neither.
func (r *pageRun) joins(step uint64) bool { return step-1 <= r.length+1<<grainBits-1 }

// addThrough marks the pages of the blocks so far, of which the last one begins at last.
func (r *pageRun) addThrough(last uint64) { r.pages.add(r.first, last+r.length) }

// runOfFrees is run for blocks that are older than the chunk and whose frees have no stack:
// a garbage collector has found them.
func (c *eventEncoder) runOfFrees(events []capture.Event) int {
	e := &events[0]
	size, h, o := e.Size, &c.model.predictions[0], &c.model.origins[e.Size%numOrigins]
	if !e.Ended.Recorded || e.Ended.Temporary || e.Ended.Size != size || h.threadAndStack != threadAndStack(e) || h.size != size || !o.recorded || o.stack != e.Ended.Stack {
		return 0
	}
	r, ok := c.startRun(e.Addr, size)
	if !ok || !c.knowsOp(h, opKey(functionAndKind(e), plainMoves&^hasStack|refLiteral<<moveRef)) {
		return 0
	}
	k, ended := &c.model.classes[h.class], c.chunkEffects.ended
	free, seqs := k.free[len(k.free):cap(k.free)], ended[len(ended):cap(ended)]
	n := sameFrees(events[:min(len(events), len(free), len(seqs))], c.head.first)
	column := c.columns[secLiteral]
	at := unsafe.Add(unsafe.Pointer(unsafe.SliceData(column)), len(column))
	before, step, w, bytes := c.model.literal, noStep, uint32(0), 0
	events, free, seqs = events[:n], free[:n], seqs[:n]
	for n = range events {
		b := &events[n]
		addr := b.Addr
		if addr > r.limit {
			goto done
		}
		if n == 0 || addr-before != step {
			if addr&^(1<<(pageBits+regionBits)-1) != r.limit&^(1<<(pageBits+regionBits)-1) {
				goto done
			}
			far := distance(before, addr)
			if far >= longPlain {
				goto done
			}
			w, bytes = longNumber(far)
			if n > 0 {
				if step = addr - before; !r.joins(step) {
					r.addThrough(before)
					r.first, step = addr, noStep
				}
			}
		}
		*(*uint32)(at) = w
		at = unsafe.Add(at, bytes)
		before, free[n], seqs[n] = addr, addr, b.Ended.Seq
	}
	n = len(events)
done:
	if n == 0 {
		return 0
	}
	r.addThrough(before)
	c.columns[secLiteral] = column[:uintptr(at)-uintptr(unsafe.Pointer(unsafe.SliceData(column)))]
	k.free, c.chunkEffects.ended = k.free[:len(k.free)+n], ended[:len(ended)+n]
	c.model.literal = before
	o.size = size
	f, all := &c.sum.origins[o.at], uint64(n)
	f.Frees += all
	f.Freed += all * size
	c.sum.state.live -= all * size
	c.sum.state.blocks -= all
	c.putRun(n, h.op)
	return n
}

const noStep = uint64(1) << 63 // that no two addresses of a region of pages are apart

// sameFrees is how many of the events end blocks like the first does that were made before event
// #first.
func sameFrees(events []capture.Event, first uint64) int {
	if len(events) == 0 {
		return 0
	}
	e := &events[0]
	who, what, now, size, whom := threadAndStack(e), callOf(e), e.Time, e.Size, endedStack(e)
	for n := range events {
		b := &events[n]
		if threadAndStack(b) != who || callOf(b) != what || b.Time != now || b.Size != size || b.Old|b.Aux != 0 ||
			b.Ended.Size != size || endedStack(b) != whom || b.Ended.Seq >= first {
			return n
		}
	}
	return len(events)
}

// runOfAllocs is run for new blocks, each where it is expected to be when the one before it
// is known.
func (c *eventEncoder) runOfAllocs(events []capture.Event) int {
	e, t := &events[0], &c.model.threads[c.thread]
	size, aux, h := e.Size, e.Aux, &c.model.predictions[t.stack]
	if t.stack == 0 || t.stack >= plainNumber || h.next != t.stack || h.threadAndStack != threadAndStack(e) || h.size != size ||
		aux != 0 && aux != h.aux || int64(c.sum.state.live) < 0 {
		return 0
	}
	k, moves, chunk := &c.model.classes[h.class], uint32(plainMoves), chunkSize(size)
	step := chunk
	switch {
	case t.bump == e.Addr:
		moves |= placeBump << movePlace
	case 2*k.last-k.prev == e.Addr:
		moves |= placeStride << movePlace
		if step = e.Addr - k.last; step == chunk {
			events = events[:1] // the next one is behind this one, which is named first
		}
	default:
		return 0
	}
	if aux != 0 {
		moves |= hasAux
	}
	r, ok := c.startRun(e.Addr, size)
	if !ok || !r.joins(step) || !c.knowsOp(h, opKey(functionAndKind(e), moves)) {
		return 0
	}
	if len(k.free) > 0 {
		if top := k.free[len(k.free)-1]; top >= e.Addr { // the block there has another place
			r.limit = min(r.limit, top-1)
		}
	}
	index := c.head.count
	made := c.made[index:]
	n := sameAllocs(events[:min(len(events), len(made))], step, r.limit)
	events, made = events[:n], made[:n]
	where, more := e.Addr|uint64(h.op)<<addrBits, madeWord(uint32(size), uint16(t.stack), uint16(c.thread))
	for n = range events {
		if !c.present(events[n].Time) && !c.passed(index+n, events[n].Time) {
			goto done
		}
		d := &made[n]
		d.where = where
		*d.word() = more
		where += step
	}
	n = len(events)
done:
	if n == 0 {
		return 0
	}
	last := e.Addr + uint64(n-1)*step
	if k.prev = last - step; n == 1 {
		k.prev = k.last
	}
	k.last, t.bump = last, last+chunk
	r.addThrough(last)
	c.model.named.addRange(index, n)
	c.model.made = index + n - 1
	c.countMade(t.stack, n, size)
	c.putRun(n, h.op)
	return n
}

// countMade adds n blocks of a size to the sums of a stack and of the thread.
func (c *eventEncoder) countMade(stack uint32, n int, size uint64) {
	all := uint64(n)
	c.sum.madeAll(&c.sum.flows[stack], all, size, c.head.last+all, c.head.end)
	if size < smallSizes {
		c.sizes.allocs[size] += uint32(n)
	} else {
		for range n {
			push(&c.sizes.largeAllocs, size)
		}
	}
	sum := &c.sums[c.thread]
	sum.Allocs += all
	sum.Bytes += all * size
	c.latest = c.thread
}

// sameAllocs is how many of the events make blocks as the first does, each step behind the one before,
// up to limit.
func sameAllocs(events []capture.Event, step, limit uint64) int {
	if len(events) == 0 {
		return 0
	}
	e := &events[0]
	who, what, size, aux, addr := threadAndStack(e), callOf(e), e.Size, e.Aux, e.Addr
	for n := range events {
		b := &events[n]
		if b.Addr != addr || addr > limit || threadAndStack(b) != who || callOf(b) != what || b.Size != size || b.Aux != aux || b.Old != 0 || b.Ended.Recorded {
			return n
		}
		addr += step
	}
	return len(events)
}

// endedStack is the stack of a block that ended, whether it was recorded and whether it was
// temporary, as one number.
func endedStack(e *capture.Event) uint64 {
	return *(*uint64)(unsafe.Pointer(&e.Ended.Stack)) & (1<<48 - 1)
}

// callOf is functionAndKind and failure as one number.
func callOf(e *capture.Event) uint64 { return *(*uint64)(unsafe.Pointer(&e.Func)) & (1<<40 - 1) }

// This does not compile if the fields are elsewhere than these functions expect.
const (
	_ = uint(unsafe.Offsetof(capture.Ended{}.Recorded) - unsafe.Offsetof(capture.Ended{}.Stack) - 4)
	_ = uint(4 + unsafe.Offsetof(capture.Ended{}.Stack) - unsafe.Offsetof(capture.Ended{}.Recorded))
	_ = uint(unsafe.Offsetof(capture.Ended{}.Temporary) - unsafe.Offsetof(capture.Ended{}.Stack) - 5)
	_ = uint(5 + unsafe.Offsetof(capture.Ended{}.Stack) - unsafe.Offsetof(capture.Ended{}.Temporary))
	_ = uint(unsafe.Offsetof(capture.Ended{}.Seq) - unsafe.Offsetof(capture.Ended{}.Stack) - 8) // 8 bytes can be read from both
	_ = uint(unsafe.Offsetof(capture.Event{}.Ended) - unsafe.Offsetof(capture.Event{}.Func) - 8)
)

// passed notes that the event is of another time than the last one, and reports whether the fields
// of plain events can say that.
func (c *eventEncoder) passed(index int, at time.Duration) bool {
	now := ticks(at)
	if now == c.head.end {
		return true
	}
	passed, since := zigzag(now-c.head.end), uint64(index)-uint64(c.timeAt)
	if passed|since >= plainNumber {
		return false
	}
	c.putPlain(secTimeAt, since)
	c.putPlain(secTime, passed)
	c.timeAt, c.head.end, c.time = index, now, timeOf(now)
	return true
}

// putRun notes n events of an op.
func (c *eventEncoder) putRun(n int, op int32) {
	ops := c.opOf[c.head.count:][:n]
	for i := range ops {
		ops[i] = uint16(op)
	}
	c.head.count += n
	c.head.last += uint64(n)
}
