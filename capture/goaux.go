package capture

import (
	"strings"

	"hdb/internal/addr"
)

// OfGo tells the function of a Go runtime by which blocks were made, by its name.
func OfGo(function string) bool { return strings.HasPrefix(function, "runtime.mallocgc") }

// ByGo is OfGo for the function by which blocks of a Go runtime are freed, too.
func ByGo(function string) bool { return OfGo(function) || function == "runtime.sweep" }

// Goroutine is the goroutine that an event of a function allocated in, by a Go runtime; ok is
// false if it is not known, as of blocks that a collection has found dead.
func (e *Event) Goroutine(function string) (id uint64, ok bool) {
	if e.Kind != Alloc || e.Aux == 0 || !OfGo(function) {
		return 0, false
	}
	return GoAux(e.Aux).Goroutine(), true
}

// A GoAux is the Aux of an allocation by a Go runtime: the goroutine and the type.
type GoAux uint64

// The goroutine is in the low bits, and above them the type's distance from the beginning of
// its module, in words of 8 bytes.
const (
	goTypeShift = 40
	goTypeBytes = 8 << (64 - goTypeShift) // that it may be away, bytes
)

// NewGoAux packs a goroutine's number and the address of its type, which is the runtime's
// descriptor (runtime._type), in a module that begins at low. 0 is no type: what is allocated has
// no pointers, and nothing else is known of it. So is a descriptor elsewhere: package reflect makes
// such.
func NewGoAux(goroutine, typ, low uint64) GoAux {
	if off := typ - low; typ != 0 && off < goTypeBytes {
		return GoAux(off/8<<goTypeShift | goroutine&(1<<goTypeShift-1))
	}
	return GoAux(goroutine & (1<<goTypeShift - 1))
}

// Goroutine is the goroutine's number, 0 for the runtime's own.
func (a GoAux) Goroutine() uint64 { return uint64(a) & (1<<goTypeShift - 1) }

// Word is how many words of 8 bytes the type's descriptor is away from the beginning of its
// module, 0 if the type is not known.
func (a GoAux) Word() uint32 { return uint32(a >> goTypeShift) }

// GoAuxOfWord is the Aux of which Word is w, of no goroutine.
func GoAuxOfWord(w uint32) GoAux { return GoAux(w) << goTypeShift }

// Type is the address of the type's descriptor in a module that begins at low, 0 if it is not
// known.
func (a GoAux) Type(low uint64) uint64 {
	if a>>goTypeShift == 0 {
		return 0
	}
	return low + uint64(a>>goTypeShift)*8
}

// A GoType is a type of a Go program, as its descriptor tells it (internal/abi.Type).
type GoType struct {
	Name string // foreign
	Size uint64 // bytes of a value
}

// GoTypes tells the type that has its descriptor at an address of one module. ok is false if there
// is none. It may be called from any goroutine.
type GoTypes func(descriptor addr.Run) (t GoType, ok bool)
