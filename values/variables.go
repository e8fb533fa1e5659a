package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hdb/symbols"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// A Variable is a named value of a frame.
type Variable struct {
	Name  string
	Value Value
	Depth int // blocks around it: 0 in the innermost
	Line  int // of its declaration, 0 not known; of locals alone
}

// maxVariables bounds the variables of one frame.
const maxVariables = 4096

// Args are the frame's parameters in the order of the source.
func (p *Program) Args(f *Frame) ([]Variable, error) {
	s, err := f.scope()
	if err != nil {
		return nil, err
	}
	var out []Variable
	fn := s.Blocks[len(s.Blocks)-1]
	var params []dwarf.DIE
	eachChild(fn, func(d dwarf.DIE) {
		if d.Tag() == dwarf.TagFormalParameter && len(params) < maxVariables {
			params = append(params, d)
		}
	})
	inSourceOrder(params, fn)
	for _, d := range params {
		if name := scope.Describe(d).Name; name != "" {
			out = append(out, Variable{Name: name, Value: p.module(f.Module).valueOf(f, d)})
		}
	}
	return out, nil
}

// inSourceOrder sorts the parameters of a copy of a function in the order of its abstract entry.
// gcc writes those of inlined calls in an order of its own.
func inSourceOrder(params []dwarf.DIE, fn dwarf.DIE) {
	origin, ok := fn.Attr(dwarf.AtAbstractOrigin)
	if !ok {
		return
	}
	place := map[typeKey]int{}
	eachChild(origin.Ref(), func(d dwarf.DIE) { place[typeKey{d.Unit.Data, d.Off}] = len(place) })
	at := func(d dwarf.DIE) int {
		if key, ok := abstractKey(d); ok {
			return place[key]
		}
		return place[typeKey{d.Unit.Data, d.Off}]
	}
	slices.SortStableFunc(params, func(a, b dwarf.DIE) int { return at(a) - at(b) })
}

// Locals are the frame's variables, those of the innermost block first.
func (p *Program) Locals(f *Frame) ([]Variable, error) {
	s, err := f.scope()
	if err != nil {
		return nil, err
	}
	var out []Variable
	for depth, b := range s.Blocks {
		eachChild(b, func(d dwarf.DIE) {
			if d.Tag() != dwarf.TagVariable || len(out) >= maxVariables {
				return
			}
			desc := scope.Describe(d)
			if desc.Name == "" || isDeclared(d) {
				return
			}
			out = append(out, Variable{Name: desc.Name, Value: p.module(f.Module).valueOf(f, d), Depth: depth, Line: int(desc.DeclLine)})
		})
	}
	return out, nil
}

// isDeclared reports whether an entry is an extern declaration inside a function.
func isDeclared(d dwarf.DIE) bool {
	return d.Has(dwarf.AtDeclaration) || d.Has(dwarf.AtExternal) && !d.Has(dwarf.AtLocation)
}

// local finds a local variable or parameter. The innermost declaration hides others. Within
// a block the last one does, as in Rust.
func (l lookup) local(name string) (Value, bool) {
	d := l.localEntry(name)
	if !d.Valid() {
		return Value{}, false
	}
	return l.prog.module(l.f.Module).valueOf(l.f, d), true
}

// findLocal searches the frame's blocks for the entry of a variable or parameter.
func (l lookup) findLocal(name string) dwarf.DIE {
	s, err := l.f.scope()
	if err != nil {
		return dwarf.DIE{}
	}
	for _, b := range s.Blocks {
		var found dwarf.DIE
		eachChild(b, func(d dwarf.DIE) {
			switch d.Tag() {
			case dwarf.TagVariable, dwarf.TagFormalParameter:
				if scope.Describe(d).Name == name && !isDeclared(d) {
					found = d
				}
			}
		})
		if found.Valid() {
			return found
		}
	}
	return dwarf.DIE{}
}

// this is the object on which a member function was called.
func (l lookup) this() (Value, bool) {
	v, ok := l.local("this")
	if !ok || v.Type.Strip().Kind != Pointer {
		return Value{}, false
	}
	if v.err != nil {
		return LostValue(v.Type.Strip().Elem(), v.err), true
	}
	obj, err := l.prog.Deref(v)
	return obj, err == nil
}

// typeNamed finds a type by its name in an expression: "struct x", a typedef, a qualified
// name. The frame's unit is searched first.
func (l lookup) typeNamed(tag dwarf.Tag, name string) *Type {
	if tag == 0 {
		if t := l.builtin(name); t != nil {
			return t
		}
	}
	last := name
	if i := strings.LastIndex(cutTemplate(name), "::"); i >= 0 {
		last = name[i+2:]
	}
	var unit *dwarf.Unit
	if s, err := l.f.scope(); err == nil {
		unit = s.Physical.Unit
		if t := l.localType(s, tag, name); t != nil {
			return t
		}
	}
	prefixes := l.f.prefixes()
	for _, m := range l.prog.modules(l.f) {
		var found *Type
		list := m.names().Types(last)
		if strings.Contains(last, "<") && len(list) == 0 {
			plain := symbols.PlainTemplate(name)
			list = m.names().TypesLike(func(have string) bool { return strings.HasSuffix(plain, symbols.PlainTemplate(have)) })
		}
		for _, d := range list {
			if tag != 0 && tagClass(d.Tag()) != tagClass(tag) {
				continue
			}
			t := m.typeAt(d)
			if tag == 0 && t.isC() && (t.Kind == Struct || t.Kind == Enum) {
				continue // struct x is not x in C
			}
			if !slices.ContainsFunc(prefixes, func(p string) bool { return sameType(cmp.Or(t.Name, last), p+name) }) {
				continue
			}
			if found == nil || d.Unit == unit && found.die.Unit != unit {
				found = t
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// sameType compares names of types. Numbers in template arguments match with and without a
// suffix for their type, because compilers differ in that.
func sameType(have, want string) bool {
	return matchesQualified(have, want) || strings.Contains(want, "<") && matchesQualified(symbols.PlainTemplate(have), symbols.PlainTemplate(want))
}

// cutTemplate is a name up to its template arguments.
func cutTemplate(name string) string {
	if i := strings.IndexByte(name, '<'); i >= 0 {
		return name[:i]
	}
	return name
}

// localType finds a type that a function declares.
func (l lookup) localType(s *symbols.Scope, tag dwarf.Tag, name string) *Type {
	var found *Type
	for _, b := range s.Blocks {
		eachChild(b, func(d dwarf.DIE) {
			switch d.Tag() {
			case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef:
				if nameOf(d) == name && (tag == 0 || tagClass(tag) == tagClass(d.Tag())) && found == nil {
					found = l.prog.module(l.f.Module).typeAt(d)
				}
			}
		})
	}
	return found
}

// A NoSymbolError says that an expression uses an unknown name.
type NoSymbolError struct{ Name string }

func (e *NoSymbolError) Error() string {
	return fmt.Sprintf("no symbol %q in the current context: see info locals, info args", e.Name)
}
