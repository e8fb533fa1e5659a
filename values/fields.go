package values

import (
	"hdb/symbols/dwarf"
)

// Fields are the members and base classes in the order of the source.
func (t *Type) Fields() []Field {
	t = t.complete()
	t.read()
	return t.fields
}

// Enumerators are the names of an enum's values.
func (t *Type) Enumerators() []Enumerator {
	t.read()
	return t.enums
}

func (t *Type) read() {
	if t.full || !t.die.Valid() || t.Kind != Struct && t.Kind != Enum {
		return
	}
	t.full = true
	for d := range children(t.die) {
		if len(t.fields)+len(t.enums) >= maxFields {
			return
		}
		in := entry{d, t.mod}
		switch d.Tag() {
		case dwarf.TagMember, dwarf.TagInheritance:
			t.fields = append(t.fields, in.field())
		case dwarf.TagVariable: // a static member, DWARF 5
			f := in.field()
			f.Static = true
			t.fields = append(t.fields, f)
		case dwarf.TagEnumerator:
			e := Enumerator{Name: nameOf(d)}
			if v, ok := d.Attr(dwarf.AtConstValue); ok {
				e.Value = int64(v.Uint())
				if t.isSigned() {
					e.Value = v.Int()
				}
			}
			t.enums = append(t.enums, e)
		case dwarf.TagVariantPart:
			t.parts = in.variants()
		}
	}
}

// A variantPart is the variants of a Rust enum (DW_TAG_variant_part).
type variantPart struct {
	discr    Field
	hasDiscr bool
	variants []variant
}

type variant struct {
	value      uint64
	isDefault  bool
	member     Field
	hasPayload bool
}

// Constant is the value of a static member, if debug information has it.
func (f *Field) Constant() (int64, bool) {
	c, ok := f.die.Attr(dwarf.AtConstValue)
	if !ok || c.IsString() || c.IsBlock() {
		return 0, false
	}
	return c.Int(), true
}
