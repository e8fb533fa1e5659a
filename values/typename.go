package values

import (
	"fmt"
	"strings"

	"hdb/symbols/dwarf"
)

// String is the name of the type, as gdb's whatis prints it.
func (t *Type) String() string { return declare(t, "", 0) }

// declare names the type of a declarator: declare("*x") of int is "int *x".
func declare(t *Type, inner string, depth int) string {
	if depth > maxTypeDepth {
		return "..." + inner
	}
	if t.Rust() {
		return join(rustName(t, depth), inner)
	}
	switch t.Kind {
	case Pointer, Reference, RvalueReference:
		mark := map[Kind]string{Pointer: "*", Reference: "&", RvalueReference: "&&"}[t.Kind]
		return declareThrough(t.Elem(), mark+inner, depth)
	case MemberPointer:
		class := ""
		if t.object != nil {
			class = t.object.String()
		}
		return declareThrough(t.Elem(), class+"::*"+inner, depth)
	case Const, Volatile, Restrict, Atomic:
		word := map[Kind]string{Const: "const", Volatile: "volatile", Restrict: "restrict", Atomic: "_Atomic"}[t.Kind]
		e := t.Elem()
		switch u := e.Unqualified(); u.Kind {
		case Pointer, MemberPointer, Reference, RvalueReference:
			if inner != "" && inner[0] != '[' && inner[0] != '(' && inner[0] != ')' {
				inner = " " + inner
			}
			return declare(e, " "+word+inner, depth+1)
		}
		if e.Kind == Const && t.Kind == Volatile { // gdb's order
			return "const volatile " + declare(e.Elem(), inner, depth+1)
		}
		return word + " " + declare(e, inner, depth+1)
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
			return join(declare(t.Elem(), "", depth+1)+fmt.Sprintf(" __attribute__ ((vector_size(%d)))", t.Count()), inner)
		}
		return declare(t.Elem(), inner+dims, depth+1)
	case Function:
		if t.untyped {
			return join(t.Name, inner)
		}
		return declare(t.Elem(), inner+"("+parameterTypes(t, depth)+")", depth+1)
	}
	return join(plainName(t), inner)
}

// declareThrough is declare for the target of a pointer. If the target is an array or a
// function, the declarator needs parentheses.
func declareThrough(t *Type, inner string, depth int) string {
	if t.Kind == Array && !t.vector || t.Kind == Function && !t.untyped {
		inner = "(" + inner + ")"
	}
	return declare(t, inner, depth+1)
}

func join(name, inner string) string {
	inner = strings.TrimPrefix(inner, " ")
	if inner == "" {
		return name
	}
	return name + " " + inner
}

// maxParameters bounds the parameters in the name of a function's type.
const maxParameters = 64

// parameterTypes are the types of a function's parameters.
func parameterTypes(t *Type, depth int) string {
	var list []string
	params, open := t.entry().parameters()
	if t.typed != nil {
		params, open = t.typed.params, t.typed.open
	}
	for _, p := range params[:min(len(params), maxParameters)] {
		list = append(list, declare(p, "", depth+1))
	}
	if open {
		list = append(list, "...")
	}
	if len(list) == 0 && (t.proto || !t.isC()) {
		return "void"
	}
	return strings.Join(list, ", ")
}

// tagWords are the words before the names of types.
var tagWords = map[dwarf.Tag]string{dwarf.TagStructureType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union", dwarf.TagEnumerationType: "enum"}

// plainName is the name of a type that needs no declarator.
func plainName(t *Type) string {
	word := tagWords[t.Tag]
	switch {
	case t.Name == "" && word != "":
		return word + " {...}"
	case word != "" && t.isC():
		return word + " " + t.Name
	}
	return t.prog.typeName(t.Name)
}

// maxNesting bounds anonymous structs inside of structs in the text of a type.
const maxNesting = 8

// Text is the type as gdb's ptype shows it: typedefs resolved, members listed.
func (t *Type) Text() string {
	return t.TextWith(TypeOptions{})
}

// withoutTypedefs resolves the outer typedefs, below pointers, too, as ptype does.
func withoutTypedefs(t *Type, depth int) *Type {
	if depth > maxTypeDepth {
		return t
	}
	switch t.Kind {
	case Typedef:
		return withoutTypedefs(t.Elem(), depth+1)
	case Pointer, Reference, RvalueReference, Const, Volatile, Restrict, Atomic, Array, Function:
		if t.Rust() {
			return t
		}
		e := withoutTypedefs(t.Elem(), depth+1)
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

// bodyText is declare with the members of the innermost struct or enum.
func bodyText(t *Type, indent int, inner string, o TypeOptions) string {
	core := t
	for depth := 0; depth < maxTypeDepth; depth++ {
		switch core.Kind {
		case Pointer, Reference, RvalueReference, Const, Volatile, Restrict, Atomic, Array, Function, MemberPointer:
			core = core.Elem()
			continue
		}
		break
	}
	text := declare(t, inner, 0)
	if t.Rust() && t != core {
		return text
	}
	var full string
	switch core.Kind {
	case Struct:
		full = structText(core, indent, o)
	case Enum:
		full = enumText(core)
	default:
		return text
	}
	return strings.Replace(text, declare(core, "", 0), full, 1)
}

func enumText(t *Type) string {
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
			name = enumScope(t) + name
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

// enumScope is the qualifier of an enumerator's name: the enum if it is a scope, else the
// scope that the enum is in.
func enumScope(t *Type) string {
	if t.isC() {
		return ""
	}
	if t.Name != "" && t.die.Has(dwarf.AtEnumClass) || t.Rust() {
		return t.Name + "::"
	}
	if t.Name == "" {
		return strings.TrimSuffix(t.mod.Obj.DWARF.Qualified(t.die, "?"), "?")
	}
	if i := strings.LastIndex(t.Name, "::"); i >= 0 {
		return t.Name[:i+2]
	}
	return ""
}

func structText(t *Type, indent int, o TypeOptions) string {
	if t.Rust() {
		return rustText(t, indent)
	}
	var b strings.Builder
	b.WriteString(tagWords[t.Tag] + " ")
	if t.Name != "" {
		b.WriteString(t.Name + " ")
	}
	if indent > maxNesting {
		return b.String() + "{...}"
	}
	b.WriteString(basesText(t) + "{\n")
	pad := strings.Repeat(" ", 4*(indent+1))
	data, methods, typedefs := dataFields(t), methodsOf(t), typedefsOf(t)
	if o.NoMethods {
		methods = nil
	}
	if o.NoTypedefs {
		typedefs = nil
	}
	label := newLabels(t, data, methods, pad)
	for _, f := range data {
		b.WriteString(label.at(memberAccess(t, f.Access)) + pad)
		if f.Static {
			b.WriteString("static ")
		}
		if core := coreType(f.Type); (core.Kind == Struct || core.Kind == Enum) && core.Name == "" {
			b.WriteString(bodyText(f.Type, indent+1, f.Name, o))
		} else {
			b.WriteString(declare(f.Type, f.Name, 0))
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
		case len(methods) == 0:
			b.WriteString(pad + "<no data fields>\n")
		}
	}
	above := len(data)
	for _, list := range [][]memberText{methods, typedefs} {
		if above > 0 && len(list) > 0 {
			b.WriteString("\n")
		}
		above += len(list)
		for _, m := range list {
			b.WriteString(label.at(m.access) + pad + m.text + ";\n")
		}
	}
	b.WriteString(strings.Repeat(" ", 4*indent) + "}")
	return b.String()
}

// basesText is the list of base classes in the text of a class: ": public A, private B ".
func basesText(t *Type) string {
	var bases []string
	for _, f := range t.Fields() {
		if !f.Base {
			continue
		}
		word := accessWord(memberAccess(t, f.Access)) + " "
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

func coreType(t *Type) *Type {
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

func dataFields(t *Type) []Field {
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

// memberAccess is the access of a member. The default in a class is private.
func memberAccess(t *Type, a uint8) uint8 {
	if a == 0 && t.Tag == dwarf.TagClassType {
		return 3
	}
	return max(a, 1)
}

// labels are the access labels of a class. They are printed where the access changes.
type labels struct {
	used bool
	now  uint8
	pad  string
}

// newLabels are the labels of a class. A class whose members are all private has none, as
// in gdb, nor has a struct whose members are all public.
func newLabels(t *Type, data []Field, methods []memberText, pad string) *labels {
	l := &labels{pad: strings.TrimSuffix(pad, "  ")}
	if t.isC() {
		return l
	}
	usual := memberAccess(t, 0)
	for _, f := range data {
		l.used = l.used || memberAccess(t, f.Access) != usual
	}
	for _, m := range methods {
		l.used = l.used || m.access != usual
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

// typedefsOf are the names of types that a class declares.
func typedefsOf(t *Type) []memberText {
	return membersOf(t, dwarf.TagTypedef, func(d dwarf.DIE) string { return "typedef " + declare(t.mod.typeOf(d), nameOf(d), 0) })
}

// methodsOf are the functions of a class that its source declares.
func methodsOf(t *Type) []memberText {
	return membersOf(t, dwarf.TagSubprogram, func(d dwarf.DIE) string { return methodText(t, d) })
}

// maxMembers bounds the functions, and the names of types, in the text of a class.
const maxMembers = 512

// membersOf are the members of a class with a tag that its source declares.
func membersOf(t *Type, tag dwarf.Tag, text func(dwarf.DIE) string) (out []memberText) {
	if t.isC() {
		return nil
	}
	for d := range children(t.die) {
		if d.Tag() == tag && !d.Has(dwarf.AtArtificial) && len(out) < maxMembers {
			a, _ := d.Attr(dwarf.AtAccessibility)
			out = append(out, memberText{text(d), memberAccess(t, uint8(a.Uint()))})
		}
	}
	return out
}

func methodText(t *Type, d dwarf.DIE) string {
	name := nameOf(d)
	var params []string
	static, isConst := true, false
	for c := range children(d) {
		switch c.Tag() {
		case dwarf.TagFormalParameter:
			pt := t.mod.typeOf(c)
			if c.Has(dwarf.AtArtificial) {
				static = false
				p := pt.Unqualified()
				isConst = p.Kind == Pointer && p.Elem().Kind == Const
				break
			}
			params = append(params, declare(pt, "", 0))
		case dwarf.TagUnspecifiedParams:
			params = append(params, "...")
		}
	}
	list := strings.Join(params, ", ")
	if list == "" {
		list = "void"
	}
	text := name + "(" + list + ")"
	if isConst {
		text += " const"
	}
	plain := name
	if i := strings.IndexByte(plain, '<'); i > 0 && !strings.HasPrefix(plain, "operator") {
		plain = plain[:i]
	}
	if strings.HasPrefix(name, "~") {
		text = name + "()"
	}
	if plain != lastName(cutTemplate(t.Name)) && !strings.HasPrefix(name, "~") {
		if v, ok := d.Attr(dwarf.AtType); ok {
			rt := t.mod.typeAt(v.Ref())
			text = declare(rt, text, 0)
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

// sameTypes reports whether two stripped types are the same, maybe as two units describe
// it.
func sameTypes(a, b *Type) bool {
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Size() != b.Size() {
		return false
	}
	switch a.Kind {
	case Struct, Enum:
		return a.Name != "" && a.Name == b.Name && tagClass(a.Tag) == tagClass(b.Tag)
	case Base:
		return a.Enc == b.Enc && a.Name == b.Name
	}
	return a.String() == b.String()
}
