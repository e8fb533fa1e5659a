package file

import (
	"unsafe"

	"hdb/capture"
	"hdb/capture/intern"
)

// Ops of events as numbers that are compared at once. BenchmarkWrite pays for it; the
// tests of plain.go hold it against the fields of events.

// A recentOp is an op that events had lately.
type recentOp struct {
	key   uint64 // see opKey
	index int32
}

// An opDictionary numbers the ops and shapes of a chunk.
type opDictionary struct {
	recent  [256]recentOp        // by some bits of the key
	opAt    intern.Table[uint64] // op -> index
	shapeAt intern.Table[uint32] // key of the shape -> index
}

func (d *opDictionary) reset() {
	d.opAt.Reset()
	d.shapeAt.Reset()
	clear(d.recent[:])
}

// op is the op with a key, which is put into c's sections if it is new.
func (d *opDictionary) op(key uint64, c *eventColumns) recentOp {
	r := d.recentAt(key)
	if r.key != key {
		*r = recentOp{key, d.opIndex(key, c)}
	}
	return *r
}

func (d *opDictionary) recentAt(key uint64) *recentOp {
	return &d.recent[intern.Mix(key)>>32%uint64(len(d.recent))]
}

// opIndex is the index of the op with a key.
func (d *opDictionary) opIndex(key uint64, c *eventColumns) int32 {
	i, found := d.opAt.At(key, int32(len(c.ops)))
	if !found {
		sh, moves := ofOpKey(key)
		c.put(secOps, uint64(d.shapeIndex(sh, c)))
		c.put(secOps, uint64(moves))
		c.ops = append(c.ops, sh)
	}
	return i
}

// shapeIndex is the index of a shape.
func (d *opDictionary) shapeIndex(sh shape, c *eventColumns) int32 {
	i, found := d.shapeAt.At(sh.key(), int32(d.shapeAt.Len))
	if !found {
		c.columns[secShapes] = append(c.columns[secShapes], byte(sh.kind), sh.flags)
		c.put(secShapes, uint64(sh.fn))
	}
	return i
}

// Moves are noted together with the flags of the shape, which are found in the same
// places: those from hasFlags on.
const (
	hasFlags     = 16 // shift
	hasFailed    = shapeFailed << hasFlags
	hasAddr      = shapeAddr << hasFlags
	hasSize      = shapeSize << hasFlags
	hasOld       = shapeOld << hasFlags
	hasAux       = shapeAux << hasFlags
	hasStack     = shapeStack << hasFlags
	hasAbandoned = shapeAbandoned << hasFlags
)

// opKey is the op of an event as one number, which is not 0; function is functionAndKind without Failed, of 24 bits.
func opKey(function uint64, moves uint32) uint64 { return function<<32 | 1<<31 | uint64(moves) }

// ofOpKey is the inverse of opKey.
func ofOpKey(key uint64) (sh shape, moves uint32) {
	return shape{kind: capture.Kind(key >> 48), flags: uint8(key >> hasFlags), fn: uint16(key >> 32)}, uint32(key) & (numMoves - 1)
}

// functionAndKind is the function and the kind of an event as one number of 24 bits. The 8
// bits above are Failed. All are read at once, as little-endian processors do.
func functionAndKind(e *capture.Event) uint64 { return uint64(*(*uint32)(unsafe.Pointer(&e.Func))) }

// failure is Failed and Abandoned as one number, 0 if the event is neither.
func failure(e *capture.Event) uint16 { return *(*uint16)(unsafe.Pointer(&e.Failed)) }

// threadAndStack is the thread and the stack of an event as one number.
func threadAndStack(e *capture.Event) uint64 { return *(*uint64)(unsafe.Pointer(&e.TID)) }

// This does not compile if the fields are elsewhere than these functions expect.
const (
	_ = uint(unsafe.Offsetof(capture.Event{}.Kind) - unsafe.Offsetof(capture.Event{}.Func) - 2)
	_ = uint(2 + unsafe.Offsetof(capture.Event{}.Func) - unsafe.Offsetof(capture.Event{}.Kind))
	_ = uint(unsafe.Offsetof(capture.Event{}.Failed) - unsafe.Offsetof(capture.Event{}.Func) - 3)
	_ = uint(3 + unsafe.Offsetof(capture.Event{}.Func) - unsafe.Offsetof(capture.Event{}.Failed))
	_ = uint(unsafe.Offsetof(capture.Event{}.Abandoned) - unsafe.Offsetof(capture.Event{}.Func) - 4)
	_ = uint(4 + unsafe.Offsetof(capture.Event{}.Func) - unsafe.Offsetof(capture.Event{}.Abandoned))
	_ = uint(unsafe.Offsetof(capture.Event{}.Stack) - unsafe.Offsetof(capture.Event{}.TID) - 4)
	_ = uint(4 + unsafe.Offsetof(capture.Event{}.TID) - unsafe.Offsetof(capture.Event{}.Stack))
)
