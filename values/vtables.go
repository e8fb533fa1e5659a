package values

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// dynamic is an object of C++, or a pointer to one, as of the class that its virtual table
// tells, and the name of the class of an object. Another value is as it is.
func (p *Program) dynamic(v Value) (Value, string) {
	switch t := v.Type.Strip(); t.Kind {
	case Struct:
		at, ok := v.Addr()
		if !ok || t.classType() == nil || !p.hasTable(t, 0) {
			return v, ""
		}
		whole, err := p.complete(at)
		if err != nil {
			return v, ""
		}
		return whole, whole.Type.String()
	case Pointer:
		class := pointedClass(t)
		at, err := p.Uint(v)
		if err != nil || at == 0 || class == nil || !p.hasTable(class, 0) {
			return v, ""
		}
		whole, err := p.complete(addr.Run(at))
		if err != nil {
			return v, ""
		}
		target := whole.Type
		if t.Elem().isConst() {
			target = target.qualifiedBy(Const)
		}
		return Number(target.PointerTo(), uint64(whole.addr)), ""
	}
	return v, ""
}

// hasTable reports whether objects of a class begin with the address of a virtual table.
func (p *Program) hasTable(t *Type, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if last, has := lastVirtual(t); has || last >= 0 {
		return true
	}
	for _, f := range t.Strip().Fields() {
		if f.Base && (f.Virtual || p.hasTable(f.Type, depth+1)) {
			return true
		}
	}
	return false
}

// lastVirtual is the highest place in the virtual table of the functions that a class
// declares itself, -1 without one. has: it has virtual functions.
func lastVirtual(t *Type) (last int64, has bool) {
	t, last = t.Strip(), -1
	if !t.die.Valid() {
		return last, false
	}
	for d := range children(t.die) {
		if d.Tag() != dwarf.TagSubprogram {
			continue
		}
		if v, ok := d.Attr(dwarf.AtVirtuality); ok && v.Uint() != 0 {
			has = true // a destructor has no place
		}
		m := member{die: d, class: t}
		if n, ok := m.slot(); ok {
			last = max(last, n)
		}
	}
	return last, has
}

// virtualName is the virtual member function at a place of a class's virtual table, with
// its parameters; "" if debug information does not tell.
func virtualName(class *Type, slot int64, depth int) string {
	class = class.Strip()
	if class.Kind != Struct || !class.die.Valid() || depth > maxDepth {
		return ""
	}
	for d := range children(class.die) {
		if d.Tag() != dwarf.TagSubprogram {
			continue
		}
		m := member{die: d, class: class, typ: class.mod.typeAt(d)}
		if n, ok := m.slot(); ok && n == slot {
			return m.name()
		}
	}
	for _, f := range class.Fields() {
		if f.Base {
			if name := virtualName(f.Type, slot, depth+1); name != "" {
				return name
			}
		}
	}
	return ""
}

// incomplete writes what is known of an object of a class that debug information does not describe.
func (p *formatter) incomplete(v Value, t *Type) {
	text := "incomplete type"
	if !t.die.Valid() {
		text = fmt.Sprintf("%s at %v, of which no debug information was found (info symbols)", p.prog.typeName(t.Name), v.addr)
	}
	p.write("<" + text)
	if message, ok := p.message(v); ok {
		p.write(", what() is ")
		p.cstring(message, 1, "")
	}
	p.write(">")
}

// message is where the text is that what() of an exception returns, if memory tells: its entry in the virtual table, behind
// two destructors, is the C++ library's for most classes. That returns the word behind the table's address (__cow_string).
func (p *formatter) message(v Value) (text addr.Run, ok bool) {
	at, _ := v.Addr()
	table, _ := p.prog.ReadUint(at, 8)
	what, _ := p.prog.ReadUint(addr.Run(table+16), 8)
	name := p.prog.SymbolAt(addr.Run(what))
	n, err := p.prog.ReadUint(at+8, 8)
	return addr.Run(n), err == nil && (name == "std::runtime_error::what() const" || name == "std::logic_error::what() const")
}
