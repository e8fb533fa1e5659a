package file

import (
	"encoding/binary"
	"iter"
	"math"

	"hdb/capture"
)

// The section of mappings has what the events of a chunk that change mappings are, so that which are live is
// known without decoding the other events, and from sums, which have none. Each event is
//
//	its number minus the number of the one before (the first: minus the chunk's) << 2 | 0 map, 1 unmap, 2 protect
//	function; TID, zigzag; stack ID; address minus the one before, zigzag; size; aux
//	of map: 0, or 1 + the old address minus the address, zigzag
//
// Failed calls are not in it.

// A mapEncoder makes the section.
type mapEncoder struct {
	b         []byte
	seq, addr uint64 // of the event before
}

// mapKinds are the kinds of events in the section by their numbers there.
var mapKinds = [...]capture.Kind{capture.Map, capture.Unmap, capture.Protect}

// add adds event #seq of the chunk that begins with #first, unless it changes nothing.
func (m *mapEncoder) add(e *capture.Event, seq, first uint64) {
	if e.Failed || e.Addr == 0 || e.Size == 0 {
		return
	}
	kind := uint64(0)
	switch e.Kind {
	case capture.Unmap:
		kind = 1
	case capture.Protect:
		kind = 2
	}
	if len(m.b) == 0 {
		m.seq, m.addr = first, 0
	}
	put := func(v uint64) { m.b = binary.AppendUvarint(m.b, v) }
	put((seq-m.seq)<<2 | kind)
	put(uint64(e.Func))
	put(zigzag(uint64(e.TID)))
	put(uint64(e.Stack))
	put(zigzag(e.Addr - m.addr))
	put(e.Size)
	put(e.Aux)
	if kind == 0 {
		old := uint64(0)
		if e.Old != 0 {
			old = 1 + zigzag(e.Old-e.Addr)
		}
		put(old)
	}
	m.seq, m.addr = seq, e.Addr
}

// encodedMaps is the section of a chunk that begins with event #first.
type encodedMaps struct {
	first uint64
	b     []byte
}

// Events yields the events; one that is damaged ends them.
func (m encodedMaps) Events() iter.Seq[capture.Event] {
	return func(yield func(capture.Event) bool) {
		c := cursor{name: "mappings", b: m.b}
		seq, addr := m.first, uint64(0)
		for len(c.b) > 0 {
			head := c.uvarint()
			fn, tid, stack := c.uvarint(), unzigzag(c.uvarint()), c.uvarint()
			addr += unzigzag(c.uvarint())
			seq += head >> 2
			e := capture.Event{Seq: seq, Func: uint16(fn), TID: int32(tid), Stack: capture.StackID(stack), Addr: addr, Size: c.uvarint(), Aux: c.uvarint()}
			if head&3 >= uint64(len(mapKinds)) || fn > math.MaxUint16 || stack > math.MaxUint32 {
				return
			}
			if e.Kind = mapKinds[head&3]; e.Kind == capture.Map {
				if old := c.uvarint(); old != 0 {
					e.Old = addr + unzigzag(old-1)
				}
			}
			if c.err != nil || !yield(e) {
				return
			}
		}
	}
}
