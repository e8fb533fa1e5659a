package query

import (
	"hdb/capture"
	"hdb/values/blocktype"
)

// ofGo is the type of a block that a Go runtime has made, as the allocation gave it: of blocks of
// several values it is a slice. ok is false if something else has made it.
func (t *BlockTypes) ofGo(src capture.Source, b *capture.Held) (typ *blocktype.Type, ok bool) {
	if fns := src.Functions(); int(b.Func) >= len(fns) || !capture.OfGo(fns[b.Func]) {
		return nil, false
	}
	e, ok := src.Event(b.Seq)
	rec := src.Stack(b.Stack)
	if !ok || len(rec.PCs) == 0 {
		return nil, true
	}
	// The allocator is in the file that has all of the program's Go code.
	found, known := t.GoTypeOf(rec.Code(0), b.Seq, capture.GoAux(e.Aux))
	if !known {
		return nil, true
	}
	return GoType(found.Name, found.Size, b.Size), true
}

// GoType is the type of a block of that size that a Go runtime made for the named type, whose values have
// size bytes.
func GoType(name string, size, bytes uint64) *blocktype.Type {
	if bytes != size {
		name = "[]" + name
	}
	return &blocktype.Type{Name: name, Count: 1, How: blocktype.Declared}
}
