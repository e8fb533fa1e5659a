package symbols

import (
	"cmp"
	"encoding/binary"
	"path"
	"regexp"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
	"hdb/unwind/dwop"
)

// LineRows are the rows of the line tables that begin statements of a source line,
// in the order of their addresses: what has the code of the line, prologues
// included. When the line has none they are those of the next that has. file is
// matched by its last components.
func (o *Object) LineRows(file string, lineNo int) []LineEntry {
	var rows []LineEntry
	o.guard(func() {
		if dw, _ := o.dwarf(); dw != nil && lineNo > 0 {
			rows = dw.lineRows(path.Clean(file), uint32(lineNo))
		}
	})
	slices.SortFunc(rows, func(a, b LineEntry) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.End, a.End)) })
	return slices.CompactFunc(rows, func(a, b LineEntry) bool { return a.Addr == b.Addr })
}

func (d *debugInfo) lineRows(file string, lineNo uint32) []LineEntry {
	var found []LineEntry
	best := uint32(0)
	for _, unit := range d.fileNames().units[path.Base(file)] {
		t := d.lineTable(d.units[unit])
		if t == nil {
			continue
		}
		matching := make([]bool, t.Files())
		for i := range matching {
			matching[i] = matchesFile(t.File(uint32(i)), file)
		}
		stmts := t.Stmts()
		for k := 0; k < len(stmts); k++ {
			r := stmts[k]
			if !r.Is(line.Stmt) || r.Is(line.EndSequence) || r.Line < lineNo || best != 0 && r.Line > best || int(r.File) >= len(matching) || !matching[r.File] {
				continue
			}
			if r.Line != best {
				best, found = r.Line, found[:0]
			}
			end := t.StmtEnd(k) // and of the rows that go on with the same line
			for ; k+1 < len(stmts) && stmts[k+1].Addr == end && stmts[k+1].Line == r.Line && stmts[k+1].File == r.File && !stmts[k+1].Is(line.EndSequence); k++ {
				end = t.StmtEnd(k + 1)
			}
			if end > r.Addr {
				found = append(found, LineEntry{Addr: addr.File(r.Addr), End: addr.File(end), File: t.File(r.File), Line: int(r.Line), Column: int(r.Col), Stmt: true})
			}
		}
	}
	return found
}

// UnitInfo is what a unit of DWARF says of how its source was compiled.
type UnitInfo struct {
	Name     string // as the compiler was given it
	CompDir  string // where the compiler ran
	Producer string // the compiler and its flags
	Version  int    // of DWARF
	Language Language
}

// UnitInfoAt describes the unit with code at a.
func (o *Object) UnitInfoAt(a addr.File) (UnitInfo, bool) {
	u := o.UnitAt(a)
	if u == nil {
		return UnitInfo{}, false
	}
	info := UnitInfo{Version: u.Version}
	o.guard(func() {
		it := u.Root().Attrs()
		for it.Next() {
			switch it.At {
			case dwarf.AtName:
				info.Name = string(it.Value.Str())
			case dwarf.AtCompDir:
				info.CompDir = string(it.Value.Str())
			case dwarf.AtProducer:
				info.Producer = string(it.Value.Str())
			case dwarf.AtLanguage:
				info.Language = Language(it.Value.Uint())
			}
		}
	})
	return info, true
}

// A Global is a variable or type outside of functions.
type Global struct {
	Name string    // qualified
	Kind string    // of a type: "struct", "enum", ...; "" of a variable
	Addr addr.File // of a variable, 0 unknown or none
	Size uint64    // bytes, 0 unknown
	File string    // of the declaration, "" unknown
	Line int
	From Provenance
}

// maxGlobals bounds what one object can list.
const maxGlobals = 1 << 20

var typeKinds = map[dwarf.Tag]string{
	dwarf.TagStructureType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union",
	dwarf.TagEnumerationType: "enum", dwarf.TagTypedef: "typedef", dwarf.TagBaseType: "base",
}

// MatchTypes lists the types outside of functions whose name matches re, each
// once, by name, as far as it comes until ended says so.
func (o *Object) MatchTypes(re *regexp.Regexp, ended func() bool) []Global {
	return o.globals(ended, func(d dwarf.DIE) (Global, bool) {
		kind := typeKinds[d.Tag()]
		if kind == "" || d.Has(dwarf.AtDeclaration) {
			return Global{}, false
		}
		g := Global{Kind: kind}
		if v, ok := d.Attr(dwarf.AtByteSize); ok {
			g.Size = v.Uint()
		}
		return g, true
	}, re)
}

// MatchVariables lists the variables outside of functions whose name matches re:
// those of DWARF, then those that only the symbol tables know. It ends as MatchTypes does.
func (o *Object) MatchVariables(re *regexp.Regexp, ended func() bool) []Global {
	list := o.globals(ended, func(d dwarf.DIE) (Global, bool) {
		if d.Tag() != dwarf.TagVariable || d.Has(dwarf.AtDeclaration) {
			return Global{}, false
		}
		return Global{Addr: staticAddr(d)}, d.Has(dwarf.AtLocation) || d.Has(dwarf.AtConstValue)
	}, re)
	at := map[addr.File]bool{}
	for _, g := range list {
		at[g.Addr] = true
	}
	o.guard(func() {
		for _, t := range o.tables() {
			for i := 1; i < t.Len() && len(list) < maxGlobals; i++ {
				if i%namesPart == 1 && ended() {
					return
				}
				s := t.Sym(i)
				if s.Type != elf.TypeObject && s.Type != elf.TypeTLS || !s.Defined || at[s.Addr] {
					continue
				}
				if name := Demangle(s.Name); re.MatchString(name) {
					at[s.Addr] = true
					list = append(list, Global{Name: name, Addr: s.Addr, Size: s.Size, From: t.from})
				}
			}
		}
	})
	return list
}

// staticAddr is the address in the location of d that is nothing else: DW_OP_addr,
// or DW_OP_addrx as clang writes it.
func staticAddr(d dwarf.DIE) addr.File {
	v, ok := d.Attr(dwarf.AtLocation)
	b := v.Block()
	switch {
	case !ok || len(b) == 0:
	case b[0] == dwop.Addr && len(b) == 9:
		return addr.File(binary.LittleEndian.Uint64(b[1:]))
	case b[0] == dwop.Addrx || b[0] == dwop.GNUAddrIndex:
		if i, n := binary.Uvarint(b[1:]); n == len(b)-1 {
			a, _ := d.Unit.AddrX(i)
			return addr.File(a)
		}
	}
	return 0
}

func (o *Object) globals(ended func() bool, read func(dwarf.DIE) (Global, bool), re *regexp.Regexp) []Global {
	var list []Global
	seen := map[Global]bool{}
	for _, u := range o.Units() {
		o.guard(func() {
			dw, _ := o.dwarf()
			w := u.Walk()
			for n := 0; w.Next() && len(list) < maxGlobals; n++ {
				if n%namesPart == 0 && ended() {
					return
				}
				d := w.DIE
				if d.Tag() == dwarf.TagSubprogram {
					w.SkipChildren()
					continue
				}
				g, ok := read(d)
				if !ok {
					continue
				}
				desc := scope.Describe(d)
				if desc.Name == "" {
					continue
				}
				if g.Name = dw.enclosures(desc.Named.Unit).Qualify(desc.Named, desc.Name); !re.MatchString(g.Name) {
					continue
				}
				if desc.DeclUnit != nil {
					g.File, g.Line = dw.file(desc.DeclUnit, desc.DeclFile), int(desc.DeclLine)
				}
				g.From = FromDWARF
				if !seen[g] {
					seen[g] = true
					list = append(list, g)
				}
			}
		})
	}
	placed := map[string]bool{}
	for i := range list {
		placed[list[i].Name] = placed[list[i].Name] || list[i].Addr != 0
	}
	list = slices.DeleteFunc(list, func(g Global) bool { return g.Addr == 0 && placed[g.Name] }) // its declaration
	slices.SortFunc(list, func(a, b Global) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Addr, b.Addr))
	})
	return list
}
