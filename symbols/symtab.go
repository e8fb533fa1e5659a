package symbols

import (
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// A Symtab is the symbol tables of a file: names to addresses and back.
type Symtab struct {
	file   *File
	golang *goTable
	stubs  pltStubs
}

// table is a symbol table with what its names count for.
type table struct {
	*elf.Table
	from Provenance
}

// tables lists the symbol tables from best to worst: .symtab of the file, of its
// debug file or of the one in .gnu_debugdata, then .dynsym.
func (st *Symtab) tables() []table {
	var all []table
	for _, f := range []*elf.File{st.file.elf, st.file.debugFile()} {
		if f == nil {
			continue
		}
		if t, err := f.Symtab(); err == nil && t.Len() > 1 {
			all = append(all, table{t, FromSymtab})
			break
		}
	}
	if len(all) == 0 {
		if mini, err := st.file.elf.MiniDebug(); err == nil && mini != nil {
			if t, err := mini.Symtab(); err == nil && t.Len() > 1 {
				all = append(all, table{t, FromMini})
			}
		}
	}
	if t, err := st.file.elf.Dynsym(); err == nil && t.Len() > 1 {
		all = append(all, table{t, FromDynsym})
	}
	return all
}

// Symbols lists the symbols of that linkage name in the object, without regard
// to versions: each of .dynsym (with its version), then those of .symtab at
// other addresses. Undefined ones (imports) are included.
func (st *Symtab) Symbols(name string) []Sym {
	return st.symbols(func(t *elf.Table) []Sym { return t.Named(name) })
}

// SymbolsAmong lists what Symbols would list for each of the names, in another order:
// those of different names are mixed. For many names it is faster than to ask for one
// after another.
func (st *Symtab) SymbolsAmong(names *Names) []Sym {
	return st.symbols(func(t *elf.Table) []Sym { return t.Among(names) })
}

func (st *Symtab) symbols(list func(*elf.Table) []Sym) []Sym {
	type identity struct {
		name    string
		at      addr.File
		defined bool
		version string
	}
	var all []Sym
	seen := map[identity]bool{} // for each also the one without its version
	elf.Guard(func() {
		tables := st.tables()
		for i := len(tables) - 1; i >= 0; i-- {
			for _, s := range list(tables[i].Table) {
				id := identity{s.Name, s.Addr, s.Defined, s.Version}
				if seen[id] {
					continue
				}
				all = append(all, s)
				seen[id] = true
				id.version = ""
				seen[id] = true
			}
		}
	})
	return all
}

// Symbol is the symbol of that linkage name that a reference would be bound to:
// defined before undefined, default version before hidden ones, global before local.
func (st *Symtab) Symbol(name string) (Sym, bool) {
	var best Sym
	found := false
	for _, s := range st.Symbols(name) {
		if !found || preferred(s, best) {
			best, found = s, true
		}
	}
	return best, found
}

// Exported is the symbol of that linkage name that .dynsym defines. Unlike Symbol it reads no
// debug file. A static file exports what it has.
func (st *Symtab) Exported(name string) (sym Sym, ok bool) {
	dynamic := false
	elf.Guard(func() {
		t, err := st.file.elf.Dynsym()
		if dynamic = err == nil && t.Len() > 1; !dynamic {
			return
		}
		for _, s := range t.Named(name) {
			if s.Defined && (!ok || preferred(s, sym)) {
				sym, ok = s, true
			}
		}
	})
	if dynamic {
		return sym, ok
	}
	sym, ok = st.Symbol(name)
	return sym, ok && sym.Defined
}

// Uses reports whether the file calls for a symbol of that name: it imports it from another, or a static
// one has linked it in.
func (st *Symtab) Uses(name string) (uses bool) {
	elf.Guard(func() {
		t, err := st.file.elf.Dynsym()
		if err == nil && t.Len() > 1 {
			uses = slices.ContainsFunc(t.Named(name), func(s Sym) bool { return !s.Defined })
			return
		}
		sym, ok := st.Symbol(name)
		uses = ok && sym.Defined
	})
	return uses
}

func preferred(a, b Sym) bool {
	if a.Defined != b.Defined {
		return a.Defined
	}
	if a.Hidden != b.Hidden {
		return b.Hidden
	}
	return !a.Local && b.Local
}

// SymbolAt is the symbol, of code or data, whose bytes contain a, and how far a
// is from its start. Of several the name a user would choose is taken: global,
// not hidden behind underscores, of the default version.
func (st *Symtab) SymbolAt(a addr.File) (sym Sym, off uint64, ok bool) {
	elf.Guard(func() { sym, _, ok = st.symbolAt(a) })
	if !ok {
		return Sym{}, 0, false
	}
	return sym, uint64(a - sym.Addr), true
}

func (st *Symtab) symbolAt(a addr.File) (Sym, Provenance, bool) {
	var best Sym
	from, found := FromNone, false
	for _, t := range st.tables() {
		s, ok := t.At(a)
		if !ok {
			continue
		}
		// A later start is the narrower symbol; at the same start the exported
		// name is as good as any alias of .symtab.
		if !found || s.Addr > best.Addr || s.Addr == best.Addr && elf.Better(s, best) {
			best, from, found = s, t.from, true
		}
	}
	if s, ok := st.stubAt(a); ok && (!found || s.Addr > best.Addr) {
		return s, FromDynsym, true
	}
	return best, from, found
}

// mangledAt is the name of the symbol that begins at a, if it is a mangled one.
func (st *Symtab) mangledAt(a addr.File) string {
	s, _, ok := st.symbolAt(a)
	if !ok || s.Addr != a || !isMangled(s.Name) {
		return ""
	}
	return s.Name
}

// exportedAt is the dynamic symbol that begins at a, unless its name is private.
func (st *Symtab) exportedAt(a addr.File) string {
	t, err := st.file.elf.Dynsym()
	if err != nil {
		return ""
	}
	s, ok := t.At(a)
	if !ok || s.Addr != a || s.Hidden || strings.HasPrefix(s.Name, "_") {
		return ""
	}
	return s.Name
}

// lookupSymbol names a by Go's own table, else by the symbol tables.
func (st *Symtab) lookupSymbol(a addr.File) []Frame {
	if frames := st.golang.lookup(a); frames != nil {
		return frames
	}
	return symbolFrame(st.symbolAt(a))
}
