package symbols

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
	"hdb/unwind/dwop"
)

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
func (d *DWARF) MatchTypes(re *regexp.Regexp, ended func() bool) []Global {
	return d.globals(ended, func(e dwarf.DIE) (Global, bool) {
		kind := typeKinds[e.Tag()]
		if kind == "" || e.Has(dwarf.AtDeclaration) {
			return Global{}, false
		}
		g := Global{Kind: kind}
		if v, ok := e.Attr(dwarf.AtByteSize); ok {
			g.Size = v.Uint()
		}
		return g, true
	}, re)
}

// MatchVariables lists the variables outside of functions whose name matches re:
// those of DWARF, then those that only the symbol tables know. It ends as MatchTypes does.
func (o *Object) MatchVariables(re *regexp.Regexp, ended func() bool) []Global {
	list := o.DWARF.globals(ended, func(d dwarf.DIE) (Global, bool) {
		if d.Tag() != dwarf.TagVariable || d.Has(dwarf.AtDeclaration) {
			return Global{}, false
		}
		return Global{Addr: staticAddr(d)}, d.Has(dwarf.AtLocation) || d.Has(dwarf.AtConstValue)
	}, re)
	at := map[addr.File]bool{}
	for _, g := range list {
		at[g.Addr] = true
	}
	elf.Guard(func() {
		for _, t := range o.Symtab.tables() {
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

// Declares reports whether a variable, a parameter or a member of a type has that name, anywhere.
// It is true also if ended says so before that is known.
func (d *DWARF) Declares(name string, ended func() bool) (found bool) {
	for _, u := range d.Units() {
		elf.Guard(func() {
			w := u.Walk()
			for n := 0; w.Next() && !found; n++ {
				switch w.DIE.Tag() {
				case dwarf.TagVariable, dwarf.TagFormalParameter, dwarf.TagMember:
					v, ok := w.DIE.Attr(dwarf.AtName)
					found = ok && string(v.Str()) == name
				}
				found = found || n%namesPart == 0 && ended()
			}
		})
		if found {
			break
		}
	}
	return found
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

func (d *DWARF) globals(ended func() bool, describe func(dwarf.DIE) (Global, bool), re *regexp.Regexp) []Global {
	var list []Global
	seen := map[Global]bool{}
	for _, u := range d.Units() {
		elf.Guard(func() {
			dw, _ := d.read()
			w := u.Walk()
			for n := 0; w.Next() && len(list) < maxGlobals; n++ {
				if n%namesPart == 0 && ended() {
					return
				}
				e := w.DIE
				if e.Tag() == dwarf.TagSubprogram {
					w.SkipChildren()
					continue
				}
				g, ok := describe(e)
				if !ok {
					continue
				}
				desc := scope.Describe(e)
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
