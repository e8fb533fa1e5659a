package probe

import (
	"encoding/binary"
	"math/bits"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
)

// A goHeap is what the reader has to know of a Go runtime's heap to tell which blocks are
// freed when slots are.
type goHeap struct {
	header bool            // goruntime.Layout.MallocHeader
	tiny   tinySlots       // the blocks that share them
	flat   map[uint64]bool // types, by their descriptor: they have no pointers

	lastFlat uint64 // a type that is, 0 if none is known
}

// maxGoTypes bounds the types that are remembered.
const maxGoTypes = 1 << 16

// A tinySlots knows which bytes blocks begin at that share a slot of goruntime.TinySize bytes, by
// pages of slots: spans of such slots are one.
type tinySlots struct {
	pages map[uint64]*tinyPage // by the number of the page
	last  uint64               // number of a page, with
	page  *tinyPage            // nil if there is none yet
}

const tinyPageBits = 13 // of an address

// A tinyPage has a bit for each byte of each of its slots.
type tinyPage [1 << tinyPageBits / goruntime.TinySize]uint16

// at is the bits of a slot, nil if the page has none and is not to be made.
func (t *tinySlots) at(address uint64, made bool) *uint16 {
	number := address >> tinyPageBits
	if number != t.last || t.page == nil {
		page := t.pages[number]
		if page == nil {
			if !made {
				return nil
			}
			if t.pages == nil {
				t.pages = map[uint64]*tinyPage{}
			}
			page = new(tinyPage)
			t.pages[number] = page
		}
		t.last, t.page = number, page
	}
	return &t.page[address/goruntime.TinySize%uint64(len(t.page))]
}

// goMade notes a block that may share its slot.
func (r *reader) goMade(address, size, typ uint64) {
	if size >= goruntime.TinySize || !r.goFlat(typ) {
		return
	}
	*r.golang.tiny.at(address, true) |= 1 << (address % goruntime.TinySize)
}

// goFlat tells whether values of a type have no pointers. Descriptors do not change.
func (r *reader) goFlat(typ uint64) bool {
	if typ == 0 || typ == r.golang.lastFlat {
		return true
	}
	flat, known := r.golang.flat[typ]
	if !known {
		var pointers [8]byte // PtrBytes of internal/abi.Type, behind Size_
		_, err := r.p.proc.ReadAt(pointers[:], int64(typ)+8)
		if err != nil {
			return false
		}
		flat = binary.LittleEndian.Uint64(pointers[:]) == 0
		if len(r.golang.flat) >= maxGoTypes || r.golang.flat == nil {
			r.golang.flat = map[uint64]bool{} // more types than programs have
		}
		r.golang.flat[typ] = flat
	}
	if flat {
		r.golang.lastFlat = typ
	}
	return flat
}

// sweep handles a record of the slots of a span that were freed. The lock is held.
func (r *reader) sweep(head uint64, rec []uint64) {
	index := int(head >> siteShift % MaxFunctions)
	if index >= len(r.p.siteTable.list) {
		r.stats.Torn++
		return
	}
	r.swept = capture.Event{
		Time: r.clock.at(rec[1]), TID: int32(head >> tidShift & (1<<22 - 1)), Kind: capture.Free, Func: uint16(r.p.siteTable.list[index].index),
	}
	first, size, class := rec[2], rec[3], rec[5]
	noPointers := class&1 != 0
	shared := noPointers && size == goruntime.TinySize
	begin := uint64(0)
	if r.golang.header && !noPointers && class>>1 != 0 && size >= goruntime.HeaderFrom {
		begin = 8
	}
	for i, word := range rec[sweepHead/8:] {
		base := first + uint64(64*i)*size
		for word != 0 {
			if shared {
				slot := base + uint64(bits.TrailingZeros64(word))*size
				word &= word - 1
				if !r.sweepTiny(slot) {
					r.sweepSlots(slot, size, 1)
				}
				continue
			}
			word = r.sweepSlots(base+begin, size, word)
		}
	}
}

// sweepSlots reports slots of word that were freed, the first of which is at base, as far as the
// batch has room, and returns the others.
func (r *reader) sweepSlots(base, size, word uint64) uint64 {
	n, from := r.n, &r.swept
	for word != 0 && n < len(r.batch) {
		// Field by field, as in take. Ended is the sink's to set.
		e := &r.batch[n]
		e.Time, e.TID, e.Stack = from.Time, from.TID, 0
		e.Addr = base + uint64(bits.TrailingZeros64(word))*size
		e.Size, e.Old, e.Aux = 0, 0, 0
		e.Func, e.Kind, e.Failed, e.Abandoned = from.Func, capture.Free, false, false
		word &= word - 1
		n++
	}
	if r.n = n; n == len(r.batch) {
		r.flush()
	}
	return word
}

// sweepTiny reports the blocks that share a slot, and is false if it knows of none.
func (r *reader) sweepTiny(slot uint64) bool {
	bytes := r.golang.tiny.at(slot, false)
	if bytes == nil || *bytes == 0 {
		return false
	}
	for blocks := *bytes; blocks != 0; blocks &= blocks - 1 {
		r.sweepSlots(slot+uint64(bits.TrailingZeros16(blocks)), 0, 1)
	}
	*bytes = 0
	return true
}

// goAux is the Aux of an event of a function of a Go runtime.
func (s *site) goAux(typ, goroutine uint64) uint64 {
	return uint64(capture.NewGoAux(goroutine, typ, uint64(s.In.Low)))
}

// goAllocates tells functions of a Go runtime that make blocks.
func goAllocates(fn *breakpoints.Function) bool {
	return fn.Group == breakpoints.GroupGo && fn.Kind == capture.Alloc
}
