package values

import (
	"fmt"
	"path/filepath"

	"hdb/symbols/dwarf"
)

// A Kind is the kind of a type.
type Kind uint8

// The kinds of types.
const (
	Void Kind = iota
	Base
	Pointer
	Reference
	RvalueReference
	Array
	Struct // class and union too, see Type.Tag
	Enum
	Typedef
	Const
	Volatile
	Restrict
	Atomic
	Function
	MemberPointer
	Unspecified // decltype(nullptr)
)

// A Type is a type of the program. Its members are read when they are first needed.
type Type struct {
	Kind Kind
	Name string // qualified, without struct; "" anonymous
	Tag  dwarf.Tag
	Enc  uint64 // DW_ATE of a base type

	size   int64 // -1: asked of elem
	die    dwarf.DIE
	mod    *modState
	prog   *Program
	elem   *Type // what it points to, is an array of, returns, or is another name of
	elemOK bool
	counts []int64 // of the dimensions of an array, -1 unknown; the first is the outermost
	vector bool
	lang   dwarf.Language

	fields  []Field
	full    bool // fields and enumerators are read
	enums   []Enumerator
	object  *Type // the class of a pointer to member
	parts   *variantPart
	proto   bool
	decl    bool
	unknown bool  // nothing tells what it is, and Name says why: it has no value, but Void is its Kind
	align   int64 // see alignment; 0 not computed yet
	// untyped is set for data that only the symbol table describes, which expressions can
	// cast or take the address of, and for functions of which nothing else is known.
	untyped bool
	// typed is what the user has written of a function's type; nil: debug information has it.
	typed *signatureTyped
}

// A signatureTyped is the parameters of a function type in an expression. open: more of
// any type follow.
type signatureTyped struct {
	params []*Type
	open   bool
}

// A Field is a member, base class or static member.
type Field struct {
	Name       string
	Type       *Type
	Offset     int64 // bytes
	BitSize    int64 // 0: no bit field
	BitOff     int64 // from Offset's lowest bit
	Base       bool
	Virtual    bool
	Static     bool
	Access     uint8 // 1 public 2 protected 3 private
	offExpr    []byte
	die        dwarf.DIE
	artificial bool
}

// An Enumerator is a name of an enum's value.
type Enumerator struct {
	Name  string
	Value int64
}

// maxFields bounds the members that are read of one type, and maxTypeDepth the length of a
// chain of types. A hostile file can make chains circular.
const (
	maxFields    = 1 << 14
	maxTypeDepth = 64
)

func (m *modState) typeOf(d dwarf.DIE) *Type {
	v, ok := d.Attr(dwarf.AtType)
	if !ok {
		return &Type{Kind: Void, Name: "void", prog: m.prog, mod: m, size: 1, lang: languageOf(d)}
	}
	return m.typeAt(v.Ref())
}

// unknownType names a type that nothing tells: the file that has it may be missing.
func (m *modState) unknownType() string {
	if m.Obj == nil {
		return "<unknown type>"
	}
	if info := m.Obj.Info(); info.MissingAlt != "" {
		return "<type in " + filepath.Base(info.MissingAlt) + ", which is missing>"
	}
	return "<unknown type>"
}

// typeAt makes the type of an entry.
func (m *modState) typeAt(d dwarf.DIE) *Type {
	if !d.Valid() {
		return &Type{Kind: Void, Name: m.unknownType(), unknown: true, prog: m.prog, mod: m}
	}
	key := typeKey{d.Unit.Data, d.Off}
	if t := m.types[key]; t != nil {
		return t
	}
	if v, ok := d.Attr(dwarf.AtSignature); ok && d.Tag() != dwarf.TagTypeUnit { // a declaration of what a type unit has
		if full := v.Ref(); full.Valid() && !full.Has(dwarf.AtSignature) {
			t := m.typeAt(full)
			m.types[key] = t
			return t
		}
	}
	t := &Type{die: d, mod: m, prog: m.prog, Tag: d.Tag(), size: -1, lang: languageOf(d)}
	m.types[key] = t
	t.Name = nameOf(d)
	if v, ok := d.Attr(dwarf.AtByteSize); ok {
		t.size = int64(v.Uint())
	}
	t.classify()
	return t
}

// classify sets the kind of the type by the tag of its entry.
func (t *Type) classify() {
	d := t.die
	switch d.Tag() {
	case dwarf.TagBaseType:
		t.Kind = Base
		if v, ok := d.Attr(dwarf.AtEncoding); ok {
			t.Enc = v.Uint()
		}
		if c, ok := cTypes[canonical(t.Name)]; ok && !t.Rust() {
			t.Name = c.name // gcc's "long unsigned int" is unsigned long
		}
	case dwarf.TagPointerType:
		t.Kind = Pointer
		t.size = max(t.size, 8)
	case dwarf.TagReferenceType:
		t.Kind, t.size = Reference, 8
	case dwarf.TagRvalueReferenceType:
		t.Kind, t.size = RvalueReference, 8
	case dwarf.TagArrayType:
		t.Kind = Array
		t.vector, t.counts = d.Has(dwarf.AtGNUVector), t.entry().counts()
	case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		t.Kind = Struct
		t.decl = d.Has(dwarf.AtDeclaration)
		t.Name = t.entry().qualified(t.Name)
	case dwarf.TagEnumerationType:
		t.Kind = Enum
		t.Name = t.entry().qualified(t.Name)
	case dwarf.TagTypedef:
		t.Kind = Typedef
		t.Name = t.entry().qualified(t.Name)
	case dwarf.TagConstType:
		t.Kind = Const
	case dwarf.TagVolatileType:
		t.Kind = Volatile
	case dwarf.TagRestrictType:
		t.Kind = Restrict
	case dwarf.TagAtomicType:
		t.Kind = Atomic
	case dwarf.TagSubroutineType, dwarf.TagSubprogram:
		t.Kind, t.size = Function, 1
		t.proto = d.Has(dwarf.AtPrototyped)
	case dwarf.TagPtrToMemberType:
		t.Kind = MemberPointer
		if v, ok := d.Attr(dwarf.AtContainingType); ok {
			t.object = t.mod.typeAt(v.Ref())
		}
	case dwarf.TagUnspecifiedType:
		t.Kind = Unspecified
		if t.Name == "" { // what an assembler says that a function returns
			t.Kind, t.Name, t.size = Void, "void", 1
		}
	default:
		t.Kind, t.Name = Void, "<type of unknown kind>"
	}
}

// entry is the entry of a type that debug information describes.
func (t *Type) entry() entry { return entry{t.die, t.mod} }

// Program is the program that the type is of.
func (t *Type) Program() *Program { return t.prog }

// GoType is how far the descriptor of the type is from the first one of a Go program (DW_AT_go_runtime_type);
// ok is false if it has none.
func (t *Type) GoType() (off uint64, ok bool) {
	const goRuntimeType = 0x2904
	v, _ := t.die.Attr(goRuntimeType)
	return v.Uint(), v.Uint() != 0
}

// Rust reports whether the type is one of Rust.
func (t *Type) Rust() bool { return t.lang == dwarf.LangRust }

// isC reports whether the type is one of C, where names of structs begin with struct.
func (t *Type) isC() bool { return t.lang.IsC() }

// Elem is the type that t is derived from: the target of a pointer, the element of an
// array, the return type of a function, the underlying type of an enum or typedef.
func (t *Type) Elem() *Type {
	if !t.elemOK {
		t.elemOK = true
		if t.elem == nil && t.die.Valid() {
			t.elem = t.mod.typeOf(t.die)
		}
		if t.elem == nil {
			t.elem = &Type{Kind: Void, Name: "void", prog: t.prog, mod: t.mod, size: 1}
		}
	}
	return t.elem
}

// Strip removes typedefs and qualifiers. The result is never nil.
func (t *Type) Strip() *Type {
	for range maxTypeDepth {
		switch t.Kind {
		case Typedef, Const, Volatile, Restrict, Atomic:
			t = t.Elem()
		case Struct:
			return t.complete()
		default:
			return t
		}
	}
	return &Type{Kind: Void, Name: "<endless type>", unknown: true, prog: t.prog, mod: t.mod}
}

// Unqualified removes const and other qualifiers, but not typedefs.
func (t *Type) Unqualified() *Type {
	for range maxTypeDepth {
		switch t.Kind {
		case Const, Volatile, Restrict, Atomic:
			t = t.Elem()
		default:
			return t
		}
	}
	return t
}

// complete finds the definition of a type that is only declared in its unit.
func (t *Type) complete() *Type {
	if !t.decl || !t.die.Valid() {
		return t
	}
	if name := nameOf(t.die); name != "" {
		for _, d := range t.mod.names().Types(name) {
			if tagClass(d.Tag()) != tagClass(t.Tag) {
				continue
			}
			if full := t.mod.typeAt(d); full != t && full.Name == t.Name && !full.decl {
				return full
			}
		}
		for _, m := range t.prog.modules(nil) {
			if m == t.mod || m.declared == nil {
				continue // an index is only made for a module that is asked for a name
			}
			for _, d := range m.names().Types(name) {
				if full := m.typeAt(d); full.Name == t.Name && full.Kind == Struct && !full.decl {
					return full
				}
			}
		}
	}
	return t
}

// Size is the number of bytes of a value, 0 if it is not known.
func (t *Type) Size() int64 { return t.sizeAt(0) }

func (t *Type) sizeAt(depth int) int64 {
	if depth > maxTypeDepth {
		return 0
	}
	switch t.Kind {
	case Typedef, Const, Volatile, Restrict, Atomic:
		return t.Elem().sizeAt(depth + 1)
	case Array:
		if t.size >= 0 {
			return t.size
		}
		n := t.Elem().sizeAt(depth + 1)
		for _, c := range t.counts {
			if c < 0 || n > 0 && c > (1<<40)/n {
				return 0
			}
			n *= c
		}
		return n
	case Enum:
		if t.size < 0 {
			return t.Elem().sizeAt(depth + 1)
		}
	case MemberPointer:
		if t.Elem().Strip().Kind == Function {
			return 16
		}
		return 8
	case Struct:
		if full := t.complete(); full != t {
			return full.sizeAt(depth + 1)
		}
	}
	return max(t.size, 0)
}

// Row is the type of an array's elements. If the array has several dimensions, it is an
// array of one less.
func (t *Type) Row() *Type {
	if len(t.counts) < 2 {
		return t.Elem()
	}
	return &Type{Kind: Array, prog: t.prog, mod: t.mod, elem: t.Elem(), elemOK: true, counts: t.counts[1:], size: -1, lang: t.lang}
}

// Count is the number of an array's elements, -1 if it is not known.
func (t *Type) Count() int64 {
	if len(t.counts) == 0 {
		return -1
	}
	return t.counts[0]
}

// PointerTo makes the type of a pointer to t.
func (t *Type) PointerTo() *Type {
	return &Type{Kind: Pointer, Tag: dwarf.TagPointerType, size: 8, prog: t.prog, mod: t.mod, elem: t, elemOK: true, lang: t.lang}
}

// constant makes the type of a t that cannot be changed.
func (t *Type) constant() *Type {
	return &Type{Kind: Const, Tag: dwarf.TagConstType, size: t.size, prog: t.prog, mod: t.mod, elem: t, elemOK: true, lang: t.lang}
}

// ArrayOf makes the type of an array of n values of t.
func (t *Type) ArrayOf(n int64) *Type {
	return &Type{Kind: Array, Tag: dwarf.TagArrayType, size: -1, prog: t.prog, mod: t.mod, elem: t, elemOK: true, counts: []int64{n}, lang: t.lang}
}

// untyped is the type of data that no debug information describes.
func (p *Program) untyped() *Type {
	t := baseType(p, "<data variable, no debug info>", 1, encUnsigned)
	t.untyped = true
	return t
}

// An UntypedError says that a symbol's type is not known.
type UntypedError struct{ Name string }

func (e *UntypedError) Error() string {
	return fmt.Sprintf("%s has unknown type; cast it to its declared type", e.Name)
}

// baseType makes a base type.
func baseType(p *Program, name string, size int64, enc uint64) *Type {
	return &Type{Kind: Base, Tag: dwarf.TagBaseType, Name: name, size: size, Enc: enc, prog: p}
}

// Scalar reports whether a value of the type has no members and no elements, nor has what
// a reference refers to.
func (t *Type) Scalar() bool {
	s := t.Strip()
	if s.Kind == Reference || s.Kind == RvalueReference {
		s = s.Elem().Strip()
	}
	return s.Kind != Struct && s.Kind != Array
}

func (t *Type) isInteger() bool {
	switch s := t.Strip(); s.Kind {
	case Enum:
		return true
	case Base:
		return s.Enc != encFloat && s.Enc != encComplex
	}
	return false
}

func (t *Type) isFloat() bool { s := t.Strip(); return s.Kind == Base && s.Enc == encFloat }

func (t *Type) isSigned() bool {
	switch s := t.Strip(); s.Kind {
	case Enum:
		e := s.Elem().Strip()
		return e.Kind != Base || e.isSigned()
	case Base:
		return s.Enc == encSigned || s.Enc == encSignedChar
	}
	return false
}

// isChar reports whether gdb prints the type as characters.
func (t *Type) isChar() bool {
	s := t.Strip()
	if s.Kind != Base {
		return false
	}
	switch s.Enc {
	case encSignedChar, encUnsignedChar:
		return s.size == 1
	case encUTF:
		return true
	}
	return false
}

// textual reports whether t is a character type, so that a pointer to t is shown with its
// string (gdb's textual_element_type).
func textual(t *Type) bool {
	if t.isChar() {
		return true
	}
	for u := t.Unqualified(); u.Kind == Typedef; u = u.Elem().Unqualified() {
		if u.Name == "wchar_t" || u.Name == "char16_t" || u.Name == "char32_t" {
			return true
		}
	}
	s := t.Strip()
	return s.Kind == Base && (s.Name == "wchar_t" || s.Name == "char16_t" || s.Name == "char32_t")
}

// TemplateType is the argument for a template's type parameter, nil if it has none.
func (t *Type) TemplateType(name string) *Type {
	return t.complete().entry().typeNamed(dwarf.TagTemplateType, name)
}

// TemplatePack lists the types of a template's parameter pack.
func (t *Type) TemplatePack() []*Type {
	var out []*Type
	t = t.complete()
	for pack := range children(t.die) {
		if pack.Tag() != dwarf.TagGNUTemplatePack {
			continue
		}
		for d := range children(pack) {
			if d.Tag() == dwarf.TagTemplateType && len(out) < 256 {
				out = append(out, t.mod.typeOf(d))
			}
		}
	}
	return out
}

// Nested is the type that a class declares by a typedef, nil if debug information has none.
func (t *Type) Nested(name string) *Type {
	return t.Strip().entry().typeNamed(dwarf.TagTypedef, name)
}

// Alignment is the natural alignment of the type in bytes. It ignores alignas.
func (t *Type) Alignment() int64 { return t.alignment(0) }

func (t *Type) alignment(depth int) int64 {
	if depth > maxDepth {
		return 1
	}
	s := t.Strip()
	switch s.Kind {
	case Array:
		return s.Elem().alignment(depth + 1)
	case Struct:
		if s.align == 0 {
			s.align = 1 // of a struct in itself
			most := int64(1)
			for _, f := range s.Fields() {
				if !f.Static {
					most = max(most, f.Type.alignment(depth+1))
				}
				if f.Virtual {
					most = 8
				}
			}
			s.align = most
		}
		return s.align
	}
	return min(max(s.Size(), 1), 16)
}

// Incomplete reports whether only a declaration of the type is known.
func (t *Type) Incomplete() bool { return t.decl }

// Variants are the members of an enum of Rust that hold its variants' data.
func (t *Type) Variants() []Field {
	if t.read(); t.parts == nil {
		return nil
	}
	var out []Field
	for i := range t.parts.variants {
		if x := &t.parts.variants[i]; x.hasPayload {
			out = append(out, x.member)
		}
	}
	return out
}

// Unrolled resolves one level of typedef, as gdb's whatis of a type does.
func (t *Type) Unrolled() *Type {
	if t.Kind == Typedef {
		return t.Elem()
	}
	return t
}
