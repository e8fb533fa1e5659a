package symbols

import (
	"cmp"
	"path"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
	"hdb/symbols/macho"
)

// machoPart is DWARF of a program, and where the program has the code that the DWARF
// has at an address: an object file counts from its own.
type machoPart struct {
	dw *debugInfo
	to func(uint64) (addr.File, bool)
}

// linkedAt is a function of an object file, [low, high), in the program it was linked to.
type linkedAt struct{ low, high, to uint64 }

// parts are all DWARF there is. With a debug map that opens all object files.
func (m *MachO) parts() []machoPart {
	m.dwOnce.Do(func() { m.dw = m.readDWARF() })
	if m.dw != nil {
		return []machoPart{{m.dw, func(a uint64) (addr.File, bool) { return addr.File(a), true }}}
	}
	var list []machoPart
	m.mapOnce.Do(m.readMap)
	for _, o := range m.objects {
		o.once.Do(func() { m.openObject(o) })
	}
	spans := make([][]linkedAt, len(m.objects))
	for _, fn := range m.functions {
		if at, ok := m.objects[fn.Object].at[fn.Name]; ok {
			spans[fn.Object] = append(spans[fn.Object], linkedAt{at, at + fn.Size, fn.Addr})
		}
	}
	for i, o := range m.objects {
		if o.dw == nil {
			continue
		}
		slices.SortFunc(spans[i], func(a, b linkedAt) int { return cmp.Compare(a.low, b.low) })
		list = append(list, machoPart{o.dw, func(a uint64) (addr.File, bool) {
			k, _ := slices.BinarySearchFunc(spans[i], a, func(p linkedAt, a uint64) int { return cmp.Compare(p.high, a+1) })
			if k == len(spans[i]) || a < spans[i][k].low {
				return 0, false // the linker dropped it
			}
			return addr.File(a - spans[i][k].low + spans[i][k].to), true
		}})
	}
	return list
}

// FindFunctions is Object.FindFunctions. No thread stops there: Breakpoint is the entry.
func (m *MachO) FindFunctions(name string) []Function {
	if file, function, ok := cutFile(name); ok {
		return slices.DeleteFunc(m.FindFunctions(function), func(f Function) bool { return !matchesFile(f.DeclFile, path.Clean(file)) })
	}
	found := functions{at: map[place]bool{}}
	elf.Guard(func() {
		p, ok := parsePattern(name)
		if !ok {
			return
		}
		for _, part := range m.parts() {
			part.dw.named(p, func(unit int, node int32) {
				if fn, ok := part.function(unit, node); ok {
					found.add(fn)
				}
			})
		}
		for _, f := range []*macho.File{m.file, m.dsym} {
			found.machoSymbols(f, name, p)
		}
		for _, fn := range m.golang.named(func(have string) bool { return matchesGo(p.whole, have) }) {
			found.add(fn)
		}
	})
	return found.sorted()
}

// function describes a node of the tree of a unit, where the linker kept it.
func (p machoPart) function(unit int, node int32) (Function, bool) {
	fn := p.dw.function(unit, node)
	low, ok := p.to(uint64(fn.Low))
	if !ok || !p.dw.isCode(uint64(fn.Low)) {
		return Function{}, false
	}
	if file, row := p.dw.rowAt(unit, uint64(fn.Low)); row.Line != 0 {
		fn.File, fn.Line = file, int(row.Line)
	}
	fn.Low, fn.High, fn.Breakpoint = low, low+fn.High-fn.Low, low
	return fn, true
}

// machoSymbols adds functions that only a symbol table has.
func (f *functions) machoSymbols(file *macho.File, name string, p pattern) {
	if file == nil {
		return
	}
	keys := p.keys()
	for _, s := range file.Symbols() {
		if s.Name == "" || s.Section < 0 || !file.Sections[s.Section].Code() {
			continue
		}
		if s.Name != name && !(maybeMangled([]byte(s.Name), keys) && p.matchesLinkage(s.Name)) {
			continue
		}
		from := FromSymtab
		if s.Exported {
			from = FromDynsym
		}
		at := addr.File(s.Addr)
		f.add(Function{Name: Demangle(s.Name), Linkage: linkageOf(s.Name), Low: at, High: addr.File(s.End), Breakpoint: at, Source: from})
	}
}

// machoRow is a row of a line table.
type machoRow struct {
	part machoPart
	unit int
	row  line.Row
}

// FindLine is Object.FindLine. No thread stops there: prologues are not skipped.
func (m *MachO) FindLine(file string, lineNo int) (found []Location) {
	elf.Guard(func() {
		for _, r := range m.findRows(path.Clean(file), uint32(max(lineNo, 0))) {
			if loc, ok := r.location(); ok && !slices.ContainsFunc(found, func(l Location) bool { return l.Addr == loc.Addr }) {
				found = append(found, loc)
			}
		}
	})
	slices.SortFunc(found, func(a, b Location) int { return cmp.Compare(a.Addr, b.Addr) })
	return found
}

// findRows are the first rows, in each block of code, of the line or the next that has code.
func (m *MachO) findRows(file string, lineNo uint32) []machoRow {
	type block struct {
		dw   *debugInfo
		unit int
		node int32
	}
	var rows []machoRow
	seen := map[block]bool{}
	best := uint32(0)
	for _, part := range m.parts() {
		dw := part.dw
		for _, unit := range dw.fileNames().units[path.Base(file)] {
			t := dw.lineTable(dw.units[unit])
			if t == nil || lineNo == 0 {
				continue
			}
			matching := make([]bool, t.Files())
			for i := range matching {
				matching[i] = matchesFile(t.File(uint32(i)), file)
			}
			for _, r := range t.Stmts() {
				if !r.Is(line.Stmt) || r.Is(line.EndSequence) || r.Line < lineNo || best != 0 && r.Line > best || int(r.File) >= len(matching) || !matching[r.File] {
					continue
				}
				if _, ok := part.to(r.Addr); !ok {
					continue
				}
				if r.Line != best {
					best, rows = r.Line, rows[:0]
					clear(seen)
				}
				own := dw.unitAt(r.Addr) // tables are shared
				if own < 0 {
					own = int(unit)
				}
				node := dw.tree(own).At(r.Addr)
				if node >= 0 && seen[block{dw, own, node}] {
					continue
				}
				seen[block{dw, own, node}] = true
				rows = append(rows, machoRow{part, own, r})
			}
		}
	}
	return rows
}

func (r machoRow) location() (Location, bool) {
	dw := r.part.dw
	at, ok := r.part.to(r.row.Addr)
	loc := Location{Addr: at}
	if t := dw.lineTable(dw.units[r.unit]); t != nil {
		loc.File, loc.Line = t.File(r.row.File), int(r.row.Line)
	}
	tree := dw.tree(r.unit)
	if i := tree.FunctionOf(tree.At(r.row.Addr)); i >= 0 {
		loc.Function, loc.Inlined = dw.nodeName(r.unit, i).function, tree.Nodes[i].Kind == scope.Inlined
	}
	return loc, ok
}
