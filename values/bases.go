package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// aims is the class of C++ that a pointer or reference names, nil of all else.
func (t *Type) aims() *Type {
	if t = t.Strip(); t.Kind != Pointer && t.Kind != Reference && t.Kind != RvalueReference {
		return nil
	}
	return t.Elem().classType()
}

// classType is t as a class that may have bases, nil of all else.
func (t *Type) classType() *Type {
	if t = t.Strip(); t.Kind != Struct || t.Name == "" || t.isC() || t.Rust() || t.Tag == dwarf.TagUnionType {
		return nil
	}
	return t
}

// related moves the address of an object of one class to that of another one which is
// its base, or of which it is a base: what static_cast and dynamic_cast do. Classes that
// have nothing to do with one another share the address.
func (w *World) related(at addr.Run, from, to *Type) (addr.Run, error) {
	if at == 0 || from == nil || to == nil || from.Name == to.Name {
		return at, nil
	}
	if b, ok := w.baseNamed(MemoryValue(from, at), to.Name, 0); ok {
		return placeOf(b, from, to)
	}
	// Down: where the base lies in the class is known without an object, but for
	// virtual ones, which each class that derives puts elsewhere.
	path, ok := basePath(to, from.Name, 0)
	if !ok {
		return at, nil
	}
	off, static := int64(0), true
	for _, f := range path {
		off += f.Offset
		static = static && f.offExpr == nil && !f.Virtual
	}
	if static {
		return at - addr.Run(off), nil
	}
	whole, err := w.complete(at)
	if err != nil {
		return 0, fmt.Errorf("%s is a virtual base of %s: %w", from, to, err)
	}
	if whole.Type.Name == to.Name {
		return whole.addr, nil
	}
	if b, ok := w.baseNamed(whole, to.Name, 0); ok {
		return placeOf(b, whole.Type, to)
	}
	return 0, fmt.Errorf("the object is a %s, which is no %s", whole.Type, to)
}

func placeOf(b Value, from, to *Type) (addr.Run, error) {
	if a, ok := b.Addr(); ok {
		return a, nil
	}
	err := b.err
	if err == nil {
		err = errLost
	}
	return 0, fmt.Errorf("where the %s of a %s lies is not known: %w", to, from, err)
}

// baseNamed is the base class of that very name in an object, nearer ones first.
func (w *World) baseNamed(v Value, name string, depth int) (Value, bool) {
	path, ok := basePath(v.Type, name, depth)
	if !ok {
		return Value{}, false
	}
	for i := range path {
		v = w.Member(v, &path[i])
	}
	return v, true
}

// basePath is the way from a class down to its base of that name.
func basePath(t *Type, name string, depth int) ([]Field, bool) {
	if depth > maxDepth {
		return nil, false
	}
	fields := t.Strip().Fields()
	for _, f := range fields {
		if f.Base && f.Name == name {
			return []Field{f}, true
		}
	}
	for _, f := range fields {
		if !f.Base {
			continue
		}
		if rest, ok := basePath(f.Type, name, depth+1); ok {
			return append([]Field{f}, rest...), true
		}
	}
	return nil, false
}

// complete is the object that the base class at an address is a part of, as its
// virtual table tells (Itanium C++ ABI, section 2.5.2): two words before where the
// table's pointer shows, its place; the name of the table's symbol, its type.
func (w *World) complete(at addr.Run) (Value, error) {
	table, err := w.ReadUint(at, 8)
	if err != nil {
		return Value{}, err
	}
	name := ""
	if w.Symbol != nil {
		name, _, _ = w.Symbol(addr.Run(table))
	}
	class, ok := strings.CutPrefix(name, "vtable for ")
	if !ok {
		return Value{}, fmt.Errorf("no virtual table at %#x tells what the object at %v is", table, at)
	}
	top, err := w.ReadUint(addr.Run(table)-16, 8)
	if err != nil {
		return Value{}, err
	}
	t := lookup{w: w}.typeNamed(0, class)
	if t == nil || t.classType() == nil {
		return Value{}, fmt.Errorf("the object is a %s, which debug information does not describe", class)
	}
	return MemoryValue(t.classType(), at+addr.Run(top)), nil
}
