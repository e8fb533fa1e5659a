package symbols

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
)

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

// SourceFiles lists the source files that the line tables name, sorted. Paths
// are joined with the compilation directory.
func (o *Object) SourceFiles() []string {
	var files []string
	o.guard(func() {
		if dw, _ := o.dwarf(); dw != nil {
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

// FindLine finds where code of a source line begins, by gdb's rules: only rows
// that are statements count; a line without code stands for the next line that
// has some; of several places in one function, inlined copy or block the first
// is taken; a place in a prologue moves behind it. file is matched by its last
// components.
func (o *Object) FindLine(file string, lineNo int) []Location {
	var found []Location
	o.guard(func() { found = o.findLine(path.Clean(file), lineNo) })
	return found
}

// linePlace is a row of a unit's line table.
type linePlace struct {
	unit int
	row  line.Row
}

func (o *Object) findLine(file string, lineNo int) []Location {
	dw, _ := o.dwarf()
	if dw == nil || lineNo <= 0 {
		return nil
	}
	var places []linePlace
	best := uint32(0) // the lowest line not below the one asked for
	for _, unit := range dw.fileNames().units[path.Base(file)] {
		t := dw.lineTable(dw.units[unit])
		if t == nil {
			continue
		}
		matching := make([]bool, t.Files())
		for i := range matching {
			matching[i] = matchesFile(t.File(uint32(i)), file)
		}
		for _, r := range t.Stmts() {
			if !r.Is(line.Stmt) || r.Is(line.EndSequence) || r.Line < uint32(lineNo) || int(r.File) >= len(matching) || !matching[r.File] {
				continue
			}
			if best == 0 || r.Line < best {
				best, places = r.Line, places[:0]
			}
			if r.Line == best {
				places = append(places, linePlace{int(unit), r})
			}
		}
	}
	return o.locate(dw, places)
}

// locate turns rows of one line into locations, one for each block of code.
func (o *Object) locate(dw *debugInfo, places []linePlace) []Location {
	type block struct {
		unit int
		node int32
	}
	seen := map[block]bool{}
	at := map[addr.File]bool{}
	var found []Location
	for _, p := range places {
		unit := dw.unitAt(p.row.Addr) // tables are shared: the unit with the code knows its functions
		if unit < 0 {
			unit = p.unit
		}
		tree := dw.tree(unit)
		node := tree.At(p.row.Addr)
		if node >= 0 && seen[block{unit, node}] {
			continue
		}
		seen[block{unit, node}] = true
		loc := o.location(dw, unit, p.row)
		if !at[loc.Addr] {
			at[loc.Addr] = true
			found = append(found, loc)
		}
	}
	slices.SortFunc(found, func(a, b Location) int { return cmp.Compare(a.Addr, b.Addr) })
	return found
}

// location describes the place where a row begins, moved behind the prologue it
// may lie in. Several rows can begin at one address: the location keeps the line
// of its own.
func (o *Object) location(dw *debugInfo, unit int, row line.Row) Location {
	tree := dw.tree(unit)
	lines := dw.lineTable(tree.Unit)
	a := row.Addr
	if outer := outermost(tree, a); outer >= 0 {
		n := &tree.Nodes[outer]
		if r := tree.Range(n, n.Entry); r.Low <= a && a < r.High {
			b := body{o: o, low: r.Low, high: r.High, unit: tree.Unit, lines: lines}
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

// LineEntries lists the rows of the line tables that begin in [low, high), in the
// order of their addresses.
func (o *Object) LineEntries(low, high addr.File) []LineEntry {
	var list []LineEntry
	o.guard(func() {
		dw, _ := o.dwarf()
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

// LineBlock describes the line at a for stepping. False when the line is not known.
func (o *Object) LineBlock(a addr.File) (b LineBlock, ok bool) {
	o.guard(func() { b, ok = o.lineBlock(uint64(a)) })
	return b, ok
}

func (o *Object) lineBlock(a uint64) (LineBlock, bool) {
	dw, _ := o.dwarf()
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
	rows := t.Stmts()
	here := rows[k]
	b := LineBlock{
		File: t.File(here.File), Line: int(here.Line), Stmt: here.Is(line.Stmt) && here.Addr == a,
		Entry: Range{addr.File(here.Addr), addr.File(t.StmtEnd(k))},
	}
	tree := dw.tree(unit)
	node := tree.FunctionOf(tree.At(a))
	if node < 0 {
		b.Ranges = []Range{b.Entry}
		return b, true
	}
	for _, r := range tree.Ranges(&tree.Nodes[node]) {
		b.addRanges(t, tree, node, r.Low, r.High, here)
	}
	if len(b.Ranges) == 0 {
		b.Ranges = []Range{b.Entry}
	}
	return b, true
}

// addRanges adds the rows of the line in [low, high) that belong to the node itself
// and not to a copy inlined into it.
func (b *LineBlock) addRanges(t *line.Table, tree *scope.Tree, node int32, low, high uint64, here line.Row) {
	rows := t.Stmts()
	k, ok := t.StmtAt(low)
	if !ok {
		return
	}
	for ; k < len(rows) && rows[k].Addr < high && !rows[k].Is(line.EndSequence); k++ {
		r := rows[k]
		from, to := max(r.Addr, low), min(t.StmtEnd(k), high)
		if r.Line != here.Line || r.File != here.File || from >= to || tree.FunctionOf(tree.At(from)) != node {
			continue
		}
		if n := len(b.Ranges); n > 0 && b.Ranges[n-1].High >= addr.File(from) {
			b.Ranges[n-1].High = max(b.Ranges[n-1].High, addr.File(to))
			continue
		}
		b.Ranges = append(b.Ranges, Range{addr.File(from), addr.File(to)})
	}
}
