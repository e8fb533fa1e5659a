package values

import (
	"iter"
	"strings"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind/dwop"
)

// An entry is an entry of a module's debug information that describes a type or a part of
// one.
type entry struct {
	dwarf.DIE
	mod *modState
}

// field is the member, base class or static member of an entry.
func (e entry) field() Field {
	f := Field{die: e.DIE, Base: e.Tag() == dwarf.TagInheritance, Type: e.mod.typeOf(e.DIE)}
	bigEndianOff, hasBig := int64(0), false
	storage := int64(0)
	it := e.Attrs()
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

// variants are the variants of an entry of a variant part.
func (e entry) variants() *variantPart {
	p := &variantPart{}
	if v, ok := e.Attr(dwarf.AtDiscr); ok {
		if m := v.Ref(); m.Valid() {
			p.discr, p.hasDiscr = entry{m, e.mod}.field(), true
		}
	}
	w := e.Walk()
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
			v.member, v.hasPayload = entry{w.DIE, e.mod}.field(), true
			w.SkipChildren()
		}
	}
	return p
}

// maxDimensions bounds the dimensions of an array.
const maxDimensions = 16

// dimensions are the entries of an array's dimensions.
func (e entry) dimensions() (out []dwarf.DIE) {
	for d := range children(e.DIE) {
		if d.Tag() == dwarf.TagSubrangeType && len(out) < maxDimensions {
			out = append(out, d)
		}
	}
	return out
}

// counts are the lengths of an array's dimensions, -1 unknown or not constant.
func (e entry) counts() (out []int64) {
	for _, d := range e.dimensions() {
		n := int64(-1)
		if v, isCount, ok := bound(d); ok && !isComputed(v) {
			n = int64(v.Uint())
			if !isCount {
				n++
				if v.Form != dwarf.FormUdata && v.Int() == -1 {
					n = 0
				}
			}
		}
		if n > 1<<40 {
			n = -1
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return []int64{-1}
	}
	return out
}

// bound is the number of elements of a dimension, or the last index.
func bound(d dwarf.DIE) (v dwarf.Value, isCount, ok bool) {
	v, ok = d.First(dwarf.AtCount, dwarf.AtUpperBound)
	return v, d.Has(dwarf.AtCount), ok
}

// isComputed reports whether a bound belongs to a variable-length array.
func isComputed(v dwarf.Value) bool { return v.IsBlock() || v.IsRef() || v.IsLocList() }

// parameters are the types of a function's parameters. open: it takes more of any type.
// The object of a member function, which is no parameter of the source, cannot be
// assigned to, which compilers leave to be known.
func (e entry) parameters() (list []*Type, open bool) {
	for d := range children(e.DIE) {
		switch d.Tag() {
		case dwarf.TagFormalParameter:
			t := e.mod.typeOf(d)
			if d.Has(dwarf.AtArtificial) && t.Kind == Pointer {
				t = t.constant()
			}
			list = append(list, t)
		case dwarf.TagUnspecifiedParams:
			open = true
		}
	}
	return list, open
}

// typeNamed is the type of the child with a tag and a name, nil if there is none.
func (e entry) typeNamed(tag dwarf.Tag, name string) *Type {
	for d := range children(e.DIE) {
		if d.Tag() == tag && nameOf(d) == name {
			return e.mod.typeOf(d)
		}
	}
	return nil
}

// qualified is the name of a type with its namespaces and classes.
func (e entry) qualified(name string) string {
	lang := languageOf(e.DIE)
	if name == "" || !lang.Scoped() {
		return name
	}
	in := e.DIE
	if v, ok := in.Attr(dwarf.AtSpecification); ok && v.Ref().Valid() {
		in = v.Ref() // in a type unit a declaration is in the namespaces
	}
	name = e.mod.Obj.DWARF.Qualified(in, name)
	if lang == dwarf.LangRust && strings.HasPrefix(name, "{") {
		name = strings.TrimSpace(name)
	}
	return name
}

// nameOf is the name of an entry, "" if it has none.
func nameOf(d dwarf.DIE) string {
	v, _ := d.Attr(dwarf.AtName)
	return string(v.Str())
}

// children are the entries one level below d.
func children(d dwarf.DIE) iter.Seq[dwarf.DIE] {
	return func(yield func(dwarf.DIE) bool) {
		w := d.Walk()
		for w.Next() {
			if w.Depth == 1 && !yield(w.DIE) {
				return
			}
			w.SkipChildren()
		}
	}
}

// eachChild visits the children of d, and those of its abstract origin that d has no copies
// of.
func eachChild(d dwarf.DIE, visit func(dwarf.DIE)) {
	for c := range children(d) {
		visit(c)
	}
	v, ok := d.Attr(dwarf.AtAbstractOrigin)
	if !ok {
		return
	}
	// clang omits variables without a location from copies of a function, and blocks
	// of only such variables.
	copied := originsBelow(d)
	w := v.Ref().Walk()
	for w.Next() {
		c := w.DIE
		if copied[typeKey{c.Unit.Data, c.Off}] {
			if c.Tag() != dwarf.TagLexicalBlock || w.Depth >= maxDepth {
				w.SkipChildren()
			}
			continue
		}
		if c.Tag() == dwarf.TagLexicalBlock && w.Depth < maxDepth {
			continue
		}
		visit(c)
		w.SkipChildren()
	}
}

// abstractKey is the key of an entry's abstract origin.
func abstractKey(d dwarf.DIE) (typeKey, bool) {
	v, _ := d.Attr(dwarf.AtAbstractOrigin)
	data, off, ok := v.RefOffset()
	return typeKey{data, off}, ok
}

// originsBelow are the abstract entries that a copy of a function has copies of, at any
// depth. Compilers move variables into other blocks, and make blocks that are not copies.
// Functions that were inlined into the copy are excluded: they have copies of their own.
func originsBelow(d dwarf.DIE) map[typeKey]bool {
	origins := map[typeKey]bool{}
	w := d.Walk()
	for w.Next() {
		if key, ok := abstractKey(w.DIE); ok {
			origins[key] = true
		}
		if w.DIE.Tag() != dwarf.TagLexicalBlock {
			w.SkipChildren()
		}
	}
	return origins
}

// maxHops bounds chains of origins: real ones have three links, hostile ones are circles.
const maxHops = 8

// origin is the entry whose attributes d inherits: its abstract origin, or else its
// specification. It is not valid if d has neither (DWARF 5, sections 2.13.2 and 3.3.8).
func origin(d dwarf.DIE) dwarf.DIE {
	v, _ := d.First(dwarf.AtAbstractOrigin, dwarf.AtSpecification)
	return v.Ref()
}

// named is the entry that has a variable's name: its declaration in a class or
// namespace.
func named(d dwarf.DIE) dwarf.DIE {
	if n := scope.Describe(d).Named; n.Valid() {
		return n
	}
	return d
}

// home is the unit of the source that an entry is of: link-time optimization makes
// entries elsewhere that are copies of it.
func home(d dwarf.DIE) *dwarf.Unit {
	for hop := 0; hop < maxHops; hop++ {
		v, ok := d.Attr(dwarf.AtAbstractOrigin)
		if !ok || !v.Ref().Valid() {
			break
		}
		d = v.Ref()
	}
	return d.Unit
}

func unitName(u *dwarf.Unit) string {
	root, err := u.Load()
	if err != nil {
		return ""
	}
	return root.Name
}

// languageOf is the language of an entry's unit.
func languageOf(d dwarf.DIE) dwarf.Language {
	if d.Unit == nil {
		return 0
	}
	root, err := d.Unit.Load()
	if err != nil {
		return 0
	}
	return root.Language
}

// tagClass makes one tag of those of structs and classes.
func tagClass(t dwarf.Tag) dwarf.Tag {
	if t == dwarf.TagClassType || t == dwarf.TagInterfaceType {
		return dwarf.TagStructureType
	}
	return t
}
