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
	header bool              // goruntime.Layout.MallocHeader
	tiny   map[uint64]uint16 // which bytes blocks begin at that share a slot, by the slot
	flat   map[uint64]bool   // types, by their descriptor: they have no pointers
}

// maxGoTypes bounds the types that are remembered.
const maxGoTypes = 1 << 16

// goMade notes a block that may share its slot.
func (r *reader) goMade(address, size, typ uint64) {
	if size >= goruntime.TinySize || !r.goFlat(typ) {
		return
	}
	if r.golang.tiny == nil {
		r.golang.tiny = map[uint64]uint16{}
	}
	r.golang.tiny[address&^(goruntime.TinySize-1)] |= 1 << (address % goruntime.TinySize)
}

// goFlat tells whether values of a type have no pointers. Descriptors do not change.
func (r *reader) goFlat(typ uint64) bool {
	if typ == 0 {
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
	return flat
}

// sweep handles a record of the slots of a span that were freed. The lock is held.
func (r *reader) sweep(head uint64, rec []uint64) {
	index := int(head >> siteShift % MaxFunctions)
	if index >= len(r.p.siteTable.list) {
		r.stats.Torn++
		return
	}
	s := r.p.siteTable.list[index]
	e := capture.Event{Time: r.clock.at(rec[1]), TID: int32(head >> tidShift & (1<<22 - 1)), Kind: capture.Free}
	first, size, class := rec[2], rec[3], rec[5]
	noPointers := class&1 != 0
	shared := noPointers && size == goruntime.TinySize
	begin := uint64(0)
	if r.golang.header && !noPointers && class>>1 != 0 && size >= goruntime.HeaderFrom {
		begin = 8
	}
	for i, word := range rec[sweepHead/8:] {
		for ; word != 0; word &= word - 1 {
			slot := first + uint64(64*i+bits.TrailingZeros64(word))*size
			if shared && r.golang.tiny[slot] != 0 {
				for blocks := r.golang.tiny[slot]; blocks != 0; blocks &= blocks - 1 {
					e.Addr = slot + uint64(bits.TrailingZeros16(blocks))
					r.report(&e, s)
				}
				delete(r.golang.tiny, slot)
				continue
			}
			e.Addr = slot + begin
			r.report(&e, s)
		}
	}
}

// goAux is the Aux of an event of a function of a Go runtime.
func (s *site) goAux(typ, goroutine uint64) uint64 {
	return uint64(capture.NewGoAux(goroutine, typ, uint64(s.In.Low)))
}

// goAllocates tells functions of a Go runtime that make blocks.
func goAllocates(fn *breakpoints.Function) bool {
	return fn.Group == breakpoints.GroupGo && fn.Kind == capture.Alloc
}
