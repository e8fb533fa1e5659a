package blocktype

import (
	"strings"

	"hdb/heap/glibc"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values"
)

// Refined is the type of a block in memory: what its code says, typ, which may be nil, and what it begins with:
// an object of C++ with virtual functions tells its class. size is what was asked for, or if it is not exact
// what can be used.
func (f *Finder) Refined(typ *Type, at addr.Run, size uint64, exact bool) *Type {
	if typ != nil && (typ.Elem == nil || typ.Elem.Strip().Kind != values.Struct) && typ.How != Guess && (typ.Elem == nil || typ.Elem.Size() != 1) {
		return typ
	}
	var found *Type
	_ = symbols.Guard(func() { found = f.virtual(typ, at, size, exact) })
	if found == nil {
		return typ
	}
	return found
}

// virtual is the type of a block by the virtual table of its first object, nil without.
func (f *Finder) virtual(typ *Type, at addr.Run, size uint64, exact bool) *Type {
	if size < 8 || f.Program == nil || f.Program.Symbol == nil {
		return nil
	}
	start := uint64(0)
	if typ != nil {
		start = typ.Start
	}
	class := f.classAt(at + addr.Run(start))
	if class == "" {
		return nil
	}
	t := &Type{Name: class, Count: 1, How: VTable}
	if t.Elem = f.named(class); t.Elem == nil {
		if typ == nil || typ.How == Guess {
			t.How = Guess // how large an object is is not known: it may be what an earlier block has left
		}
		return t
	}
	n := uint64(t.Elem.Size())
	switch {
	case n == 0 || n > size-start:
		return nil
	case typ != nil && typ.Array && typ.Elem != nil && uint64(typ.Elem.Size()) == n:
		t.Array, t.Count, t.Start = true, typ.Count, typ.Start
	case exact && n != size, !exact && glibc.Usable(n) != size:
		return nil
	}
	return t
}

// classAt is the class of the complete object at an address by its virtual table, "" without.
func (f *Finder) classAt(at addr.Run) string {
	table, err := f.Program.ReadUint(at, 8)
	if err != nil || table == 0 || table&7 != 0 {
		return ""
	}
	name, off, ok := f.Program.Symbol(addr.Run(table))
	class, virtual := strings.CutPrefix(name, "vtable for ")
	if !ok || !virtual || off < 16 {
		return ""
	}
	// Before the functions are where the whole object begins, and its typeinfo (Itanium C++ ABI,
	// section 2.5.2).
	if top, err := f.Program.ReadUint(addr.Run(table)-16, 8); err != nil || top != 0 {
		return ""
	}
	return class
}

// named is the type of a class, remembered.
func (f *Finder) named(class string) *values.Type {
	if t, ok := f.classes[class]; ok {
		return t
	}
	if f.classes == nil || len(f.classes) >= maxGlobals {
		f.classes = map[string]*values.Type{}
	}
	t := f.Program.Named(class)
	if t != nil && (t.Size() <= 0 || t.Strip().Kind != values.Struct) {
		t = nil
	}
	f.classes[class] = t
	return t
}
