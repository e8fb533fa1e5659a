package values

import (
	"fmt"
	"strings"

	"hdb/symbols/dwarf"
)

// String is the type as gdb's whatis names it.
func (t *Type) String() string { return t.declare("", 0) }

// declare names the type of a declarator: declare("*x") of int is "int *x".
func (t *Type) declare(inner string, depth int) string {
	if depth > maxTypeDepth {
		return "..." + inner
	}
	if t.Rust() {
		return join(t.rustName(depth), inner)
	}
	switch t.Kind {
	case Pointer, Reference, RvalueReference:
		mark := map[Kind]string{Pointer: "*", Reference: "&", RvalueReference: "&&"}[t.Kind]
		return t.Elem().declareThrough(mark+inner, depth)
	case MemberPointer:
		class := ""
		if t.object != nil {
			class = t.object.String()
		}
		return t.Elem().declareThrough(class+"::*"+inner, depth)
	case Const, Volatile, Restrict, Atomic:
		word := map[Kind]string{Const: "const", Volatile: "volatile", Restrict: "restrict", Atomic: "_Atomic"}[t.Kind]
		e := t.Elem()
		switch u := e.Unqualified(); u.Kind {
		case Pointer, MemberPointer, Reference, RvalueReference:
			if inner != "" && inner[0] != '[' && inner[0] != '(' && inner[0] != ')' {
				inner = " " + inner
			}
			return e.declare(" "+word+inner, depth+1)
		}
		if e.Kind == Const && t.Kind == Volatile { // gdb's order
			return "const volatile " + e.Elem().declare(inner, depth+1)
		}
		return word + " " + e.declare(inner, depth+1)
	case Array:
		dims := ""
		for _, n := range t.counts {
			if n < 0 {
				dims += "[]"
			} else {
				dims += fmt.Sprintf("[%d]", n)
			}
		}
		if t.vector {
			return join(t.Elem().declare("", depth+1)+fmt.Sprintf(" __attribute__ ((vector_size(%d)))", t.Count()), inner)
		}
		return t.Elem().declare(inner+dims, depth+1)
	case Function:
		return t.Elem().declare(inner+"("+t.parameters(depth)+")", depth+1)
	}
	return join(t.plainName(), inner)
}

// declareThrough is declare for what a pointer points to: arrays and functions need
// parentheses.
func (t *Type) declareThrough(inner string, depth int) string {
	if t.Kind == Array && !t.vector || t.Kind == Function {
		inner = "(" + inner + ")"
	}
	return t.declare(inner, depth+1)
}

func join(name, inner string) string {
	inner = strings.TrimPrefix(inner, " ")
	if inner == "" {
		return name
	}
	return name + " " + inner
}

// parameters are the types of a function's parameters.
func (t *Type) parameters(depth int) string {
	var list []string
	if t.die.Valid() {
		w := t.die.Walk()
		for w.Next() && len(list) < 64 {
			if w.Depth == 1 {
				switch w.DIE.Tag() {
				case dwarf.TagFormalParameter:
					list = append(list, t.mod.typeOf(t.w, w.DIE).declare("", depth+1))
				case dwarf.TagUnspecifiedParams:
					list = append(list, "...")
				}
			}
			w.SkipChildren()
		}
	}
	if len(list) == 0 && (t.proto || !t.isC()) {
		return "void"
	}
	return strings.Join(list, ", ")
}

// plainName is the name of a type without declarator.
func (t *Type) plainName() string {
	word := ""
	switch t.Tag {
	case dwarf.TagStructureType:
		word = "struct"
	case dwarf.TagClassType:
		word = "class"
	case dwarf.TagUnionType:
		word = "union"
	case dwarf.TagEnumerationType:
		word = "enum"
	}
	switch {
	case t.Name == "" && word != "":
		return word + " {...}"
	case word != "" && t.isC():
		return word + " " + t.Name
	}
	return t.w.typeName(t.Name)
}

// maxNesting bounds anonymous structs inside of structs in the text of a type.
const maxNesting = 8

// Text is the type as gdb's ptype shows it: typedefs resolved, members listed.
func (t *Type) Text() string {
	t = t.resolved(0)
	return t.body(0, "")
}

// resolved takes the outer typedefs off, below pointers too, as ptype does.
func (t *Type) resolved(depth int) *Type {
	if depth > maxTypeDepth {
		return t
	}
	switch t.Kind {
	case Typedef:
		return t.Elem().resolved(depth + 1)
	case Pointer, Reference, RvalueReference, Const, Volatile, Restrict, Atomic, Array, Function:
		if t.Rust() {
			return t
		}
		e := t.Elem().resolved(depth + 1)
		if e == t.Elem() {
			return t
		}
		c := *t
		c.elem, c.elemOK = e, true
		return &c
	case Struct:
		return t.complete()
	}
	return t
}

// body is declare with the members of the innermost struct or enum written out.
func (t *Type) body(indent int, inner string) string {
	core := t
	for depth := 0; depth < maxTypeDepth; depth++ {
		switch core.Kind {
		case Pointer, Reference, RvalueReference, Const, Volatile, Restrict, Atomic, Array, Function, MemberPointer:
			core = core.Elem()
			continue
		}
		break
	}
	text := t.declare(inner, 0)
	if t.Rust() && t != core {
		return text
	}
	var full string
	switch core.Kind {
	case Struct:
		full = core.structText(indent)
	case Enum:
		full = core.enumText()
	default:
		return text
	}
	return strings.Replace(text, core.declare("", 0), full, 1)
}

func (t *Type) enumText() string {
	var b strings.Builder
	b.WriteString("enum ")
	if t.Tag == dwarf.TagEnumerationType && t.die.Has(dwarf.AtEnumClass) {
		b.WriteString("class ")
	}
	if t.Name != "" {
		b.WriteString(t.Name + " ")
	}
	if !t.isC() && !t.Rust() && t.die.Has(dwarf.AtType) {
		if e := t.Elem(); t.die.Has(dwarf.AtEnumClass) || e.Name != "unsigned int" {
			b.WriteString(": " + e.String() + " ")
		}
	}
	b.WriteString("{")
	next := int64(0)
	for i, e := range t.Enumerators() {
		if i > 0 {
			b.WriteString(", ")
		}
		name := e.Name
		if t.Name != "" && !t.isC() {
			name = t.enumScope() + name
		}
		b.WriteString(name)
		if e.Value != next {
			fmt.Fprintf(&b, " = %d", e.Value)
		}
		next = e.Value + 1
	}
	b.WriteString("}")
	return b.String()
}

// enumScope is what stands before an enumerator's name: its enum where that is a
// scope, else what the enum is in.
func (t *Type) enumScope() string {
	if t.isC() {
		return ""
	}
	if t.Name != "" && t.die.Has(dwarf.AtEnumClass) || t.Rust() {
		return t.Name + "::"
	}
	if t.Name == "" {
		return strings.TrimSuffix(t.mod.Obj.Qualified(t.die, "?"), "?")
	}
	if i := strings.LastIndex(t.Name, "::"); i >= 0 {
		return t.Name[:i+2]
	}
	return ""
}

func (t *Type) structText(indent int) string {
	if t.Rust() {
		return t.rustText(indent)
	}
	word := map[dwarf.Tag]string{dwarf.TagStructureType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union"}[t.Tag]
	var b strings.Builder
	b.WriteString(word + " ")
	if t.Name != "" {
		b.WriteString(t.Name + " ")
	}
	if indent > maxNesting {
		return b.String() + "{...}"
	}
	b.WriteString(t.basesText() + "{\n")
	pad := strings.Repeat(" ", 4*(indent+1))
	label := newLabels(t, pad)
	for _, f := range t.Fields() {
		if f.Base || strings.HasPrefix(f.Name, "_vptr") {
			continue
		}
		b.WriteString(label.at(t.access(f)) + pad)
		if f.Static {
			b.WriteString("static ")
		}
		if core := f.Type.coreType(); (core.Kind == Struct || core.Kind == Enum) && core.Name == "" {
			b.WriteString(f.Type.body(indent+1, f.Name))
		} else {
			b.WriteString(f.Type.declare(f.Name, 0))
		}
		if f.BitSize > 0 {
			fmt.Fprintf(&b, " : %d", f.BitSize)
		}
		b.WriteString(";\n")
	}
	if len(t.Fields()) == 0 {
		switch {
		case t.decl:
			b.WriteString(pad + "<incomplete type>\n")
		case t.isC() || len(t.methods()) == 0:
			b.WriteString(pad + "<no data fields>\n")
		}
	}
	if methods := t.methods(); len(methods) > 0 {
		if len(t.dataFields()) > 0 {
			b.WriteString("\n")
		}
		for _, m := range methods {
			b.WriteString(label.at(m.access) + pad + m.text + ";\n")
		}
	}
	for i, td := range t.typedefs() {
		if i == 0 && (len(t.dataFields()) > 0 || len(t.methods()) > 0) {
			b.WriteString("\n")
		}
		b.WriteString(label.at(td.access) + pad + td.text + ";\n")
	}
	b.WriteString(strings.Repeat(" ", 4*indent) + "}")
	return b.String()
}

// basesText is what stands between a class's name and its members: ": public A, private B ".
func (t *Type) basesText() string {
	var bases []string
	for _, f := range t.Fields() {
		if !f.Base {
			continue
		}
		word := accessWord(t.access(f)) + " "
		if f.Virtual {
			word += "virtual "
		}
		bases = append(bases, word+f.Name)
	}
	if len(bases) == 0 {
		return ""
	}
	return ": " + strings.Join(bases, ", ") + " "
}

func (t *Type) coreType() *Type {
	for range maxTypeDepth {
		switch t.Kind {
		case Pointer, Const, Volatile, Restrict, Atomic, Array:
			t = t.Elem()
			continue
		}
		break
	}
	return t
}

func (t *Type) dataFields() []Field {
	var out []Field
	for _, f := range t.Fields() {
		if !f.Base && !strings.HasPrefix(f.Name, "_vptr") {
			out = append(out, f)
		}
	}
	return out
}

func accessWord(a uint8) string {
	return [...]string{"public", "public", "protected", "private"}[a&3]
}

// access is a member's: the default is private in a class.
func (t *Type) access(f Field) uint8 { return t.accessOf(f.Access) }

func (t *Type) accessOf(a uint8) uint8 {
	if a == 0 && t.Tag == dwarf.TagClassType {
		return 3
	}
	return max(a, 1)
}

// labels prints public: and the like where the access changes, if it ever does.
type labels struct {
	used bool
	now  uint8
	pad  string
}

func newLabels(t *Type, pad string) *labels {
	l := &labels{pad: strings.TrimSuffix(pad, "  ")}
	if t.isC() {
		return l
	}
	want := uint8(1)
	mixed := t.Tag == dwarf.TagClassType
	for _, f := range t.dataFields() {
		mixed = mixed || t.access(f) != want
	}
	for _, m := range t.methods() {
		mixed = mixed || m.access != want
	}
	l.used = mixed
	if t.Tag == dwarf.TagClassType { // gdb leaves the word out where all is private
		all := true
		for _, f := range t.dataFields() {
			all = all && t.access(f) == 3
		}
		for _, m := range t.methods() {
			all = all && m.access == 3
		}
		l.used = !all
	}
	return l
}

func (l *labels) at(a uint8) string {
	if !l.used || a == l.now {
		return ""
	}
	l.now = a
	return l.pad + accessWord(a) + ":\n"
}

type memberText struct {
	text   string
	access uint8
}

// typedefs are the names of types that a class declares.
func (t *Type) typedefs() []memberText {
	var out []memberText
	if t.isC() || !t.die.Valid() {
		return nil
	}
	w := t.die.Walk()
	for w.Next() && len(out) < 256 {
		if d := w.DIE; w.Depth == 1 && d.Tag() == dwarf.TagTypedef {
			name, _ := d.Attr(dwarf.AtName)
			a, _ := d.Attr(dwarf.AtAccessibility)
			out = append(out, memberText{"typedef " + t.mod.typeOf(t.w, d).declare(string(name.Str()), 0), t.accessOf(uint8(a.Uint()))})
		}
		w.SkipChildren()
	}
	return out
}

// methods are the functions of a class that its source declares.
func (t *Type) methods() []memberText {
	var out []memberText
	if t.isC() || !t.die.Valid() {
		return nil
	}
	w := t.die.Walk()
	for w.Next() && len(out) < 512 {
		d := w.DIE
		if w.Depth == 1 && d.Tag() == dwarf.TagSubprogram && !d.Has(dwarf.AtArtificial) {
			a, _ := d.Attr(dwarf.AtAccessibility)
			out = append(out, memberText{t.method(d), t.accessOf(uint8(a.Uint()))})
		}
		w.SkipChildren()
	}
	return out
}

func (t *Type) method(d dwarf.DIE) string {
	nameV, _ := d.Attr(dwarf.AtName)
	name := string(nameV.Str())
	var params []string
	static, isConst := true, false
	w := d.Walk()
	for w.Next() {
		if w.Depth == 1 {
			switch w.DIE.Tag() {
			case dwarf.TagFormalParameter:
				pt := t.mod.typeOf(t.w, w.DIE)
				if w.DIE.Has(dwarf.AtArtificial) {
					static = false
					p := pt.Unqualified()
					isConst = p.Kind == Pointer && p.Elem().Kind == Const
					break
				}
				params = append(params, pt.declare("", 0))
			case dwarf.TagUnspecifiedParams:
				params = append(params, "...")
			}
		}
		w.SkipChildren()
	}
	list := strings.Join(params, ", ")
	if list == "" {
		list = "void"
	}
	text := name + "(" + list + ")"
	if isConst {
		text += " const"
	}
	short := t.Name[strings.LastIndex(t.Name, "::")+1:]
	if i := strings.IndexByte(t.Name, '<'); i >= 0 {
		outer := t.Name[:i]
		short = outer[strings.LastIndex(outer, ":")+1:]
	}
	short = strings.TrimPrefix(short, ":")
	plain := name
	if i := strings.IndexByte(plain, '<'); i > 0 && !strings.HasPrefix(plain, "operator") {
		plain = plain[:i]
	}
	if strings.HasPrefix(name, "~") {
		text = name + "()"
	}
	if plain != short && !strings.HasPrefix(name, "~") {
		if v, ok := d.Attr(dwarf.AtType); ok {
			rt := t.mod.typeAt(t.w, v.Ref())
			text = rt.declare(text, 0)
		} else {
			text = "void " + text
		}
	}
	if v, ok := d.Attr(dwarf.AtVirtuality); ok && v.Uint() != 0 {
		text = "virtual " + text
	} else if static {
		text = "static " + text
	}
	return text
}
