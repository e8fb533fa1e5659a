package values

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// pointedClass is the C++ class that a pointer or reference points to. It is nil for other
// types.
func pointedClass(t *Type) *Type {
	if t = t.Strip(); t.Kind != Pointer && t.Kind != Reference && t.Kind != RvalueReference {
		return nil
	}
	return t.Elem().classType()
}

// classType is t if it is a class that may have bases, and nil otherwise.
func (t *Type) classType() *Type {
	if t = t.Strip(); t.Kind != Struct || t.Name == "" || t.isC() || t.Rust() || t.Tag == dwarf.TagUnionType {
		return nil
	}
	return t
}

// convertClass converts a pointer to one class into a pointer to a base or derived class,
// as static_cast and dynamic_cast do. Pointers to unrelated classes keep the address.
func (p *Program) convertClass(at addr.Run, from, to *Type) (addr.Run, error) {
	if at == 0 || from == nil || to == nil || from.Name == to.Name {
		return at, nil
	}
	if b, ok := p.baseNamed(MemoryValue(from, at), to.Name, 0); ok {
		return placeOf(b, from, to)
	}
	// To a derived class: the offset of a base is fixed, but the offset of a virtual
	// base depends on the class of the whole object.
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
	whole, err := p.complete(at)
	if err != nil {
		return 0, fmt.Errorf("%s is a virtual base of %s: %w", from, to, err)
	}
	if whole.Type.Name == to.Name {
		return whole.addr, nil
	}
	if b, ok := p.baseNamed(whole, to.Name, 0); ok {
		return placeOf(b, whole.Type, to)
	}
	return 0, fmt.Errorf("the object is a %s, which is not a %s", whole.Type, to)
}

func placeOf(b Value, from, to *Type) (addr.Run, error) {
	if a, ok := b.Addr(); ok {
		return a, nil
	}
	err := b.err
	if err == nil {
		err = errLost
	}
	return 0, fmt.Errorf("the place of %s in a %s is unknown: %w", to, from, err)
}

// baseNamed is the base class of an object with exactly this name, the nearest one first.
func (r *Reader) baseNamed(v Value, name string, depth int) (Value, bool) {
	path, ok := basePath(v.Type, name, depth)
	if !ok {
		return Value{}, false
	}
	for i := range path {
		v = r.Member(v, &path[i])
	}
	return v, true
}

// basePath is the chain of base classes from a class to its base with this name.
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

// complete is the whole object around a base class at an address. The virtual table says
// which one it is (Itanium C++ ABI, section 2.5.2): the word at -16 is the offset to the
// top of the object, and the table's symbol names its class.
func (p *Program) complete(at addr.Run) (Value, error) {
	class, table, err := p.virtualTable(at)
	if err != nil {
		return Value{}, err
	}
	if class == "" {
		return Value{}, fmt.Errorf("no virtual table at %#x tells what the object at %v is", uint64(table), at)
	}
	top, err := p.ReadUint(table-16, 8)
	if err != nil {
		return Value{}, err
	}
	t := p.Named(class)
	if t == nil || t.classType() == nil {
		return Value{}, fmt.Errorf("the object is a %s, which debug information does not describe", class)
	}
	return MemoryValue(t.classType(), at+addr.Run(top)), nil
}

// dynamicCast computes dynamic_cast: the object's virtual table says of which class it is.
// A pointer to an object that is not of the class becomes null.
func (o operators) dynamicCast(v Value, t *Type) (Value, error) {
	to := t.Strip()
	reference := to.Kind == Reference || to.Kind == RvalueReference
	var at addr.Run
	var from *Type
	if reference {
		v = o.prog.unref(v)
		from = v.Type.classType()
		at, _ = v.Addr()
	} else {
		v = o.prog.unref(v)
		from = pointedClass(v.Type)
		n, err := o.prog.Uint(v)
		if err != nil {
			return Value{}, err
		}
		at = addr.Run(n)
	}
	class := pointedClass(t)
	toVoid := to.Kind == Pointer && to.Elem().Strip().Kind == Void
	switch {
	case class == nil && !toVoid:
		return Value{}, fmt.Errorf("dynamic_cast: %s is not a pointer or reference to a class", t)
	case from == nil:
		return Value{}, fmt.Errorf("dynamic_cast: a value of type %s is not a class object or a pointer to one", v.Type)
	case at == 0 && !reference:
		return Number(t, 0), nil
	}
	if class != nil {
		if b, ok := o.prog.baseNamed(MemoryValue(from, at), class.Name, 0); ok {
			a, err := placeOf(b, from, class)
			return Number(t, uint64(a)), err
		}
	}
	whole, err := o.prog.complete(at)
	if err != nil {
		return Value{}, fmt.Errorf("dynamic_cast: %w", err)
	}
	if toVoid || whole.Type.Name == class.Name {
		return Number(t, uint64(whole.addr)), nil
	}
	if b, ok := o.prog.baseNamed(whole, class.Name, 0); ok {
		a, err := placeOf(b, whole.Type, class)
		return Number(t, uint64(a)), err
	}
	if reference {
		return Value{}, fmt.Errorf("dynamic_cast: the object is a %s, which is not a %s", whole.Type, class)
	}
	return Number(t, 0), nil
}
