package values

import (
	"strings"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind"
	"hdb/unwind/dwop"
	"hdb/values/calls"
)

// Rust's own calling convention differs from C's. A value of one or two scalars is returned
// with each scalar in a register of its own. Any other value of at most 8 bytes is returned
// in rax with its memory layout (rustc_target's adjust_for_rust_abi). A repr(C) struct of a
// single float is returned in rax as well, other such structs in xmm0; the debug information
// does not distinguish them.

// mangled reports whether the frame's function has a mangled name of Rust. Other functions,
// extern "C" ones, have C's calling convention.
func mangled(f *Frame) bool {
	s, err := f.scope()
	if err != nil {
		return false
	}
	l := scope.Describe(s.Physical).Linkage
	return strings.HasPrefix(l, "_R") || strings.HasPrefix(l, "_ZN")
}

// A rustScalar is a scalar in a value.
type rustScalar struct {
	off, size int64
	float     bool
}

// A rustShape is the representation of a type in rustc's layout (its BackendRepr).
type rustShape struct {
	scalars []rustScalar // one or two; none for an aggregate
	empty   bool
	unknown bool // the debug information does not say
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
		return calls.Words{calls.Integer, calls.Integer}.Returned(), nil
	case len(shape.scalars) == 0 && size <= 8:
		return calls.Words{calls.Integer}.Returned(), nil
	case len(shape.scalars) == 0, size > 16:
		return nil, nil
	}
	return shape.pieces(size), nil
}

// pieces assigns registers to the scalars of a value of size bytes.
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

// structShape is the shape of a struct, tuple or closure: the shape of its only member, or
// of its two scalar members.
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

// pairShape is the shape of a struct of one or two members that consist of these scalars.
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

// enumShape is the shape of an enum with data. If the tag is a niche of the only variant
// with data, the enum has the shape of that variant. Otherwise the tag is one scalar, and
// the data another if all variants with data have the same scalar.
func enumShape(t *Type, steps *int) rustShape {
	p := t.parts
	var data []Field
	niche := false
	for _, v := range p.variants {
		if !v.hasPayload {
			continue
		}
		if len(sizedFields(v.member.Type, p, steps)) > 0 {
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
		fields := sizedFields(m.Type, p, steps)
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

// sizedFields are the members of a variant's struct that are not empty.
func sizedFields(t *Type, p *variantPart, steps *int) []Field {
	var out []Field
	for _, f := range t.Strip().Fields() {
		if f.Static || p.hasDiscr && f.artificial {
			continue
		}
		if sh := rustShapeOf(f.Type, steps); !sh.empty {
			out = append(out, f)
		}
	}
	return out
}
