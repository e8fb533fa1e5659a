package objects

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// A Heap is the objects of the interpreters of one runtime, of a stopped process.
type Heap struct {
	in      *python.Interpreter
	runtime python.Runtime
	mem     *cache
	l       *layout.Layout
	meta    addr.Run // PyType_Type
	types   map[addr.Run]*Type
	givenUp func() bool

	fieldNames map[string]map[int]string

	slots int // references that were looked at
}

// Open prepares to read the objects of an interpreter. What was read is kept by the Heap, which is
// of one stop therefore. givenUp tells that no caller waits for the answer.
func Open(in *python.Interpreter, mem python.Memory, symbols python.Symbols, givenUp func() bool) (*Heap, error) {
	rt, err := in.Runtime()
	if err != nil {
		return nil, err
	}
	h := &Heap{in: in, runtime: rt, mem: newCache(mem), types: map[addr.Run]*Type{}, l: rt.Layout, givenUp: givenUp, fieldNames: fieldNames(rt.Layout)}
	at, ok := symbols("PyType_Type")
	if !ok {
		return nil, fmt.Errorf("CPython %s: it does not export PyType_Type", rt.Version)
	}
	h.meta = at
	return h, nil
}

// Memory returns the heap's memory, cached.
func (h *Heap) Memory() python.Memory { return h.mem }

// typeOf is the type of the object at an address, nil if none is there.
func (h *Heap) typeOf(at addr.Run) *Type {
	if at%8 != 0 || at < pageSize {
		return nil
	}
	b := h.mem.view(at, h.l.Object.Size)
	if b == nil {
		return nil
	}
	if n := wordIn(b, 0); n == 0 || n > maxRefs {
		return nil
	}
	return h.typeAt(pointerIn(b, h.l.Object.Type))
}

// count is how many elements an object says that it has.
func (h *Heap) count(at addr.Run) uint64 { return h.mem.word(at + addr.Run(h.l.Object.Count)) }

// looked counts references that were looked at, and is why no more are.
func (h *Heap) looked(n int) error {
	before := h.slots
	h.slots += n
	if h.slots > maxSlots {
		return errTooMany
	}
	if before>>16 != h.slots>>16 && h.givenUp != nil && h.givenUp() {
		return ErrInterrupted
	}
	return nil
}

// RefCount is how many references CPython has counted to an object. Those of an immortal one, from
// 3.12 on, are not counted.
func (h *Heap) RefCount(at addr.Run) (n uint64, counted bool) {
	n = h.mem.word(at)
	return n, n&h.l.Object.Immortal == 0
}

// Type is the type of an object.
func (h *Heap) Type(at addr.Run) (*Type, error) {
	if t := h.typeOf(at); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%v: not a Python object", at)
}
