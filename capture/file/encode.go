package file

import (
	"encoding/binary"
	"fmt"
	"time"

	"hdb/capture"
)

// Sections of a chunk of events; part of the wire format.
const (
	secHead          = 1  // see eventHead
	secShapes        = 2  // dictionary: kind, flags, function
	secTIDs          = 3  // dictionary: thread IDs
	secStacks        = 4  // dictionary: stack IDs
	secTotals        = 15 // the Totals after the chunk's events; a column no more than the head
	secOrigins       = 17 // dictionary: stack IDs of blocks that are older than the chunk
	secSummary       = 19 // see Summary
	secTouched       = 20 // see pageSet
	secOps           = 21 // dictionary: index into shapes, moves
	secOp            = 22 // column of all events: index into ops
	secGapAt         = 23 // column: events since the last one with a gap before it
	secGap           = 24 // column: sequence numbers left out there
	secThreadAt      = 25 // column: events since the thread changed
	secThread        = 26 // column: index into the thread IDs
	secTimeAt        = 27 // column: events since the time changed
	secTime          = 28 // column: microseconds that went by
	secStack         = 29 // column of moveStack: index into the stack IDs
	secSize          = 30 // column of moveSize
	secAux           = 31 // column of moveAux
	secDepth         = 32 // column of placeDeeper: entry of the free list
	secAge           = 33 // column of refAge
	secPlaced        = 34 // column of placeLiteral: distance from the thread's bump
	secLiteral       = 35 // column of refLiteral: distance from the last of them
	secOrigin        = 36 // column of moveOrigin: 0 none, else index into origins + 1
	secOriginSize    = 37 // column of moveOrigin but for none
	secMaps          = 38 // see mapEncoder
	firstColumn      = secOps
	lastColumn       = secOriginSize
	numEventSections = 39
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
	kind  capture.Kind
	flags uint8
	fn    uint16
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

// endsBlock reports whether Addr names a block that exists.
func (s shape) endsBlock() bool { return s.kind.Releases() }

// eventHead begins the payload of a chunk of events, so that an index can be
// made without decoding it.
type eventHead struct {
	count       int
	first, last uint64 // sequence numbers
	start, end  uint64 // times of the first and last event in units of Resolution
}

func headOf(events []capture.Event) eventHead {
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
func appendTotals(b []byte, t *capture.Totals) []byte {
	for _, v := range []uint64{t.Events, t.Allocs, t.Frees, t.Failed, t.Bytes, t.Lost} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// parseTotals is the inverse of appendTotals, for a chunk with that head.
func parseTotals(b []byte, head eventHead) (t capture.Totals, err error) {
	c := cursor{name: "totals", b: b}
	for _, v := range []*uint64{&t.Events, &t.Allocs, &t.Frees, &t.Failed, &t.Bytes, &t.Lost} {
		*v = c.uvarint()
	}
	t.Last = time.Duration(head.end) * capture.Resolution
	return t, c.err
}

// eventColumns are the sections of a chunk of events that are not yet packed.
type eventColumns struct {
	head    eventHead
	columns [numEventSections][]byte
	chunkEffects
}

// check compares the head with the column of numbers. They differ if two goroutines used
// the encoder at once, or if it is wrong: then no column can be trusted.
func (c *eventColumns) check() error {
	h := &c.head
	if n := len(c.seqs); n == 0 && h.last-h.first == uint64(h.count)-1 || n > 0 && n == h.count && c.seqs[0] == h.first && c.seqs[n-1] == h.last {
		return nil
	}
	return fmt.Errorf("events #%d to #%d are %d with %d numbers: they were not kept apart", h.first, h.last, h.count, len(c.seqs))
}

// appendTo appends the payload; totals may be nil. The summary goes first, as it
// is read most often.
func (c *eventColumns) appendTo(dst []byte, p *packer, totals *capture.Totals) []byte {
	dst = appendStored(dst, secHead, c.head.append(nil))
	if totals != nil {
		dst = appendStored(dst, secTotals, appendTotals(nil, totals))
	}
	pack := func(id int) {
		if len(c.columns[id]) > 0 {
			dst = p.appendPacked(dst, id, c.columns[id])
		}
	}
	for _, id := range []int{secSummary, secTouched, secMaps, secShapes, secTIDs, secStacks, secOrigins} {
		pack(id)
	}
	for id := firstColumn; id <= lastColumn; id++ {
		if len(c.columns[id]) > 0 {
			dst = p.appendColumn(dst, id, c.columns[id])
		}
	}
	return dst
}
