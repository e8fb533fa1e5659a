package values

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// enclosing is the namespaces and classes around the frame's function, outermost first.
func (f *Frame) enclosing() []string {
	s, err := f.scope()
	if err != nil {
		return nil
	}
	fn := scope.Describe(s.Blocks[len(s.Blocks)-1])
	if !fn.Named.Valid() {
		return nil
	}
	q := f.Module.Obj.DWARF.Qualified(fn.Named, "?")
	return strings.Split(strings.TrimSuffix(strings.TrimSuffix(q, "?"), "::"), "::")
}

// prefixes are the qualifiers that a name may be written without in the frame, the
// innermost first: "ns::Class::", "ns::" and "", then those of using directives.
func (f *Frame) prefixes() []string {
	if f != nil && f.site != nil {
		return f.site.prefixes
	}
	out := []string{""}
	if f != nil {
		for _, p := range f.enclosing() {
			if p != "" {
				out = append(out, out[len(out)-1]+p+"::")
			}
		}
	}
	slices.Reverse(out)
	return append(out, f.imported().namespaces...)
}

// A lookup finds what names mean in a frame; without one statics only.
type lookup struct{ language }

// nonLocal finds a variable, enumerator or function at file, namespace or class scope. As
// in gdb, the frame's unit comes first, then external names, then statics of other units.
// gdb takes the first such static; here it is an error if there are several.
func (l lookup) nonLocal(name string, global bool) (Value, bool, error) {
	b, err := l.bound(name, global, false)
	if b.m == nil && err == nil {
		if v, ok := l.symbol(name, true); ok {
			return v, true, nil
		}
		b, err = l.bound(name, global, true)
	}
	switch {
	case err != nil || b.m == nil:
		return Value{}, false, err
	case b.constant.Type != nil:
		return b.constant, true, nil
	case b.lost:
		return LostValue(b.m.declaredType(b.e.DIE), errLost), true, nil
	}
	return l.entityValue(b.m, b.e), true, nil
}

// A binding is what a name means that is none of a function's.
type binding struct {
	m    *modState // nil: there is nothing of that name
	e    entity
	lost bool // it was optimized out
	// constant is the value of an enumerator; its Type is nil for all else.
	constant Value
}

// bind searches the debug information for what a name means: in the frame's unit and for
// external names, or for statics of other units.
func (l lookup) bind(name string, global, statics bool) (binding, error) {
	prefixes := []string{""}
	if !global {
		prefixes = l.f.prefixes()
	}
	if statics {
		return l.otherUnitStatic(name, prefixes)
	}
	if b, ok := l.inUnit(name, prefixes); ok {
		return b, nil
	}
	for _, m := range l.prog.modules(l.f) {
		if d, ok := l.global(m, name, prefixes); ok {
			return binding{m: m, e: d}, nil
		}
	}
	return binding{}, nil
}

// An entity is a variable, an enumerator or a function outside of functions.
type entity struct {
	dwarf.DIE
	low addr.File // of a function: where it is entered
}

// variablesNamed are the variables and enumerators that match a name, those with the
// innermost prefix first.
func (l lookup) variablesNamed(m *modState, list []dwarf.DIE, name string, prefixes []string) []entity {
	last := lastName(name)
	var out []entity
	for _, p := range prefixes {
		for _, d := range list {
			if l.hasName(m, d, last, p+name) && !slices.ContainsFunc(out, func(o entity) bool { return o.Unit == d.Unit && o.Off == d.Off }) {
				out = append(out, entity{DIE: d})
			}
		}
	}
	return out
}

// lastName is a name without its namespaces and classes.
func lastName(name string) string { return name[strings.LastIndex(name, ":")+1:] }

func (m *modState) placed(name string) []dwarf.DIE {
	return m.names().Variables(lastName(name))
}

func (m *modState) unplaced(name string) []dwarf.DIE {
	return m.names().Unplaced(lastName(name))
}

// inUnit is a variable or function of the frame's unit. A variable that was optimized out
// hides others with the same name.
func (l lookup) inUnit(name string, prefixes []string) (binding, bool) {
	s, err := l.f.scope()
	if err != nil {
		return binding{}, false
	}
	m := l.prog.module(l.f.Module)
	variables := l.variablesNamed(m, m.placed(name), name, prefixes)
	lost := l.variablesNamed(m, m.unplaced(name), name, prefixes)
	functions := m.functionsNamed(name, prefixes)
	// A function that was inlined from another unit sees that one's names.
	for _, unit := range []*dwarf.Unit{home(s.Blocks[len(s.Blocks)-1]), s.Physical.Unit} {
		of := func(d entity) bool { return home(d.DIE) == unit || d.Unit == unit }
		if i := slices.IndexFunc(variables, of); i >= 0 {
			return binding{m: m, e: variables[i]}, true
		}
		if i := slices.IndexFunc(lost, func(d entity) bool { return of(d) && !d.Has(dwarf.AtDeclaration) }); i >= 0 {
			return binding{m: m, e: lost[i], lost: true}, true
		}
		if i := slices.IndexFunc(functions, of); i >= 0 {
			return binding{m: m, e: functions[i]}, true
		}
	}
	return binding{}, false
}

// global is an external variable or function of a module.
func (l lookup) global(m *modState, name string, prefixes []string) (entity, bool) {
	for _, list := range [][]entity{l.variablesNamed(m, m.placed(name), name, prefixes), m.functionsNamed(name, prefixes)} {
		if i := slices.IndexFunc(list, isGlobal); i >= 0 {
			return list[i], true
		}
	}
	return entity{}, false
}

// isGlobal reports whether other units can name an entity. In Rust they can name all,
// because a path is unambiguous.
func isGlobal(e entity) bool {
	d := e.DIE
	if languageOf(d) == dwarf.LangRust && d.Tag() != dwarf.TagEnumerator {
		return true
	}
	for hop := 0; d.Valid() && hop < maxHops; hop++ {
		if d.Has(dwarf.AtExternal) {
			return true
		}
		d = origin(d)
	}
	return false
}

// otherUnitStatic is a static of another unit if there is only one, or an enumerator or
// constant if all with that name have the same value. Those of system libraries count if no other module has any.
func (l lookup) otherUnitStatic(name string, prefixes []string) (binding, error) {
	modules := l.prog.modules(l.f)
	if l.prog.System == nil {
		return l.staticAmong(modules, name, prefixes)
	}
	own := slices.DeleteFunc(slices.Clone(modules), func(m *modState) bool { return l.prog.System(m.Module) })
	if b, err := l.staticAmong(own, name, prefixes); b.m != nil || err != nil {
		return b, err
	}
	return l.staticAmong(modules, name, prefixes)
}

// staticAmong is otherUnitStatic among the units of modules.
func (l lookup) staticAmong(modules []*modState, name string, prefixes []string) (binding, error) {
	var found binding
	var from []string
	constants := map[string]bool{}
	for _, m := range modules {
		for _, d := range slices.Concat(l.variablesNamed(m, m.placed(name), name, prefixes), m.functionsNamed(name, prefixes)) {
			v := l.entityValue(m, d)
			key := ""
			if v.Type.Kind == Const || d.Tag() == dwarf.TagEnumerator {
				b, _ := l.prog.Bytes(v)
				key = string(b)
				constants[key] = true
			}
			if found.m == nil {
				found = binding{m: m, e: d}
			}
			if file := unitName(home(d.DIE)); key == "" && !slices.Contains(from, file) {
				from = append(from, file)
			}
		}
	}
	switch {
	case found.m == nil:
		return binding{}, nil
	case len(from) > 1 || len(constants) > 1 || len(from) == 1 && len(constants) > 0:
		return binding{}, &AmbiguousError{name, from}
	case len(from) == 1 && from[0] != "" && l.prog.Note != nil && l.f != nil:
		l.prog.Note(fmt.Sprintf("%s is unknown here: this is the static one in %s", name, path.Base(from[0])))
	}
	return found, nil
}

// An AmbiguousError says that a name matches statics of several units, but none of the
// frame's unit.
type AmbiguousError struct {
	Name  string
	Files []string // the units' source files
}

func (e *AmbiguousError) Error() string {
	if len(e.Files) == 0 {
		return fmt.Sprintf("%q is unknown here, and has different values in several files", e.Name)
	}
	files := make([]string, 0, len(e.Files))
	for _, f := range e.Files {
		files = append(files, path.Base(f))
	}
	return fmt.Sprintf("%q is unknown here, and static in %s: choose one as in '%s'::%s", e.Name, strings.Join(files, ", "), files[0], e.Name)
}

// functionsNamed are the functions with code that match a name. Exact matches come before
// functions that have the name as an alias in the symbol table.
func (m *modState) functionsNamed(name string, prefixes []string) []entity {
	exact, others := m.functions(name, prefixes)
	return append(exact, others...)
}

// functions are the functions with code that match a name, and those that have the name as
// an alias.
func (m *modState) functions(name string, prefixes []string) (exact, others []entity) {
	last := lastName(cutTemplate(name))
	for _, fn := range m.Obj.FindFunctions(name) {
		if fn.Inlined {
			continue
		}
		for _, s := range m.Obj.DWARF.Scopes(fn.Low) {
			d := s.Physical
			if !d.Valid() {
				continue
			}
			desc := scope.Describe(d)
			plain := cutTemplate(desc.Name)
			have := plain
			if desc.Named.Valid() {
				have = m.Obj.DWARF.Qualified(desc.Named, have)
			}
			if slices.ContainsFunc(prefixes, func(p string) bool { return matchesQualified(have, p+cutTemplate(name)) }) {
				exact = append(exact, entity{d, fn.Low})
			} else if plain != last { // not one of that name in another namespace
				others = append(others, entity{d, fn.Low})
			}
			break
		}
	}
	return exact, others
}

// entityValue is the value of an entity.
func (l lookup) entityValue(m *modState, e entity) Value {
	if e.Tag() != dwarf.TagSubprogram {
		return l.declared(m, e.DIE)
	}
	d := e.DIE
	for hop := 0; hop < maxHops && !d.Has(dwarf.AtType) && !d.Has(dwarf.AtName); hop++ {
		next := origin(d)
		if !next.Valid() {
			break
		}
		d = next
	}
	return MemoryValue(m.typeAt(d), e.low.Run(m.Bias))
}

// hasName reports whether an entry with this last name component matches the qualified
// name want. An enumerator matches with and without the name of its enum.
func (l lookup) hasName(m *modState, d dwarf.DIE, last, want string) bool {
	if languageOf(d).IsC() {
		return last == want
	}
	if matchesQualified(m.Obj.DWARF.Qualified(named(d), last), want) {
		return true
	}
	if d.Tag() != dwarf.TagEnumerator {
		return false
	}
	return matchesQualified(enumScope(l.enumOf(m, d))+last, want)
}

// matchesQualified compares qualified names. want may omit anonymous namespaces.
func matchesQualified(have, want string) bool {
	if have == want {
		return true
	}
	short := strings.ReplaceAll(have, "(anonymous namespace)::", "")
	return short == want
}

// declared is the value of a variable or enumerator outside of functions.
func (l lookup) declared(m *modState, d dwarf.DIE) Value {
	if d.Tag() != dwarf.TagEnumerator {
		return m.valueOf(nil, d)
	}
	t := l.enumOf(m, d)
	c, _ := d.Attr(dwarf.AtConstValue)
	return Number(t, uint64(c.Int()))
}

// enumOf is the enum that an enumerator belongs to: the entry before it that has it
// among its children.
func (l lookup) enumOf(m *modState, d dwarf.DIE) *Type {
	wk := d.Unit.Walk()
	var last dwarf.DIE
	for wk.Next() && wk.DIE.Off < d.Off {
		if wk.DIE.Tag() == dwarf.TagEnumerationType {
			last = wk.DIE
			if v, ok := last.Attr(dwarf.AtSibling); ok && v.Ref().Off <= d.Off && v.Ref().Valid() {
				wk.SkipChildren()
			}
		}
	}
	if last.Valid() {
		return m.typeAt(last)
	}
	return l.prog.cType("int")
}

// symbol is a variable or function that only the symbol table has. global excludes local
// symbols.
func (l lookup) symbol(name string, global bool) (Value, bool) {
	if l.prog.Lookup == nil {
		return Value{}, false
	}
	a, code, ok := l.prog.Lookup(name, global)
	if !ok {
		return Value{}, false
	}
	if !code {
		return MemoryValue(l.aliasType(name, a), a), true
	}
	fn := &Type{Kind: Function, Name: "<text variable, no debug info>", size: 1, prog: l.prog, elem: l.int(), elemOK: true, lang: dwarf.LangC, proto: true, untyped: true}
	return MemoryValue(fn, a), true
}

// aliasType is the type of a variable that only the symbol table has. It is the type of a
// variable at the same address whose name has two leading underscores, as __environ for
// environ, or the type in a declaration of another unit.
func (l lookup) aliasType(name string, at addr.Run) *Type {
	for _, m := range l.prog.modules(l.f) {
		for _, d := range m.names().Variables("__" + name) {
			v := l.declared(m, d)
			if a, ok := v.Addr(); ok && a == at {
				return v.Type
			}
		}
	}
	for _, m := range l.prog.modules(l.f) {
		for _, d := range m.names().Unplaced(name) {
			if d.Has(dwarf.AtDeclaration) && m.Obj.DWARF.Qualified(d, name) == name {
				return m.declaredType(d)
			}
		}
	}
	return l.prog.untyped()
}

// maxCallers bounds the frames in which a variable of a function is searched for.
const maxCallers = 256

// localOf is a variable of the innermost frame of a function.
func (l lookup) localOf(function, name string) (Value, bool) {
	f := l.f
	for n := 0; f != nil && n < maxCallers; n++ {
		if s, err := f.scope(); err == nil && scope.Describe(s.Blocks[len(s.Blocks)-1]).Name == function {
			return lookup{language{l.prog, f}}.local(name)
		}
		if f.Caller == nil {
			break
		}
		f = f.Caller()
	}
	return Value{}, false
}

// variableOf is a variable of a function: a static one, else one of its innermost frame.
func (l lookup) variableOf(function, name string) (Value, bool) {
	static, is := l.staticOf(function, name)
	if is && static.err == nil { // else it has no value without a frame
		return static, true
	}
	if local, ok := l.localOf(function, name); ok {
		return local, true
	}
	return static, is
}

// inFile is a variable or function of the unit of that source file, or a variable of the
// function of that name.
func (l lookup) inFile(file, name string) (Value, error) {
	for _, m := range l.prog.modules(l.f) {
		here := []string{""}
		for _, d := range slices.Concat(l.variablesNamed(m, m.placed(name), name, here), m.functionsNamed(name, here)) {
			if unit := unitName(home(d.DIE)); unit == file || strings.HasSuffix(unit, "/"+file) {
				return l.entityValue(m, d), nil
			}
		}
	}
	if v, ok := l.variableOf(file, name); ok {
		return v, nil
	}
	return Value{}, &NoSymbolError{"'" + file + "'::" + name}
}

// staticOf is a static variable of a function, or a static member found by its class.
func (l lookup) staticOf(outer, name string) (Value, bool) {
	if t := l.typeNamed(0, outer); t != nil {
		for _, f := range t.Strip().Fields() {
			if f.Name == name && f.Static {
				return l.prog.staticMember(t.Strip(), &f)
			}
		}
	}
	for _, m := range l.prog.modules(l.f) {
		for _, fn := range m.Obj.FindFunctions(outer) {
			for _, s := range m.Obj.DWARF.Scopes(fn.Low) {
				of := s.Blocks[len(s.Blocks)-1] // the function, or the call that was inlined
				inlined := of.Off != s.Physical.Off
				if fn.Inlined != inlined || inlined && !fn.CalledBy(of) {
					continue
				}
				if d, ok := staticIn(of, name); ok {
					return m.valueOf(nil, d), true
				}
				if d, ok := staticIn(origin(of), name); ok && d.Has(dwarf.AtLocation) { // of all its copies
					return m.valueOf(nil, d), true
				}
			}
		}
	}
	return Value{}, false
}

// staticIn is a variable of a function, which is in no other that was inlined there.
func staticIn(fn dwarf.DIE, name string) (dwarf.DIE, bool) {
	if !fn.Valid() {
		return dwarf.DIE{}, false
	}
	w := fn.Walk()
	for w.Next() {
		switch w.DIE.Tag() {
		case dwarf.TagVariable:
			if nameOf(w.DIE) == name {
				return w.DIE, true
			}
		case dwarf.TagInlinedSubroutine, dwarf.TagSubprogram:
			w.SkipChildren()
		}
	}
	return dwarf.DIE{}, false
}

// staticMember finds the definition of a static member.
func (p *Program) staticMember(t *Type, f *Field) (Value, bool) {
	if c, ok := f.die.Attr(dwarf.AtConstValue); ok {
		return constant(f.Type, c), true
	}
	for _, d := range f.Type.mod.names().Variables(f.Name) {
		if n := named(d); n.Off == f.die.Off && n.Unit == f.die.Unit {
			return f.Type.mod.valueOf(nil, d), true
		}
	}
	if t.Name == "" {
		return Value{}, false
	}
	statics := lookup{language{prog: p}}
	for _, m := range p.modules(nil) {
		if list := statics.variablesNamed(m, m.placed(f.Name), t.Name+"::"+f.Name, []string{""}); len(list) > 0 {
			return statics.entityValue(m, list[0]), true
		}
	}
	return Value{}, false
}

// namesakes are the functions of C++ with a name, those of the innermost scope that has
// some.
func (l lookup) namesakes(name string) (out []Value) {
	prefixes := []string{""}
	if !strings.HasPrefix(name, "::") {
		prefixes = l.f.prefixes()
	}
	name = strings.TrimPrefix(name, "::")
	for _, p := range prefixes {
		for _, m := range l.prog.modules(l.f) {
			exact, _ := m.functions(name, []string{p})
			for _, d := range exact {
				if v := l.entityValue(m, d); isCPlusPlus(v.Type.Strip().lang) && d.Tag() == dwarf.TagSubprogram {
					out = append(out, v)
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
