package values

import (
	"hdb/symbols/dwarf"
	"hdb/unwind/dwop"
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
	w := t.die.Walk()
	for w.Next() {
		if len(t.fields)+len(t.enums) >= maxFields {
			return
		}
		switch d := w.DIE; d.Tag() {
		case dwarf.TagMember, dwarf.TagInheritance:
			t.fields = append(t.fields, t.field(d))
		case dwarf.TagVariable: // a static member, DWARF 5
			f := t.field(d)
			f.Static = true
			t.fields = append(t.fields, f)
		case dwarf.TagEnumerator:
			e := Enumerator{}
			if v, ok := d.Attr(dwarf.AtName); ok {
				e.Name = string(v.Str())
			}
			if v, ok := d.Attr(dwarf.AtConstValue); ok {
				e.Value = int64(v.Uint())
				if t.signedEnum() {
					e.Value = v.Int()
				}
			}
			t.enums = append(t.enums, e)
		case dwarf.TagVariantPart:
			t.parts = t.readVariants(d)
			w.SkipChildren()
			continue
		}
		w.SkipChildren()
	}
}

func (t *Type) signedEnum() bool {
	if e := t.Elem().Strip(); e.Kind == Base {
		return e.Enc == encSigned || e.Enc == encSignedChar
	}
	return true
}

func (t *Type) field(d dwarf.DIE) Field {
	f := Field{die: d, Base: d.Tag() == dwarf.TagInheritance, Type: t.mod.typeOf(d)}
	bigEndianOff, hasBig := int64(0), false
	storage := int64(0)
	it := d.Attrs()
	for it.Next() {
		switch it.At {
		case dwarf.AtName:
			f.Name = string(it.Value.Str())
		case dwarf.AtDataMemberLoc:
			if it.Value.IsBlock() {
				f.offExpr = it.Value.Block()
				if off, ok := constantOffset(f.offExpr); ok {
					f.Offset, f.offExpr = off, nil
				}
			} else {
				f.Offset = int64(it.Value.Uint())
			}
		case dwarf.AtBitSize:
			f.BitSize = int64(it.Value.Uint())
		case dwarf.AtDataBitOffset:
			n := int64(it.Value.Uint())
			f.Offset, f.BitOff = n/8, n%8
		case dwarf.AtBitOffset:
			bigEndianOff, hasBig = it.Value.Int(), true
		case dwarf.AtByteSize:
			storage = int64(it.Value.Uint())
		case dwarf.AtVirtuality:
			f.Virtual = it.Value.Uint() != 0
		case dwarf.AtExternal, dwarf.AtDeclaration:
			f.Static = f.Static || !f.Base && it.Value.Flag()
		case dwarf.AtAccessibility:
			f.Access = uint8(it.Value.Uint())
		case dwarf.AtArtificial:
			f.artificial = it.Value.Flag()
		}
	}
	if hasBig && f.BitSize > 0 { // DWARF 2 counts from the most significant bit
		if storage == 0 {
			storage = f.Type.Size()
		}
		n := 8*f.Offset + 8*storage - bigEndianOff - f.BitSize
		f.Offset, f.BitOff = n/8, n%8
	}
	if f.Base {
		f.Name = f.Type.Strip().Name
	}
	return f
}

// constantOffset is the offset in an expression that only adds a constant. DWARF 2 has such
// expressions.
func constantOffset(expr []byte) (int64, bool) {
	b := dwarf.NewBuf(expr, 0)
	switch b.U8() {
	case dwop.PlusUconst, dwop.Constu:
		n := b.Uleb()
		return int64(n), b.Len() == 0 && !b.Bad()
	}
	return 0, false
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

func (t *Type) readVariants(d dwarf.DIE) *variantPart {
	p := &variantPart{}
	if v, ok := d.Attr(dwarf.AtDiscr); ok {
		if m := v.Ref(); m.Valid() {
			p.discr, p.hasDiscr = t.field(m), true
		}
	}
	w := d.Walk()
	for w.Next() && len(p.variants) < maxFields {
		switch {
		case w.Depth == 1 && w.DIE.Tag() == dwarf.TagVariant:
			v := variant{}
			if n, ok := w.DIE.Attr(dwarf.AtDiscrValue); ok {
				v.value = n.Uint()
			} else {
				v.isDefault = true
			}
			p.variants = append(p.variants, v)
		case w.Depth == 2 && w.DIE.Tag() == dwarf.TagMember && len(p.variants) > 0:
			v := &p.variants[len(p.variants)-1]
			v.member, v.hasPayload = t.field(w.DIE), true
			w.SkipChildren()
		}
	}
	return p
}

// Constant is the value of a static member, if debug information has it.
func (f *Field) Constant() (int64, bool) {
	c, ok := f.die.Attr(dwarf.AtConstValue)
	if !ok || c.IsString() || c.IsBlock() {
		return 0, false
	}
	return c.Int(), true
}
