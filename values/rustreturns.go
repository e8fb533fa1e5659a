package values

import (
	"strings"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

// Rust's own calling convention is not that of C. rustc takes a value apart into one or
// two scalars, where it consists of no more, and gives each a register of its own; what
// else has at most 8 bytes is returned in rax as it lies in memory (rustc_target's
// adjust_for_rust_abi). A repr(C) struct of nothing but a float is returned in rax, too:
// debug information does not tell it from others, which are in xmm0.

// mangled tells functions of Rust from those with the names that C gives, which have C's
// convention.
func mangled(f *Frame) bool {
	s, err := f.scope()
	if err != nil {
		return false
	}
	l := scope.Describe(s.Physical).Linkage
	return strings.HasPrefix(l, "_R") || strings.HasPrefix(l, "_ZN")
}

// A rustScalar is a scalar that a value consists of.
type rustScalar struct {
	off, size int64
	float     bool
}

// A rustShape is what rustc's layout makes of a type (its BackendRepr).
type rustShape struct {
	scalars []rustScalar // one or two; none of a value that is taken as it lies in memory
	empty   bool
	unknown bool // the debug information does not tell
}

// rustReturnPieces is returnPieces for a function of Rust.
func rustReturnPieces(t *Type) ([]dwop.Location, error) {
	steps := 0
	shape := rustShapeOf(t, &steps)
	size := t.Size()
	switch {
	case shape.empty:
		return []dwop.Location{{Kind: dwop.Inline, Bits: 64, Data: make([]byte, 8)}}, nil
	case shape.unknown:
		return nil, errReturned
	case len(shape.scalars) == 1 && shape.scalars[0].size == 16 && !shape.scalars[0].float: // i128
		return registersOf([]class{integerClass, integerClass}), nil
	case len(shape.scalars) == 0 && size <= 8:
		return registersOf([]class{integerClass}), nil
	case len(shape.scalars) == 0, size > 16:
		return nil, nil
	}
	return shape.pieces(size), nil
}

// pieces are the registers of the scalars of a value of that size.
func (sh rustShape) pieces(size int64) []dwop.Location {
	general := []unwind.Reg{unwind.RAX, unwind.RDX}
	vector := uint64(regXMM0)
	var out []dwop.Location
	at := int64(0)
	for _, s := range sh.scalars {
		if s.off > at {
			out = append(out, dwop.Location{Kind: dwop.Inline, Data: make([]byte, 16), Bits: uint64(8 * (s.off - at))})
		}
		p := dwop.Location{Kind: dwop.InRegister, Bits: uint64(8 * s.size)}
		if s.float {
			p.Reg = vector
			vector++
		} else {
			p.Reg, general = uint64(general[0]), general[1:]
		}
		out, at = append(out, p), s.off+s.size
	}
	if at < size {
		out = append(out, dwop.Location{Kind: dwop.Inline, Data: make([]byte, 16), Bits: uint64(8 * (size - at))})
	}
	return out
}

// rustShapeOf is the shape of a type.
func rustShapeOf(t *Type, steps *int) rustShape {
	s := t.Strip()
	if *steps++; *steps > maxFields {
		return rustShape{unknown: true}
	}
	size := s.Size()
	if size == 0 {
		return rustShape{empty: true}
	}
	switch s.Kind {
	case Base:
		return rustShape{scalars: []rustScalar{{0, size, s.Enc == encFloat}}}
	case Pointer, Reference, Enum:
		return rustShape{scalars: []rustScalar{{0, size, false}}}
	case Array:
		return rustShape{}
	case Struct:
		s.read()
		switch {
		case s.decl, s.parts == nil && len(s.Fields()) == 0 || s.Tag == dwarf.TagUnionType:
			return rustShape{unknown: true}
		case s.parts != nil:
			return enumShape(s, steps)
		}
		return structShape(s, steps)
	}
	return rustShape{unknown: true}
}

// structShape is the shape of a struct, tuple or closure: that of its only member, or of
// two that are scalars.
func structShape(t *Type, steps *int) rustShape {
	var out rustShape
	members := 0
	for _, f := range t.Fields() {
		sh := rustShapeOf(f.Type, steps)
		if f.Static || sh.empty {
			continue
		}
		members++
		switch {
		case sh.unknown:
			return sh
		case members > 2:
			return rustShape{}
		case f.Type.Size() == t.Size() && members == 1:
			out = sh
			continue
		case len(sh.scalars) != 1:
			members = 3
			continue
		}
		s := sh.scalars[0]
		s.off += f.Offset
		out.scalars = append(out.scalars, s)
	}
	if members == 0 {
		return rustShape{empty: true}
	}
	return pairShape(t, out.scalars, members)
}

// pairShape is the shape of a struct with these scalars in members, of which there are one
// or two.
func pairShape(t *Type, list []rustScalar, members int) rustShape {
	if members == 2 && len(list) == 2 && list[1].off < list[0].off {
		list[0], list[1] = list[1], list[0]
	}
	switch {
	case members > 2, members == 2 && len(list) != 2:
		return rustShape{}
	case members == 1 && (len(list) == 0 || list[0].off == 0 && (len(list) == 2 || list[0].size == t.Size())):
		return rustShape{scalars: list}
	case members == 2 && list[0].off == 0 && list[1].off == (list[0].size+list[1].size-1)/list[1].size*list[1].size:
		return rustShape{scalars: list}
	}
	return rustShape{}
}

// enumShape is the shape of an enum with data. One whose variants beside one have no data
// is as that one, when the tag is a niche of it; otherwise a tag and the same scalar in
// all variants that have one are a pair.
func enumShape(t *Type, steps *int) rustShape {
	p := t.parts
	var data []Field
	niche := false
	for _, v := range p.variants {
		if !v.hasPayload {
			continue
		}
		if len(filled(v.member.Type, p, steps)) > 0 {
			data = append(data, v.member)
			niche = niche || v.isDefault
		}
	}
	if !p.hasDiscr || niche {
		if len(data) != 1 {
			return rustShape{}
		}
		return rustShapeOf(data[0].Type, steps)
	}
	tag := rustScalar{off: p.discr.Offset, size: p.discr.Type.Size()}
	var common *rustScalar
	for _, m := range data {
		fields := filled(m.Type, p, steps)
		sh := rustShapeOf(fields[0].Type, steps)
		switch {
		case sh.unknown:
			return sh
		case len(fields) != 1 || len(sh.scalars) != 1:
			return rustShape{}
		}
		s := sh.scalars[0]
		s.off += m.Offset + fields[0].Offset
		if common != nil && *common != s {
			return rustShape{}
		}
		common = &s
	}
	if common == nil {
		return rustShape{scalars: []rustScalar{tag}}
	}
	return pairShape(t, []rustScalar{tag, *common}, 2)
}

// filled are the members of a variant's struct that have a size.
func filled(t *Type, p *variantPart, steps *int) []Field {
	var out []Field
	for _, f := range t.Strip().Fields() {
		if f.Static || p.hasDiscr && f.artifice {
			continue
		}
		if sh := rustShapeOf(f.Type, steps); !sh.empty {
			out = append(out, f)
		}
	}
	return out
}
