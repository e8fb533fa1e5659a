package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hdb/symbols/dwarf"
)

// TypeOptions say what the text of a type tells, as the flags of gdb's ptype.
type TypeOptions struct {
	Offsets    bool // offsets, sizes and holes of the members; no functions and names of types
	Hex        bool // offsets and sizes in hexadecimal
	NoMethods  bool
	NoTypedefs bool
}

// TextWith is the type as Text shows it, by options.
func (t *Type) TextWith(o TypeOptions) string {
	if t.untyped && t.Kind == Function {
		return "<unknown return type> (void)"
	}
	t = withoutTypedefs(t, 0)
	core := coreType(t)
	if o.Offsets && core.Kind == Struct && (!core.Rust() || core.Variants() == nil) {
		l := &layout{hex: o.Hex}
		return strings.Replace(declare(t, "", 0), declare(core, "", 0), l.structure(core, 0, 0, 0), 1)
	}
	return bodyText(t, 0, "", o)
}

// OffsetsHead is the head of the columns of offsets and sizes.
const OffsetsHead = "/* offset      |    size */  "

// HasOffsets reports whether the text of the type with Offsets has columns for them.
func (t *Type) HasOffsets() bool {
	core := coreType(withoutTypedefs(t, 0))
	return core.Kind == Struct && (!core.Rust() || core.Variants() == nil)
}

// A layout writes structs with the offsets and sizes of their members, as gdb does.
type layout struct{ hex bool }

// noOffset is in the columns where there is neither an offset nor a size.
var noOffset = strings.Repeat(" ", 27)

// structure is the text of a struct at an offset in bits from the outermost one, at a depth
// of structs in it. end is the bit behind the member before.
func (l *layout) structure(t *Type, offset, end int64, depth int) string {
	var b strings.Builder
	word := tagWords[t.Tag] + " "
	if t.Rust() && t.Tag != dwarf.TagUnionType {
		word = "struct "
	}
	b.WriteString(word)
	if t.Name != "" {
		b.WriteString(t.Name + " ")
	}
	if depth > maxNesting {
		return b.String() + "{...}"
	}
	tuple, sep := t.Rust() && isTuple(t), ";"
	if t.Rust() {
		sep = ","
	}
	open, closing := brackets(tuple)
	b.WriteString(basesText(t) + open + "\n")
	pad := strings.Repeat(" ", 4*(depth+1))
	fields := dataFields(t)
	if t.Rust() { // the compiler places members in an order of its own
		slices.SortStableFunc(fields, func(a, b Field) int { return cmp.Compare(8*a.Offset+a.BitOff, 8*b.Offset+b.BitOff) })
	}
	label := newLabels(t, fields, nil, noOffset+pad)
	label.used = label.used && !t.Rust()
	union := t.Tag == dwarf.TagUnionType
	for i := range fields {
		f := &fields[i]
		b.WriteString(label.at(memberAccess(t, f.Access)))
		at := 8*f.Offset + f.BitOff
		switch {
		case f.Static:
			b.WriteString(noOffset + pad + "static " + declare(f.Type, f.Name, 0) + ";\n")
			continue
		case union:
			b.WriteString(l.size(f.Type.Size()))
		default:
			b.WriteString(l.padding(end, at, "hole"))
			b.WriteString(l.place(offset+at, f))
			end = at + 8*f.Type.Size()
			if f.BitSize > 0 {
				end = at + f.BitSize
			}
		}
		b.WriteString(pad + l.member(f, offset+at, end, depth, tuple) + l.bits(f) + sep + "\n")
	}
	if len(t.Fields()) == 0 {
		what := "<no data fields>"
		if t.decl {
			what = "<incomplete type>"
		}
		b.WriteString(noOffset + pad + what + "\n")
	}
	if !union {
		b.WriteString(l.padding(end, 8*t.Size(), "padding"))
	}
	inner := strings.Repeat(" ", 4*depth)
	fmt.Fprintf(&b, "\n%s%s    /* total size (bytes): %4d */\n%s", noOffset, inner, t.Size(), noOffset+inner)
	if depth == 0 {
		b.WriteString("  ")
	}
	b.WriteString(closing)
	return b.String()
}

// member is a member's declaration, with the members of a struct in it.
func (l *layout) member(f *Field, at, end int64, depth int, tuple bool) string {
	t := f.Type
	text := declare(t, f.Name, 0)
	if t.Rust() {
		text = rustField(*f, tuple)
	}
	core := t.Unqualified()
	if core.Kind != Struct || core.Rust() {
		if anonymous := coreType(t); anonymous.Kind == Enum && anonymous.Name == "" {
			return bodyText(t, depth+1, f.Name, TypeOptions{})
		}
		return text
	}
	core = core.complete()
	return strings.Replace(text, declare(core, "", 0), l.structure(core, at, end-8*t.Size(), depth+1), 1)
}

func (l *layout) bits(f *Field) string {
	if f.BitSize == 0 {
		return ""
	}
	return fmt.Sprintf(" : %d", f.BitSize)
}

// padding is the lines for the bits between two members, or behind the last one.
func (l *layout) padding(end, at int64, what string) string {
	if end <= 0 || end >= at {
		return ""
	}
	var b strings.Builder
	if bits := (at - end) % 8; bits > 0 {
		fmt.Fprintf(&b, "/* XXX %2d-bit %-7s    */\n", bits, what)
	}
	if bytes := (at - end) / 8; bytes > 0 {
		fmt.Fprintf(&b, "/* XXX %2d-byte %-7s   */\n", bytes, what)
	}
	return b.String()
}

// place is the columns of a member: where it begins, in bits, and its bytes.
func (l *layout) place(at int64, f *Field) string {
	size := f.Type.Size()
	switch bits := f.BitSize > 0 || at%8 != 0; {
	case bits && l.hex:
		return fmt.Sprintf("/* 0x%04x: 0x%x  |  0x%04x */", at/8, at%8, size)
	case bits:
		return fmt.Sprintf("/* %6d:%2d   |  %6d */", at/8, at%8, size)
	case l.hex:
		return fmt.Sprintf("/* 0x%04x      |  0x%04x */", at/8, size)
	}
	return fmt.Sprintf("/* %6d      |  %6d */", at/8, size)
}

// size is the columns of a member of a union.
func (l *layout) size(n int64) string {
	if l.hex {
		return fmt.Sprintf("/*                0x%04x */", n)
	}
	return fmt.Sprintf("/*                %6d */", n)
}
