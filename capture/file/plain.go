package file

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"hdb/capture"
	"hdb/capture/intern"
)

// The short way of the encoder: batches of plain events, which are most of a recording.
// BenchmarkWrite and BenchmarkRecorded pay for it. TestPlainEventsAreEncodedAsOthers and
// TestPlainEventsOfAnything hold it against the long way, eventEncoder.event.

// events adds events, of which there must be at least one, as event does one after
// the other. The chunk must have room for them.
func (c *eventEncoder) events(events []capture.Event) {
	for len(events) > plainBatch {
		c.batch(events[:plainBatch])
		events = events[plainBatch:]
	}
	c.batch(events)
}

// plainBatch is for how many events at once there is room made in columns.
const plainBatch = 512

// batch is events of at most plainBatch.
func (c *eventEncoder) batch(events []capture.Event) {
	if c.head.count+len(events) > c.roomTo {
		c.plainRoom()
	}
	unbroken := consecutive(events)
	for len(events) > 0 {
		if unbroken && events[0].Seq == c.head.last+1 && c.usual() {
			if n := c.short(events); n > 0 {
				events = events[n:]
				continue
			}
		}
		e := &events[0]
		c.event(e, numberAfter(e, c.head.last), ticks(e.Time))
		events = events[1:]
	}
}

// short encodes the events that events begin with in one of the short ways, and returns how many
// they are. The longer there was no run, the longer none is looked for.
func (c *eventEncoder) short(events []capture.Event) int {
	if n := c.run(events); n > 0 {
		c.runBackoff = 1
		return n
	}
	n := min(len(events), c.runBackoff)
	c.runBackoff = min(2*c.runBackoff, plainBatch)
	return c.plain(events[:n])
}

// consecutive reports whether the numbers of the events follow on each other.
func consecutive(events []capture.Event) bool {
	last := events[0].Seq - 1
	for i := range events {
		if last++; events[i].Seq != last {
			return false
		}
	}
	return true
}

// usual reports whether the next event may be a plain one: not among the first of a recording, for
// which there is not yet the room of a whole chunk, and not of thread 0, which no program has: see
// prediction.threadAndStack.
func (c *eventEncoder) usual() bool {
	return c.thread >= 0 && c.tid != 0 && !c.gapped && len(c.opOf) == eventsPerChunk
}

// plainColumns are those that putPlain puts numbers into.
var plainColumns = [...]int{secTimeAt, secTime, secStack, secSize, secAux, secDepth, secAge, secPlaced, secLiteral, secOrigin, secOriginSize}

// plainRoom makes room for what plainBatch events note, however they are encoded: none puts
// more than two numbers into a column.
func (c *eventEncoder) plainRoom() {
	c.roomTo = c.head.count + plainBatch
	for _, id := range plainColumns {
		c.columns[id] = slices.Grow(c.columns[id], 2*plainBatch*binary.MaxVarintLen64)
	}
	c.chunkEffects.ended = slices.Grow(c.chunkEffects.ended, plainBatch)
	c.types = slices.Grow(c.types, plainBatch)
	c.sizes.largeAllocs = slices.Grow(c.sizes.largeAllocs, plainBatch)
	c.sizes.largeTemporary = slices.Grow(c.sizes.largeTemporary, plainBatch)
}

const (
	plainNumber = 1 << 14 // more than the numbers that putPlain puts
	longPlain   = 1 << 28 // and longNumber makes

	plainMoves = hasStack | hasSize | hasAddr // of most plain events

	_ = uint(oddStack - plainNumber) // a plain block's stack has room in a madeBlock
)

// at is a's element i, which it must have: this is not checked.
func at[T any](a []T, i uint32) *T {
	base := unsafe.SliceData(a)
	return (*T)(unsafe.Add(unsafe.Pointer(base), uintptr(i)*unsafe.Sizeof(*base)))
}

// push puts v behind the others of s, where there must be room.
func push(s *[]uint64, v uint64) {
	n := len(*s)
	*s = (*s)[:n+1]
	*at(*s, uint32(n)) = v
}

// plain does what event does, in half the time, for the events, at least one, up to the first that is not a plain one
// of the thread of the event before: a block made, and not of another, or a recorded block freed, perhaps without a
// stack, where nothing is new to the dictionaries and what there is to note has room. It returns how many they are.
// Their numbers must be unbroken.
//
// It calls nothing and is one function, so that what it needs stays in registers, and looks
// at what lies where the model and the effects say without asking whether that is there. Before
// it is sure that an event is plain it changes only the time of the last one, which event
// finds right, and a prediction's threadAndStack, class and op, which event makes anew.
func (c *eventEncoder) plain(events []capture.Event) int {
	t, sum := &c.model.threads[c.thread], at(c.sums, uint32(c.thread))
	index := uint(c.head.count)
	stop := index + uint(len(events))
	last := at(c.model.predictions, t.stack)
	e := &events[0]
loop:
	for {
		what, size, addr := functionAndKind(e), e.Size, e.Addr // with lost, what has no more than its 24 bits
		if e.TID != c.tid || addr-1 >= 1<<addrBits-1 || failure(e) != 0 || e.Old != 0 {
			break
		}
		moves := uint32(plainMoves)
		stack := last.next
		if e.Stack == 0 { // as of blocks that a garbage collector has found
			if capture.Kind(what>>16) != capture.Free {
				break
			}
			moves &^= hasStack
			stack = 0
		}
		h := at(c.model.predictions, stack)
		// Most events are as the stack's last one: what else there was to ask was asked then.
		if h.threadAndStack != threadAndStack(e) || h.size != size {
			if size-1 >= longPlain-1 {
				break
			}
			if h.id != e.Stack {
				if stack = c.knownStack(e.Stack); stack == 0 {
					break
				}
				h = at(c.model.predictions, stack)
				moves |= moveStack
			}
			class := *at(t.classes[:], uint32(classOf(size)))
			if stack >= plainNumber || class == 0 {
				break
			}
			if h.size != size {
				moves |= moveSize
			}
			h.threadAndStack, h.class = threadAndStack(e), class
		}
		k := at(c.model.classes, h.class)
		if !c.present(e.Time) {
			if now := ticks(e.Time); now != c.head.end {
				passed := zigzag(now - c.head.end)
				since := uint64(index) - uint64(c.timeAt)
				if passed|since >= plainNumber {
					break
				}
				c.putPlain(secTimeAt, since)
				c.putPlain(secTime, passed)
				c.timeAt, c.head.end, c.time = int(index), now, timeOf(now)
			}
		}
		top := uint32(len(k.free))
		if capture.Kind(what>>16) == capture.Free {
			// The block is named by the event of the chunk that made it, or by its address.
			if !e.Ended.Recorded || e.Ended.Size != size || e.Aux != 0 || int(top) == cap(k.free) {
				break
			}
			var f *capture.Flow
			if of := uint(e.Ended.Seq - c.head.first); of < index {
				m := at(c.made, uint32(of))
				if !c.model.named.has(int(of)) || m.where&(1<<addrBits-1) != addr || uint64(m.size) != size || m.stack == oddStack || *at(c.stacks, uint32(m.stack)) != e.Ended.Stack {
					break
				}
				moves &^= moveSize // the block tells it
				age := uint32(index - of)
				if age >= plainNumber || e.Ended.Temporary != c.model.temporary(int(of)) {
					break
				}
				switch next, ok := c.model.named.next(c.model.next); {
				case ok && next == int(of):
					moves |= refNext << moveRef
				case age == h.age:
					moves |= refPredicted << moveRef
				}
				if !c.knowsOp(h, opKey(what, moves)) {
					break
				}
				if moves>>moveRef&3 == refAge {
					c.putPlain(secAge, uint64(age))
				}
				c.model.ref(h, int(index), int(of))
				f = at(c.sum.flows, uint32(m.stack))
			} else {
				if e.Ended.Temporary {
					break
				}
				o := &c.model.origins[size%numOrigins]
				origin := uint32(o.at)
				moves |= refLiteral << moveRef
				if !o.recorded || o.stack != e.Ended.Stack {
					if origin = c.knownOrigin(e.Ended.Stack); origin == intern.NoNumber {
						break
					}
					moves |= moveOrigin
				}
				if moves&(moveSize|moveOrigin) != 0 && (size >= plainNumber || origin >= plainNumber-1) {
					break
				}
				far := distance(c.model.literal, addr)
				if !c.knowsOp(h, opKey(what, moves)) {
					break
				}
				end := touchedEnd(addr, size, chunkSize(size))
				r := c.pages.nearOf(addr, end)
				if r == nil {
					break
				}
				r.add(addr, end)
				c.putFar(secLiteral, far)
				c.model.literal = addr
				if moves&moveSize != 0 {
					c.putPlain(secSize, size)
				}
				o.size = size
				if moves&moveOrigin != 0 {
					o.stack, o.recorded, o.at = e.Ended.Stack, true, int32(origin)
					c.putPlain(secOrigin, uint64(origin)+1)
					c.putPlain(secOriginSize, size)
				}
				push(&c.chunkEffects.ended, e.Ended.Seq)
				f = at(c.sum.origins, origin)
			}
			h.size = size
			c.sum.ended(f, size, e.Ended.Temporary)
			if e.Ended.Temporary { // what the last block of the chunk is, see model.temporary
				at(c.sums, uint32(c.latest)).Temporary++
				if size < smallSizes {
					c.sizes.temporary[size]++
				} else {
					push(&c.sizes.largeTemporary, size)
				}
			}
			push(&k.free, addr)
		} else {
			if capture.Kind(what>>16)&^capture.Realloc != 0 || e.Ended.Recorded {
				break
			}
			chunk := chunkSize(size)
			if top > 0 && *at(k.free, top-1) == addr && moves == plainMoves && e.Aux == 0 && h.key == opKey(what, plainMoves) && size <= maxSmall { // toldBefore
				k.free = k.free[:top-1] // which is what follows does then, too
			} else {
				switch { // a place for the block
				case top > 0 && *at(k.free, top-1) == addr: // placeTop
				case t.bump == addr:
					moves |= placeBump << movePlace
				case 2*k.last-k.prev == addr:
					moves |= placeStride << movePlace
				case len(at(c.model.classes, t.classes[unknownClass]).free) > 0:
					break loop
				case k.below(addr) > 0:
					moves |= placeDeeper << movePlace
				default:
					moves |= placeLiteral << movePlace
				}
				if e.Aux != 0 {
					if moves |= hasAux; e.Aux != h.aux {
						moves |= moveAux
					}
				}
				if moves&moveSize != 0 && size >= plainNumber || !c.knowsOp(h, opKey(what, moves)) {
					break
				}
				if !toldBefore(moves, size) {
					end := touchedEnd(addr, size, chunk)
					r := c.pages.nearOf(addr, end)
					if r == nil {
						break
					}
					r.add(addr, end)
				}
				if moves&moveAux != 0 {
					if otherType(e.Aux, h.aux) {
						push(&c.types, noteOf(e.Aux, stack, uint32(index)))
					}
					h.aux = e.Aux
					c.putAny(secAux, e.Aux)
				}
				if moves&moveSize != 0 {
					h.size = size
					c.putPlain(secSize, size)
				}
				switch moves >> movePlace & 7 {
				case placeTop:
					k.free = k.free[:top-1]
				case placeDeeper:
					depth := k.below(addr)
					c.putPlain(secDepth, uint64(depth))
					for i := top - 1 - depth; i < top-1; i++ {
						*at(k.free, i) = *at(k.free, i+1)
					}
					k.free = k.free[:top-1]
				case placeLiteral:
					c.putFar(secPlaced, distance(t.bump, addr))
				}
			}
			k.prev, k.last = k.last, addr
			t.bump = addr + chunk
			c.model.noteMade(int(index))
			m := at(c.made, uint32(index))
			m.size, m.thread, m.stack = uint32(size), uint16(c.thread), uint16(stack)
			m.where = addr | uint64(h.op)<<addrBits
			seq := c.head.first + uint64(index)
			c.sum.made(at(c.sum.flows, stack), e, seq, c.head.end)
			if size < smallSizes {
				c.sizes.allocs[size]++
			} else {
				push(&c.sizes.largeAllocs, size)
			}
			sum.Allocs++
			sum.Bytes += size
			c.latest = c.thread
		}
		if moves&moveStack != 0 {
			c.putPlain(secStack, uint64(stack))
			last.next = stack
		}
		*at(c.opOf, uint32(index)) = uint16(h.op)
		if stack != 0 {
			last = h
		}
		if index++; index == stop {
			break
		}
		e = (*capture.Event)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e)))
	}
	n := int(index) - c.head.count
	c.head.count, c.head.last = int(index), c.head.last+uint64(n)
	t.stack = uint32((uintptr(unsafe.Pointer(last)) - uintptr(unsafe.Pointer(unsafe.SliceData(c.model.predictions)))) / unsafe.Sizeof(*last))
	return n
}

// knownStack is the index of a stack, 0 if it is not in the dictionary.
func (c *eventEncoder) knownStack(id capture.StackID) uint32 {
	i := c.stackAt.Known(id)
	if uint(i) >= uint(len(c.stacks)) || c.stacks[i] != id {
		return 0
	}
	return i
}

// knownOrigin is the index of a stack among the origins, noNumber if it is not there.
func (c *eventEncoder) knownOrigin(id capture.StackID) uint32 {
	i := c.sum.originAt.Known(id)
	if uint(i) >= uint(len(c.sum.origins)) || c.sum.origins[i].Stack != id {
		return intern.NoNumber
	}
	return i
}

// knowsOp reports whether the op with a key is the prediction's, or one that events had lately,
// which becomes the prediction's.
func (c *eventEncoder) knowsOp(h *prediction, key uint64) bool {
	if h.key == key {
		return true
	}
	u := c.dict.recentAt(key)
	if u.key != key {
		return false
	}
	h.key, h.op = key, u.index
	return true
}
