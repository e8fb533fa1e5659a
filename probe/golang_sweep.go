package probe

import (
	"math/bits"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/addr"
)

// A goHeap is what the reader has to know a Go runtime's heap to tell which blocks are freed when
// slots are.
type goHeap struct {
	header bool            // goruntime.Layout.MallocHeader
	tiny   tinySlots       // the blocks that share slots
	flat   map[uint64]bool // types, by their descriptor: they have no pointers

	lastFlat uint64 // a type that is, 0 if none is known
}

// maxGoTypes bounds the types that are remembered.
const maxGoTypes = 1 << 16

// goMade notes a block that may share its slot.
func (r *reader) goMade(address, size, typ uint64) {
	if size >= goruntime.TinySize || !r.goFlat(typ) {
		return
	}
	r.golang.tiny.add(address)
}

// goFlat reports whether values of a type have no pointers. Descriptors do not change.
func (r *reader) goFlat(typ uint64) bool {
	if typ == 0 || typ == r.golang.lastFlat {
		return true
	}
	flat, known := r.golang.flat[typ]
	if !known {
		pointers, err := addr.ReadWord(r.p.proc, addr.Run(typ+8)) // PtrBytes of internal/abi.Type, behind Size_
		if err != nil {
			return false
		}
		flat = pointers == 0
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
		if !shared {
			r.sweepSlots(base+begin, size, word)
			continue
		}
		for ; word != 0; word &= word - 1 {
			r.sweepShared(base + uint64(bits.TrailingZeros64(word))*size)
		}
	}
}

// sweepSlots reports the slots of word that were freed, size bytes apart from base on. All of
// them are reported when it returns, however full the batch was, and the batch has room.
func (r *reader) sweepSlots(base, size, word uint64) {
	from := &r.swept
	for word != 0 {
		n := r.n
		for ; word != 0 && n < len(r.batch); word &= word - 1 {
			// Field by field, as in take. Ended is the sink's to set.
			e := &r.batch[n]
			e.Time, e.TID, e.Stack = from.Time, from.TID, 0
			e.Addr = base + uint64(bits.TrailingZeros64(word))*size
			e.Size, e.Old, e.Aux = 0, 0, 0
			e.Func, e.Kind, e.Failed, e.Abandoned = from.Func, capture.Free, false, false
			n++
		}
		if r.n = n; n == len(r.batch) {
			r.flush()
		}
	}
}

// sweepShared reports the blocks that share a slot, or one at its start if none is known: it was
// made before hdb came.
func (r *reader) sweepShared(slot uint64) {
	if begins := r.golang.tiny.take(slot); begins != 0 {
		r.sweepSlots(slot&^(goruntime.TinySize-1), 1, uint64(begins))
		return
	}
	r.sweepSlots(slot, 0, 1)
}

// goAux is the Aux of an event of a function of a Go runtime.
func (s *site) goAux(typ, goroutine uint64) uint64 {
	return uint64(capture.NewGoAux(goroutine, typ, uint64(s.In.Low)))
}

// goAllocates tells functions of a Go runtime that make blocks.
func goAllocates(fn *breakpoints.Function) bool {
	return fn.Group == breakpoints.GroupGo && fn.Kind == capture.Alloc
}
