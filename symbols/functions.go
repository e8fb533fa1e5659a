package symbols

import (
	"cmp"
	"path"
	"regexp"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// FindFunctions finds the places where functions of that name are entered, in the order of their
// addresses. The name may be a name in C, a linkage name, or one of C++, Rust or Go: qualified
// fully, in part or not at all, with or without template arguments and parameters. Inlined copies
// are places, too. file.c:name finds those that the file defines.
func (o *Object) FindFunctions(name string) []Function {
	if file, function, ok := cutFile(name); ok {
		return slices.DeleteFunc(o.FindFunctions(function), func(f Function) bool {
			return !matchesFile(f.DeclFile, path.Clean(file))
		})
	}
	found := newFinder(o)
	elf.Guard(func() {
		p, ok := parsePattern(name)
		if !ok {
			return
		}
		found.dwarf(p)
		for _, fn := range o.golang.named(func(have string) bool { return matchesGo(p.whole, have) }) {
			found.add(fn)
		}
		found.symbols(name, p)
	})
	return found.sorted()
}

// MatchFunctions lists the functions whose Function.Name matches re: those with code of their own,
// in the order of their addresses. It goes through all names, or as far as it comes until ended
// says so.
func (o *Object) MatchFunctions(re *regexp.Regexp, ended func() bool) []Function {
	found := newFinder(o)
	elf.Guard(func() {
		if dw, _ := o.DWARF.read(); dw != nil {
			for i, e := range dw.nameIndex().Entries {
				if i%namesPart == 0 && ended() {
					return
				}
				if !e.Abstract && re.MatchString(dw.describe(dw.bodies()[e.Unit], e.Off).function) {
					found.entry(dw, e)
				}
			}
		}
		for _, fn := range o.golang.named(re.MatchString) {
			found.add(fn)
		}
		for _, t := range o.Symtab.tables() {
			for i := 1; i < t.Len(); i++ {
				if i%namesPart == 1 && ended() {
					return
				}
				if s := t.Sym(i); s.IsCode() && s.Type != elf.TypeNone && re.MatchString(Demangle(s.Name)) {
					found.symbol(s, t.from)
				}
			}
		}
	})
	return found.sorted()
}

// FunctionNames are the names of functions, in the form of Function.Name, that match: also of those
// that have no code but where they were inlined. Each may be there several times. It goes through
// all names, or as far as it comes until ended says so.
func (o *Object) FunctionNames(match func(name string) bool, ended func() bool) []string {
	var all []string
	add := func(name string) {
		if match(name) {
			all = append(all, name)
		}
	}
	elf.Guard(func() {
		if dw, _ := o.DWARF.read(); dw != nil {
			for i, e := range dw.nameIndex().Entries {
				if i%namesPart == 0 && ended() {
					return
				}
				add(dw.describe(dw.bodies()[e.Unit], e.Off).function)
			}
		}
		for _, fn := range o.golang.named(match) {
			all = append(all, fn.Name)
		}
		for _, t := range o.Symtab.tables() {
			for i := 1; i < t.Len(); i++ {
				if i%namesPart == 1 && ended() {
					return
				}
				if s := t.Sym(i); s.IsCode() && s.Type != elf.TypeNone {
					add(Demangle(s.Name))
				}
			}
		}
	})
	return all
}

// namesPart is how many names are looked at between two questions whether to continue: some
// milliseconds' work.
const namesPart = 256

// FunctionAt is the function, not an inlined copy, that contains a.
func (o *Object) FunctionAt(a addr.File) (fn Function, ok bool) {
	elf.Guard(func() { fn, ok = o.functionAt(a) })
	return fn, ok
}

func (o *Object) functionAt(a addr.File) (Function, bool) {
	if dw, _ := o.DWARF.read(); dw != nil {
		if unit := dw.unitAt(uint64(a)); unit >= 0 {
			if i := outermost(dw.tree(unit), uint64(a)); i >= 0 {
				return o.fromNode(dw, unit, i), true
			}
		}
	}
	if fn, ok := o.golang.function(a); ok {
		return fn, true
	}
	s, from, ok := o.Symtab.symbolAt(a)
	if !ok || !s.IsCode() {
		return Function{}, false
	}
	return o.fromSymbol(s, from), true
}

// FunctionParts lists the ranges of the code of the function that contains a, with the
// copies inlined into it. The compiler may have moved what seldom runs away from the rest.
func (o *Object) FunctionParts(a addr.File) (parts []Range) {
	elf.Guard(func() {
		if dw, _ := o.DWARF.read(); dw != nil {
			if unit := dw.unitAt(uint64(a)); unit >= 0 {
				tree := dw.tree(unit)
				if i := outermost(tree, uint64(a)); i >= 0 {
					for _, r := range tree.Ranges(&tree.Nodes[i]) {
						parts = append(parts, Range{addr.File(r.Low), addr.File(r.High)})
					}
					return
				}
			}
		}
		if fn, ok := o.functionAt(a); ok && fn.High > fn.Low {
			parts = []Range{{fn.Low, fn.High}}
		}
	})
	return parts
}

// function is what DWARF says of node i of the tree of a unit. Its place is where it is declared.
func (d *debugInfo) function(unit int, i int32) Function {
	tree := d.tree(unit)
	n := &tree.Nodes[i]
	name := d.nodeName(unit, i)
	r := tree.Range(n, n.Entry)
	fn := Function{
		Name: name.function, Low: addr.File(r.Low), High: addr.File(r.High), Source: FromDWARF, Language: languageOf(name, tree.Unit),
		Inlined: n.Kind == scope.Inlined, Breakpoint: addr.File(n.Entry),
		DeclFile: d.file(name.DeclUnit, name.DeclFile), DeclLine: int(name.DeclLine),
	}
	if name.Linkage != name.function {
		fn.Linkage = name.Linkage
	}
	fn.File, fn.Line = fn.DeclFile, fn.DeclLine
	return fn
}

// fromNode describes node i of the tree of a unit.
func (o *Object) fromNode(dw *debugInfo, unit int, i int32) Function {
	fn := dw.function(unit, i)
	if fn.Name == "" {
		if s, _, ok := o.Symtab.symbolAt(fn.Low); ok {
			fn.Name = Demangle(s.Name)
		}
	}
	in := dw.tree(unit).Unit
	lines := dw.lineTable(in)
	if !fn.Inlined {
		b := body{file: o.File.elf, low: uint64(fn.Low), high: uint64(fn.High), unit: in, lines: lines}
		fn.Breakpoint = addr.File(b.breakpoint())
	}
	if lines != nil {
		if k, ok := lines.StmtAt(uint64(fn.Breakpoint)); ok {
			row := lines.Stmts()[k]
			fn.File, fn.Line = lines.File(row.File), int(row.Line)
		}
	}
	return fn
}

// fromSymbol describes a function that only a symbol table knows.
func (o *Object) fromSymbol(s Sym, from Provenance) Function {
	fn := Function{
		Name: Demangle(s.Name), Linkage: linkageOf(s.Name), Low: s.Addr, High: s.Addr + addr.File(s.Size),
		Source: from, IFunc: s.IFunc, Breakpoint: s.Addr,
	}
	if !s.IFunc {
		b := body{file: o.File.elf, low: uint64(s.Addr), high: uint64(s.Addr) + max(s.Size, 1)}
		fn.Breakpoint = addr.File(b.breakpoint())
	}
	return fn
}

// place tells functions apart: an inlined copy can begin where another, or the
// function around it, begins.
type place struct {
	low     addr.File
	inlined bool
}

// functions are those found, without repeated places.
type functions struct {
	at   map[place]bool
	list []Function
}

func (f *functions) add(fn Function) {
	p := place{fn.Low, fn.Inlined}
	if !f.at[p] {
		f.at[p] = true
		f.list = append(f.list, fn)
	}
}

func (f *functions) sorted() []Function {
	slices.SortStableFunc(f.list, func(a, b Function) int { return cmp.Compare(a.Low, b.Low) })
	return f.list
}

// finder collects the functions of an object.
type finder struct {
	functions
	o *Object
}

func newFinder(o *Object) finder { return finder{functions{at: map[place]bool{}}, o} }

// dwarf adds the functions of the name index that p matches.
func (f *finder) dwarf(p pattern) {
	if dw, _ := f.o.DWARF.read(); dw != nil {
		dw.named(p, func(unit int, node int32) { f.add(f.o.fromNode(dw, unit, node)) })
	}
}

// entry adds the function of an index entry that has code.
func (f *finder) entry(dw *debugInfo, e scope.Entry) {
	dw.entry(e, func(unit int, node int32) { f.add(f.o.fromNode(dw, unit, node)) })
}

// A nodeFunc is called with a node of the tree of a unit.
type nodeFunc func(unit int, node int32)

// named finds what the functions of the name index that p matches have in the trees:
// their code, and the copies that were inlined.
func (d *debugInfo) named(p pattern, found nodeFunc) {
	index := d.nameIndex()
	for _, key := range p.keys() {
		for _, e := range index.Named(key) {
			if !p.matches(d.describe(d.bodies()[e.Unit], e.Off)) {
				continue
			}
			if !e.Abstract {
				d.entry(e, found)
				continue
			}
			d.copies(int(e.Unit), e, found)
			for _, user := range index.Users(e.Unit) {
				d.copies(int(user), e, found)
			}
		}
	}
}

// entry finds the function of an index entry that has code.
func (d *debugInfo) entry(e scope.Entry, found nodeFunc) {
	nodes := d.tree(int(e.Unit)).Nodes
	if i, ok := slices.BinarySearchFunc(nodes, e.Off, func(n scope.Node, off uint64) int { return cmp.Compare(n.Off, off) }); ok {
		found(int(e.Unit), int32(i))
	}
}

// copies finds the inlined copies of an abstract function in a unit.
func (d *debugInfo) copies(unit int, e scope.Entry, found nodeFunc) {
	tree := d.tree(unit)
	owner := d.bodies()[e.Unit].Data
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if n.Kind != scope.Inlined {
			continue
		}
		data, off, ok := scope.Origin(tree.Unit.DIE(n.Off))
		if ok && data == owner && off == e.Off && !d.insideItself(unit, int32(i)) {
			found(unit, int32(i))
		}
	}
}

// insideItself reports whether a copy lies directly in the function that it is of.
// gcc splits functions so (-fpartial-inlining): the call has been counted at the
// entry of the function.
func (d *debugInfo) insideItself(unit int, i int32) bool {
	tree := d.tree(unit)
	outer := tree.FunctionOf(tree.Nodes[i].Parent)
	if outer < 0 {
		return false
	}
	a, b := d.nodeName(unit, i).Named, d.nodeName(unit, outer).Named
	return a.Valid() && a.Unit == b.Unit && a.Off == b.Off
}

// symbols adds functions that the symbol tables name so: by linkage name, and by
// the demangled name of those that DWARF does not describe.
func (f *finder) symbols(name string, p pattern) {
	for _, t := range f.o.Symtab.tables() {
		for _, s := range t.Named(name) {
			f.symbol(s, t.from)
		}
		keys := p.keys()
		for i := 1; i < t.Len(); i++ {
			raw := t.NameBytes(i)
			if !maybeMangled(raw, keys) {
				continue
			}
			if s := t.Sym(i); s.IsCode() && p.matchesLinkage(s.Name) {
				f.symbol(s, t.from)
			}
		}
	}
}

// symbol adds the function at a symbol, as DWARF describes it if it does.
func (f *finder) symbol(s Sym, from Provenance) {
	if !s.IsCode() || f.at[place{s.Addr, false}] {
		return
	}
	fn, ok := f.o.functionAt(s.Addr)
	if !ok || fn.Low != s.Addr || fn.Source != FromDWARF {
		fn = f.o.fromSymbol(s, from)
	}
	fn.IFunc = s.IFunc
	f.add(fn)
}

// CalledBy reports whether a call that was inlined is of the function.
func (fn *Function) CalledBy(call dwarf.DIE) bool {
	d := scope.Describe(call)
	if d.Linkage != "" && fn.Linkage != "" {
		return d.Linkage == fn.Linkage // of overloads and namespaces one alone
	}
	return d.Name == fn.Name
}
