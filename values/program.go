package values

import (
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// Symbol is the symbol that begins at an address, "" if there is none. A printer asks by a
// type for the program that the type is of.
func (t *Type) Symbol(a addr.Run) string {
	if t.w == nil || t.w.Symbol == nil || a == 0 {
		return ""
	}
	name, off, ok := t.w.Symbol(a)
	if !ok || off != 0 {
		return ""
	}
	return name
}

// Method is the class and the name of the member function that begins at an address. The
// class is nil if debug information does not describe it.
func (t *Type) Method(a addr.Run) (class *Type, name string) {
	if t.w == nil {
		return nil, ""
	}
	for _, m := range t.w.modules(nil) {
		at := a.File(m.Bias)
		scopes := m.Obj.DWARF.Scopes(at)
		if len(scopes) == 0 {
			continue
		}
		s := &scopes[len(scopes)-1]
		d := scope.Describe(s.Blocks[len(s.Blocks)-1])
		if !d.Named.Valid() {
			return nil, ""
		}
		outer := strings.TrimSuffix(m.Obj.DWARF.Qualified(d.Named, "?"), "::?")
		return t.Named(outer), d.Name
	}
	return nil, ""
}

// Named is the type of the program with a qualified name, nil if debug information does not
// describe it.
func (t *Type) Named(name string) *Type {
	if t.w == nil || name == "" {
		return nil
	}
	return lookup{w: t.w}.typeNamed(0, name)
}

// Char is the type char of the program that t is of.
func (t *Type) Char() *Type { return baseType(t.w, "char", 1, encSignedChar) }

// UnsignedLong is the type unsigned long of the program that t is of.
func (t *Type) UnsignedLong() *Type { return baseType(t.w, "unsigned long", 8, encUnsigned) }

// Boolean is a value of the type bool of the program that t is of.
func (t *Type) Boolean(b bool) Value { return Number(baseType(t.w, "bool", 1, encBoolean), truth(b)) }

// ClassAt is the name of the class of an object, by the symbol of its virtual table; "" if it
// has none.
func (t *Type) ClassAt(object addr.Run) string {
	if t.w == nil || t.w.Symbol == nil {
		return ""
	}
	table, err := t.w.ReadUint(object, 8)
	if err != nil {
		return ""
	}
	name, _, _ := t.w.Symbol(addr.Run(table))
	class, _ := strings.CutPrefix(name, "vtable for ")
	if class == name {
		return ""
	}
	return class
}

// Constant is the value of a static member, if debug information has it.
func (f *Field) Constant() (int64, bool) {
	c, ok := f.die.Attr(dwarf.AtConstValue)
	if !ok || c.IsString() || c.IsBlock() {
		return 0, false
	}
	return c.Int(), true
}

// Ends is the first or the last element of a container.
func (r *Reader) Ends(v Value, last bool) (Value, error) {
	d, ok := r.Describe(v)
	if !ok {
		return Value{}, errCalls
	}
	if d.Err != nil {
		return Value{}, d.Err
	}
	e := evaluator{lookup: lookup{w: v.Type.w}}
	n, counted := d.count()
	switch {
	case !last:
		return e.end(&d, 0)
	case !counted:
		return Value{}, errCalls
	}
	return e.end(&d, n-1)
}

// Nested is the type that a class declares by a typedef, nil if debug information has none.
func (t *Type) Nested(name string) *Type {
	t = t.Strip()
	if !t.die.Valid() {
		return nil
	}
	w := t.die.Walk()
	for w.Next() {
		if w.Depth == 1 && w.DIE.Tag() == dwarf.TagTypedef {
			if n, _ := w.DIE.Attr(dwarf.AtName); string(n.Str()) == name {
				return t.mod.typeOf(t.w, w.DIE)
			}
		}
		w.SkipChildren()
	}
	return nil
}

// Implementor is the type whose methods a virtual table of Rust at an address has, nil if
// debug information does not tell. rustc describes each table by a variable, whose type has
// the implementing type as its containing type.
func (t *Type) Implementor(table addr.Run) *Type {
	if t.w == nil {
		return nil
	}
	for _, m := range t.w.modules(nil) {
		d, ok := m.rustTables(t.w)[table.File(m.Bias)]
		if !ok {
			continue
		}
		if v, ok := m.typeOf(t.w, d).die.Attr(dwarf.AtContainingType); ok {
			return m.typeAt(t.w, v.Ref())
		}
	}
	return nil
}

// rustTables are the variables for the virtual tables of a module.
func (m *modState) rustTables(w *World) map[addr.File]dwarf.DIE {
	if m.vtables == nil {
		m.vtables = map[addr.File]dwarf.DIE{}
		for _, d := range m.names().VariablesLike(func(name string) bool { return strings.HasSuffix(name, "::{vtable}") }) {
			if a, ok := w.valueOf(m, nil, d).Addr(); ok {
				m.vtables[a.File(m.Bias)] = d
			}
		}
	}
	return m.vtables
}
