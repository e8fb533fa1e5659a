package file

import (
	"unsafe"

	"hdb/capture"
)

// Ops of events as numbers that are compared at once. BenchmarkWrite pays for it; the
// tests of plain.go hold it against the fields of events.

// A recentOp is an op that events had lately.
type recentOp struct {
	key   uint64 // see opKey
	index int32
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

// This does not compile if the fields lie elsewhere than these functions expect.
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
