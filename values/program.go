package values

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// A Module is a file of the program and where it is loaded.
type Module struct {
	Obj  *symbols.Object
	Bias addr.Bias
}

// A Program is what values are read from: modules with their types and variables, symbols,
// and memory. Reader.Mem and Modules are required. A Program is used by one goroutine at a
// time, and must not be copied once it was used: its types refer to it.
type Program struct {
	Reader
	Modules  func() []Module
	System   func(Module) bool // tells libraries whose statics come after those of other modules; nil: none
	Printers Printers          // nil: values of libraries are printed by their members

	// Symbol is the symbol that covers an address. Symbol may be nil.
	Symbol func(addr.Run) (name string, offset uint64, ok bool)
	// Lookup finds a symbol that debug information does not describe. global excludes
	// local symbols.
	Lookup func(name string, global bool) (at addr.Run, code, ok bool)
	// TLS is the address of an offset in a module's thread-local block.
	TLS func(m Module, offset uint64) (addr.Run, error)
	// MacroScope is a frame, of which only the place is known, whose macros hold where no frame
	// is selected, nil without. MacroScope may be nil.
	MacroScope func() *Frame
	// Note is called with remarks for the user about a value. Note may be nil.
	Note func(string)

	mods map[*symbols.Object]*modState
}

// modState is the state that is derived from a module.
type modState struct {
	Module
	prog     *Program
	types    map[typeKey]*Type
	locOnce  sync.Once
	loc      dwarf.LocSections
	declOnce sync.Once
	declared *symbols.Declared
	// vtables are the virtual tables of Rust's traits; nil until they are asked for.
	vtables map[addr.File]dwarf.DIE
	macros  map[macroSite]*symbols.Macros // where expressions were computed
}

type typeKey struct {
	data *dwarf.Data
	off  uint64
}

// module is the state of a module.
func (p *Program) module(m Module) *modState {
	if p.mods == nil {
		p.mods = map[*symbols.Object]*modState{}
	}
	s := p.mods[m.Obj]
	if s == nil {
		s = &modState{Module: m, prog: p, types: map[typeKey]*Type{}}
		p.mods[m.Obj] = s
	}
	s.Bias = m.Bias
	return s
}

// modules are all modules, the frame's first.
func (p *Program) modules(f *Frame) []*modState {
	var out []*modState
	if f != nil && f.Module.Obj != nil {
		out = append(out, p.module(f.Module))
	}
	if p.Modules != nil {
		for _, m := range p.Modules() {
			if s := p.module(m); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

func (m *modState) sections() dwarf.LocSections {
	m.locOnce.Do(func() { m.loc = m.Obj.DWARF.LocSections() })
	return m.loc
}

func (m *modState) names() *symbols.Declared {
	m.declOnce.Do(func() {
		m.declared = symbols.NewDeclared(nil, 1) // what stays when the file is cut meanwhile
		m.declared = symbols.NewDeclared(m.Obj.DWARF.Units(), runtime.GOMAXPROCS(0))
	})
	return m.declared
}

// SymbolAt is the symbol that begins at an address, "" if there is none.
func (p *Program) SymbolAt(a addr.Run) string {
	if p == nil || p.Symbol == nil || a == 0 {
		return ""
	}
	name, off, ok := p.Symbol(a)
	if !ok || off != 0 {
		return ""
	}
	return name
}

// Method is the class and the name of the member function that begins at an address. The
// class is nil if debug information does not describe it.
func (p *Program) Method(a addr.Run) (class *Type, name string) {
	if p == nil {
		return nil, ""
	}
	for _, m := range p.modules(nil) {
		at := a.File(m.Bias)
		scopes := m.Obj.DWARF.Scopes(at)
		if len(scopes) == 0 {
			continue
		}
		s := &scopes[len(scopes)-1]
		d := scope.Describe(s.Blocks[len(s.Blocks)-1])
		if !d.Named.Valid() {
			return nil, ""
		}
		outer := strings.TrimSuffix(m.Obj.DWARF.Qualified(d.Named, "?"), "::?")
		return p.Named(outer), d.Name
	}
	return nil, ""
}

// Named is the type with a qualified name, nil if debug information does not describe it.
func (p *Program) Named(name string) *Type {
	if p == nil || name == "" {
		return nil
	}
	return lookup{language{prog: p}}.typeNamed(0, name)
}

// Char is the type char.
func (p *Program) Char() *Type { return p.cType("char") }

// UnsignedLong is the type unsigned long.
func (p *Program) UnsignedLong() *Type { return p.cType("unsigned long") }

// size is a number of bytes or elements.
func (p *Program) size(n int64) Value { return Number(p.UnsignedLong(), uint64(n)) }

// Boolean is a value of the type bool.
func (p *Program) Boolean(b bool) Value { return Number(p.cType("bool"), truth(b)) }

// ClassAt is the name of the class of an object, by the symbol of its virtual table; "" if it
// has none.
func (p *Program) ClassAt(object addr.Run) string {
	if p == nil {
		return ""
	}
	class, _, err := p.virtualTable(object)
	if err != nil {
		return ""
	}
	return class
}

// virtualTable is the virtual table of an object, and the class that it is of by its symbol;
// "" for a symbol of something else.
func (p *Program) virtualTable(object addr.Run) (class string, table addr.Run, err error) {
	at, err := p.ReadUint(object, 8)
	if err != nil || p.Symbol == nil {
		return "", addr.Run(at), err
	}
	name, _, _ := p.Symbol(addr.Run(at))
	if class, ok := strings.CutPrefix(name, "vtable for "); ok {
		return class, addr.Run(at), nil
	}
	return "", addr.Run(at), nil
}

// Implementor is the type whose methods a virtual table of Rust at an address has, nil if
// debug information does not tell. rustc describes each table by a variable, whose type has
// the implementing type as its containing type.
func (p *Program) Implementor(table addr.Run) *Type {
	if p == nil {
		return nil
	}
	for _, m := range p.modules(nil) {
		d, ok := m.rustTables()[table.File(m.Bias)]
		if !ok {
			continue
		}
		if v, ok := m.typeOf(d).die.Attr(dwarf.AtContainingType); ok {
			return m.typeAt(v.Ref())
		}
	}
	return nil
}

// rustTables are the variables for the virtual tables of a module.
func (m *modState) rustTables() map[addr.File]dwarf.DIE {
	if m.vtables == nil {
		m.vtables = map[addr.File]dwarf.DIE{}
		for _, d := range m.names().VariablesLike(func(name string) bool { return strings.HasSuffix(name, "::{vtable}") }) {
			if a, ok := m.valueOf(nil, d).Addr(); ok {
				m.vtables[a.File(m.Bias)] = d
			}
		}
	}
	return m.vtables
}

// A macroSite is a frame's place, at which macros hold.
type macroSite struct {
	at      addr.File
	inlined int
}

// maxMacroSites bounds the places whose macros are kept: those of a unit are some thousands
// that are read anew for each place.
const maxMacroSites = 64

// macros are the macros that hold where the frame is, or without one in MacroScope; nil without.
func (p *Program) macros(f *Frame) *symbols.Macros {
	if f == nil && p.MacroScope != nil {
		f = p.MacroScope()
	}
	if lang := f.language(); f == nil || f.Module.Obj == nil || lang != "c" && lang != "c++" {
		return nil
	}
	m := p.module(f.Module)
	at := f.PC.Lookup().File(f.Module.Bias)
	site := macroSite{at, f.Inlined}
	if found, ok := m.macros[site]; ok {
		return found
	}
	var found *symbols.Macros // nil: debug information has none
	if frames := m.Obj.Lookup(at); f.Inlined < len(frames) {
		found, _ = m.Obj.DWARF.Macros(at, frames[f.Inlined].File, frames[f.Inlined].Line) // of damaged ones, those before
	}
	if m.macros == nil || len(m.macros) == maxMacroSites {
		m.macros = map[macroSite]*symbols.Macros{}
	}
	m.macros[site] = found
	return found
}

func (t *Type) qualifiedBy(k Kind) *Type {
	return &Type{Kind: k, prog: t.prog, mod: t.mod, elem: t, elemOK: true, size: -1, lang: t.lang}
}
