package symbols

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// Lines are the line tables of a file's DWARF: addresses to lines and back. Of a Go program
// without DWARF, its own table says where the code of a line is.
type Lines struct {
	file   *File
	dwarf  *DWARF
	golang *goTable
}

// fileIndex finds the units whose line tables name a file.
type fileIndex struct {
	units map[string][]int32 // base name -> units, one of those that share a table
	paths []string           // all paths, sorted
}

// maxPaths bounds the bytes of paths listed: names in a hostile file share one
// long directory.
const maxPaths = 512 << 20

// fileNames is built from the headers of all line tables.
func (d *debugInfo) fileNames() *fileIndex {
	d.filesOnce.Do(func() {
		x := &fileIndex{units: map[string][]int32{}}
		d.files = x
		seen := map[lineKey]bool{}
		paths, size := map[string]bool{}, 0
		for i, u := range d.units {
			root, err := u.Load()
			if err != nil || !root.HasLines || seen[lineKey{u.Data, root.StmtList}] {
				continue
			}
			seen[lineKey{u.Data, root.StmtList}] = true
			t, _ := line.ReadFiles(u, root.StmtList) // a damaged header names the files before the damage
			for k := range t.Files() {
				base := t.Base(k)
				if len(base) == 0 {
					continue
				}
				if list := x.units[string(base)]; len(list) == 0 || list[len(list)-1] != int32(i) {
					x.units[string(base)] = append(list, int32(i))
				}
				if size < maxPaths {
					p := t.File(uint32(k))
					size += len(p)
					paths[p] = true
				}
			}
		}
		for p := range paths {
			x.paths = append(x.paths, p)
		}
		slices.Sort(x.paths)
	})
	return d.files
}

// Files lists the source files that the line tables name, sorted. Paths
// are joined with the compilation directory.
func (l *Lines) Files() []string {
	var files []string
	elf.Guard(func() {
		if dw, _ := l.dwarf.read(); dw != nil {
			files = slices.Clone(dw.fileNames().paths)
		}
	})
	return files
}

// matchesFile reports whether a path of debug information is the file that a
// user names by its last components, or by its whole path.
func matchesFile(full, want string) bool {
	if full == want {
		return true
	}
	if path.IsAbs(want) {
		return false
	}
	return strings.HasSuffix(full, "/"+want)
}

// Find finds where code of a source line begins, by gdb's rules: only rows that are statements
// count; a line without code represents the next line that has some; of several places in one
// function, inlined copy or block the first is taken; a place in a prologue moves behind it. file
// is matched by its last components.
func (l *Lines) Find(file string, lineNo int) []Location {
	var found []Location
	elf.Guard(func() { found = l.find(path.Clean(file), lineNo) })
	return found
}

// linePlace is a row of a unit's line table.
type linePlace struct {
	unit int
	row  int // in Stmts
	line.Row
}

func (l *Lines) find(file string, lineNo int) []Location {
	dw, _ := l.dwarf.read()
	switch {
	case lineNo <= 0:
		return nil
	case dw == nil:
		return l.golang.findLine(file, lineNo)
	}
	return l.locate(dw, dw.statements(file, uint32(lineNo)))
}

// statements are the rows that begin statements of a line of a file, or of the next
// line that has some.
func (d *debugInfo) statements(file string, lineNo uint32) []linePlace {
	var places []linePlace
	best := uint32(0) // the lowest line not below the one asked for
	for _, unit := range d.fileNames().units[path.Base(file)] {
		t := d.lineTable(d.units[unit])
		if t == nil {
			continue
		}
		matching := make([]bool, t.Files())
		for i := range matching {
			matching[i] = matchesFile(t.File(uint32(i)), file)
		}
		for k, r := range t.Stmts() {
			if !r.Is(line.Stmt) || r.Is(line.EndSequence) || r.Line < lineNo || int(r.File) >= len(matching) || !matching[r.File] {
				continue
			}
			if best == 0 || r.Line < best {
				best, places = r.Line, places[:0]
			}
			if r.Line == best {
				places = append(places, linePlace{int(unit), k, r})
			}
		}
	}
	return places
}

// Rows are the rows of the line tables that begin statements of a source line, in the order of
// their addresses: all code of the line, prologues included. A line without code represents the
// next that has some. file is matched by its last components.
func (l *Lines) Rows(file string, lineNo int) []LineEntry {
	var rows []LineEntry
	elf.Guard(func() {
		switch dw, _ := l.dwarf.read(); {
		case lineNo <= 0:
		case dw != nil:
			rows = dw.lineRows(dw.statements(path.Clean(file), uint32(lineNo)))
		default:
			rows = l.golang.lineRows(path.Clean(file), lineNo)
		}
	})
	slices.SortFunc(rows, func(a, b LineEntry) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.End, a.End)) })
	return slices.CompactFunc(rows, func(a, b LineEntry) bool { return a.Addr == b.Addr })
}

// lineRows joins the rows that continue with the same line.
func (d *debugInfo) lineRows(places []linePlace) []LineEntry {
	var rows []LineEntry
	unit, next := -1, 0 // the first row of the unit that is not part of the last entry
	for _, p := range places {
		if p.unit == unit && p.row < next {
			continue
		}
		t := d.lineTable(d.units[p.unit])
		stmts, end := t.Stmts(), t.StmtEnd(p.row)
		unit, next = p.unit, p.row+1
		for ; next < len(stmts) && stmts[next].Addr == end && stmts[next].Line == p.Line && stmts[next].File == p.File && !stmts[next].Is(line.EndSequence); next++ {
			end = t.StmtEnd(next)
		}
		if end > p.Addr {
			rows = append(rows, LineEntry{Addr: addr.File(p.Addr), End: addr.File(end), File: t.File(p.File), Line: int(p.Line), Column: int(p.Col), Stmt: true})
		}
	}
	return rows
}

// locate turns rows of one line into locations, one for each block of code.
func (l *Lines) locate(dw *debugInfo, places []linePlace) []Location {
	type block struct {
		unit int
		node int32
	}
	seen := map[block]bool{}
	at := map[addr.File]bool{}
	var found []Location
	for _, p := range places {
		unit := dw.unitAt(p.Addr) // tables are shared: the unit with the code knows its functions
		if unit < 0 {
			unit = p.unit
		}
		tree := dw.tree(unit)
		node := tree.At(p.Addr)
		if node >= 0 && seen[block{unit, node}] {
			continue
		}
		seen[block{unit, node}] = true
		loc := l.location(dw, unit, p.Row)
		if !at[loc.Addr] {
			at[loc.Addr] = true
			found = append(found, loc)
		}
	}
	slices.SortFunc(found, func(a, b Location) int { return cmp.Compare(a.Addr, b.Addr) })
	return found
}

// location describes the place where a row begins, moved behind the prologue it may be in. Several
// rows can begin at one address: the location keeps the line of its own.
func (l *Lines) location(dw *debugInfo, unit int, row line.Row) Location {
	tree := dw.tree(unit)
	lines := dw.lineTable(tree.Unit)
	a := row.Addr
	if outer := outermost(tree, a); outer >= 0 {
		n := &tree.Nodes[outer]
		if r := tree.Range(n, n.Entry); r.Low <= a && a < r.High {
			b := body{file: l.file.elf, low: r.Low, high: r.High, unit: tree.Unit, lines: lines}
			a = max(a, b.breakpoint())
		}
	}
	loc := Location{Addr: addr.File(a)}
	if lines != nil {
		if k, ok := lines.StmtAt(a); ok && a != row.Addr {
			row = lines.Stmts()[k]
		}
		loc.File, loc.Line = lines.File(row.File), int(row.Line)
	}
	if i := tree.FunctionOf(tree.At(a)); i >= 0 {
		loc.Function = dw.nodeName(unit, i).function
		loc.Inlined = tree.Nodes[i].Kind == scope.Inlined
	}
	return loc
}

// outermost is the node of the function, not inlined, around a; -1 without.
func outermost(tree *scope.Tree, a uint64) int32 {
	i := tree.FunctionOf(tree.At(a))
	for i >= 0 && tree.Nodes[i].Kind == scope.Inlined {
		i = tree.FunctionOf(tree.Nodes[i].Parent)
	}
	return i
}

// Entries lists the rows of the line tables that begin in [low, high), in the
// order of their addresses.
func (l *Lines) Entries(low, high addr.File) []LineEntry {
	var list []LineEntry
	elf.Guard(func() {
		dw, _ := l.dwarf.read()
		if dw == nil {
			return
		}
		unit := dw.unitAt(uint64(low))
		if unit < 0 {
			return
		}
		t := dw.lineTable(dw.units[unit])
		if t == nil {
			return
		}
		for i := t.From(uint64(low)); i < len(t.Rows) && t.Rows[i].Addr < uint64(high); i++ {
			r := &t.Rows[i]
			if r.Is(line.EndSequence) {
				continue
			}
			list = append(list, LineEntry{
				Addr: addr.File(r.Addr), End: addr.File(t.End(i)), File: t.File(r.File),
				Line: int(r.Line), Column: int(r.Col), Stmt: r.Is(line.Stmt),
			})
		}
	})
	return list
}

// Block describes the line at a for stepping. False when the line is not known.
func (l *Lines) Block(a addr.File) (b LineBlock, ok bool) {
	elf.Guard(func() { b, ok = l.block(uint64(a)) })
	return b, ok
}

func (l *Lines) block(a uint64) (LineBlock, bool) {
	dw, _ := l.dwarf.read()
	if dw == nil {
		return LineBlock{}, false
	}
	unit := dw.unitAt(a)
	if unit < 0 {
		return LineBlock{}, false
	}
	t := dw.lineTable(dw.units[unit])
	if t == nil {
		return LineBlock{}, false
	}
	k, ok := t.StmtAt(a)
	if !ok {
		return LineBlock{}, false
	}
	here := t.Stmts()[k]
	return LineBlock{
		File: t.File(here.File), Line: int(here.Line), Stmt: here.Is(line.Stmt), Start: here.Addr == a,
		Entry: Range{addr.File(here.Addr), addr.File(t.StmtEnd(k))},
	}, true
}

// OwnBlock is Block with a line of the innermost function at a. Where the compiler has left
// out the range of a call that it inlined and kept its line, the statement at a is one of
// another function: stray tells that no row says which line of its own the code belongs
// to. It is not said of a line that can be the function's, like one of a file included into
// its body.
func (l *Lines) OwnBlock(a addr.File) (b LineBlock, stray, ok bool) {
	elf.Guard(func() { b, stray, ok = l.ownBlock(uint64(a)) })
	return b, stray, ok
}

func (l *Lines) ownBlock(a uint64) (b LineBlock, stray, ok bool) {
	if b, ok = l.block(a); !ok {
		return b, false, false
	}
	dw, _ := l.dwarf.read()
	unit := dw.unitAt(a)
	tree := dw.tree(unit)
	node := tree.FunctionOf(tree.At(a))
	if node < 0 || !dw.isStray(unit, node, b.File, b.Line) {
		return b, false, true
	}
	t := dw.lineTable(dw.units[unit])
	i, found := t.At(a)
	if !found || t.Rows[i].Line == 0 || dw.isStray(unit, node, t.File(t.Rows[i].File), int(t.Rows[i].Line)) {
		return b, true, true
	}
	row := t.Rows[i]
	own := LineBlock{File: t.File(row.File), Line: int(row.Line), Start: row.Addr == a, Entry: Range{addr.File(row.Addr), addr.File(t.End(i))}}
	for ; i >= 0 && t.Rows[i].Addr == row.Addr && !t.Rows[i].Is(line.EndSequence); i-- {
		own.Stmt = own.Stmt || t.Rows[i].Is(line.Stmt) && t.Rows[i].File == row.File && t.Rows[i].Line == row.Line
	}
	return own, false, true
}

// isStray tells that a line belongs to a function inlined near the code of a node rather than of
// the node's own function.
func (dw *debugInfo) isStray(unit int, node int32, in string, lineNo int) bool {
	tree := dw.tree(unit)
	own := dw.nodeName(unit, node)
	file := dw.file(own.DeclUnit, own.DeclFile)
	if file == "" || file == in && lineNo >= int(own.DeclLine) {
		return false
	}
	outer := node
	for tree.Nodes[outer].Kind == scope.Inlined && tree.Nodes[outer].Parent >= 0 {
		outer = tree.FunctionOf(tree.Nodes[outer].Parent)
	}
	// The nodes inside of one follow it.
	for i := outer + 1; int(i) < len(tree.Nodes) && tree.Nodes[i].Parent >= outer; i++ {
		if tree.Nodes[i].Kind != scope.Inlined {
			continue
		}
		other := dw.nodeName(unit, i)
		if other == own || int(other.DeclLine) > lineNo || dw.file(other.DeclUnit, other.DeclFile) != in {
			continue
		}
		// A constructor initializes members where the class says so: that may be above it, or in a header.
		if !own.isConstructor() || dw.hasLine(unit, i, lineNo) {
			return true
		}
	}
	return false
}

// isConstructor tells a constructor of C++ by its name.
func (n *named) isConstructor() bool {
	name, _, _ := strings.Cut(n.function, "(")
	class, method, ok := cutLast(name, "::")
	if !ok {
		return false
	}
	if _, last, ok := cutLast(class, "::"); ok {
		class = last
	}
	class, _, _ = strings.Cut(class, "<")
	return class == method
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// hasLine reports whether code of the inlined copy i itself has the line.
func (d *debugInfo) hasLine(unit int, i int32, lineNo int) bool {
	tree, t := d.tree(unit), d.lineTable(d.units[unit])
	rows := t.Stmts()
	for _, r := range tree.Ranges(&tree.Nodes[i]) {
		k, ok := t.StmtAt(r.Low)
		for ; ok && k < len(rows) && rows[k].Addr < r.High && !rows[k].Is(line.EndSequence); k++ {
			if int(rows[k].Line) == lineNo && tree.FunctionOf(tree.At(rows[k].Addr)) == i {
				return true
			}
		}
	}
	return false
}
