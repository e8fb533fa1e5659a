package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind/dwop"
)

// A member is a member function of a class.
type member struct {
	die   dwarf.DIE // its declaration in the class
	class *Type
	typ   *Type
	owner Value // the object, as one of the class; no Type: there is none
}

// methodsNamed are the member functions of an object's class with a name, or of the nearest base
// class that has some. A template's name represents all its instances.
func (p *Program) methodsNamed(v Value, name string, depth int) []member {
	class := v.Type.Strip()
	if class.Kind != Struct || !class.die.Valid() || class.isC() || depth > maxDepth {
		return nil
	}
	var out []member
	for d := range children(class.die) {
		if d.Tag() != dwarf.TagSubprogram || len(out) >= maxMembers {
			continue
		}
		if have := nameOf(d); have == name || strings.HasPrefix(have, name+"<") && !strings.HasPrefix(name, "operator") {
			out = append(out, member{die: d, class: class, typ: class.mod.typeAt(d), owner: v})
		}
	}
	if len(out) > 0 {
		return out
	}
	fields := class.Fields()
	for i := range fields {
		if fields[i].Base {
			base := p.Member(v, &fields[i])
			if base.Type = fields[i].Type; v.Type.isConst() {
				base.Type = base.Type.qualifiedBy(Const)
			}
			if list := p.methodsNamed(base, name, depth+1); len(list) > 0 {
				return list
			}
		}
	}
	return nil
}

// isConst reports whether the type is const, by itself or by a typedef.
func (t *Type) isConst() bool {
	for range maxTypeDepth {
		switch t.Kind {
		case Const:
			return true
		case Typedef, Volatile, Restrict, Atomic:
			t = t.Elem()
		default:
			return false
		}
	}
	return false
}

// selfType is the type of the parameter for the object, nil of a static member function.
func (m *member) selfType() *Type {
	for d := range children(m.die) {
		if d.Tag() != dwarf.TagFormalParameter {
			continue
		}
		if d.Has(dwarf.AtArtificial) || m.class.Rust() && nameOf(d) == "self" {
			return m.class.mod.typeOf(d)
		}
		break
	}
	if m.class.Rust() { // a declaration need not name its parameters
		if list, _ := parameters(m.typ); len(list) > 0 {
			if t := list[0].Strip(); t == m.class || t.Kind == Pointer && t.Elem().Strip() == m.class {
				return list[0]
			}
		}
	}
	return nil
}

// name is the function with its class and parameters.
func (m *member) name() string {
	if m.class.Rust() {
		return m.class.Name + "::" + nameOf(m.die)
	}
	list, open := parameters(m.typ)
	self := m.selfType()
	if self != nil {
		list = list[1:]
	}
	return m.class.String() + "::" + nameOf(m.die) + signature(list, open, self)
}

// signature is the parameters of a function in words.
func signature(list []*Type, open bool, self *Type) string {
	var words []string
	for _, t := range list {
		words = append(words, t.String())
	}
	if open {
		words = append(words, "...")
	}
	text := "(" + strings.Join(words, ", ") + ")"
	if self != nil && self.Strip().Kind == Pointer && self.Strip().Elem().isConst() && !self.Rust() {
		text += " const"
	}
	return text
}

// code is where a member function begins that is not virtual, or is to be called as if it
// were not.
func (m *member) code() (addr.Run, error) {
	p := m.class.prog
	linkage := scope.Describe(m.die).Linkage
	if linkage != "" && p.Lookup != nil {
		if at, code, ok := p.Lookup(linkage, true); ok && code {
			return at, nil
		}
	}
	inlined := false
	for _, fn := range m.class.mod.Obj.FindFunctions(m.class.Name + "::" + cutTemplate(nameOf(m.die))) {
		for _, s := range m.class.mod.Obj.DWARF.Scopes(fn.Low) {
			if named := scope.Describe(s.Physical).Named; !fn.Inlined && named.Unit == m.die.Unit && named.Off == m.die.Off {
				return fn.Low.Run(m.class.mod.Bias), nil
			}
		}
		inlined = inlined || fn.Inlined
	}
	if linkage != "" && p.Lookup != nil {
		if at, code, ok := p.Lookup(linkage, false); ok && code {
			return at, nil
		}
	}
	if inlined {
		return 0, fmt.Errorf("%s cannot be called: it was inlined wherever it is used, and has no code of its own", m.name())
	}
	return 0, fmt.Errorf("%s cannot be called: the program has no code for it, because nothing uses it or all uses are inlined", m.name())
}

// slot is the place of a virtual member function in the virtual table. It reports false for
// another function.
func (m *member) slot() (int64, bool) {
	v, ok := m.die.Attr(dwarf.AtVtableElem)
	if !ok {
		return 0, false
	}
	n := v.Uint()
	if v.IsBlock() {
		b := dwarf.NewBuf(v.Block(), 0)
		if b.U8() != dwop.Constu {
			return 0, false
		}
		n = b.Uleb()
	}
	return int64(n), n < maxMembers
}

// virtual is the function that the object's virtual table has for a virtual member
// function (Itanium C++ ABI, section 2.5.2). It reports false for another one.
func (m *member) virtual() (at addr.Run, ok bool, err error) {
	slot, has := m.slot()
	object, inMemory := m.owner.Addr()
	if !has || !inMemory {
		return 0, false, nil
	}
	p := m.class.prog
	table, err := p.ReadUint(object, 8)
	if err != nil {
		return 0, true, err
	}
	n, err := p.ReadUint(addr.Run(table+8*uint64(slot)), 8)
	if err != nil || !p.isFunction(addr.Run(n)) {
		return 0, true, fmt.Errorf("no virtual table at %#x leads to %s: the object at %v is not valid", table, m.name(), object)
	}
	return addr.Run(n), true, nil
}

// isFunction reports whether a function of a module begins at an address.
func (p *Program) isFunction(a addr.Run) bool {
	for _, m := range p.modules(nil) {
		if fn, ok := m.Obj.FunctionAt(a.File(m.Bias)); ok && fn.Low.Run(m.Bias) == a {
			return true
		}
	}
	return false
}

// returns is the type of what a member function returns. The type that auto represents is in its
// definition only.
func (m *member) returns() *Type {
	t := m.typ.Elem()
	if t.Kind != Unspecified {
		return t
	}
	if at, err := m.code(); err == nil {
		for _, s := range m.class.mod.Obj.DWARF.Scopes(at.File(m.class.mod.Bias)) {
			return m.class.mod.typeOf(s.Physical)
		}
	}
	return t
}

// parameters are the types that a function takes. open: it takes more of any type, or
// nothing tells.
func parameters(fn *Type) (list []*Type, open bool) {
	if !described(fn) {
		return nil, true
	}
	if fn.typed != nil {
		return fn.typed.params, fn.typed.open
	}
	d := fn.die
	for hop := 0; hop < maxHops; hop++ {
		list, open = entry{d, fn.mod}.parameters()
		next := origin(d)
		if len(list) > 0 || open || !next.Valid() {
			break
		}
		d = next
	}
	return list, open || len(list) == 0 && fn.lang.IsC() && !fn.proto
}

// described reports whether debug information, or the user, has the types of a function. A function
// of an assembler has its name only.
func described(fn *Type) bool {
	return fn.typed != nil || fn.die.Valid() && fn.lang != dwarf.LangAssembler
}
