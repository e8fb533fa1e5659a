package names

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/python/cython"
	"hdb/symbols"
)

// functions are the places of functions of the source by name: module.class.function.
func (y *Cython) functions(m Image, name string) []Place {
	if !strings.Contains("."+name, "."+moduleOf(m)+".") {
		return nil // without reading the file's debug information
	}
	return y.named(m, name)
}

// named is functions by the last words of their names, too.
func (y *Cython) named(m Image, name string) []Place {
	return y.places(m, func(f *cythonFile) []Place {
		return f.begin(m, func(_, qualified string) bool {
			qualified = strings.TrimSuffix(qualified, "?")
			return qualified == name || strings.HasSuffix(qualified, "."+name)
		})
	})
}

// Functions are the functions of Cython's sources with that name, or whose names end with
// these words.
func (y *Cython) Functions(name string) (all []Place) {
	for _, m := range y.r.Images() {
		all = append(all, y.named(m, name)...)
	}
	return UniquePlaces(all)
}

// moduleOf is the last word of the name of the module of an extension.
func moduleOf(m Image) string {
	name, _, _ := strings.Cut(filepath.Base(m.Path), ".")
	return name
}

// lines are the places of a line of the source. Of a def's line that is where the function
// does its first statement: what runs at the line itself makes the function.
func (y *Cython) lines(m Image, file string, line int) []Place {
	return y.places(m, func(f *cythonFile) []Place {
		at := f.begin(m, func(c, _ string) bool { return !isToplevel(c) && f.defLine(c) == line && f.isIn(c, file) })
		if len(at) > 0 {
			return at
		}
		return f.pieces(m, file, line)
	})
}

// isIn reports whether a function of C is of the file of the source.
func (f *cythonFile) isIn(c, file string) bool {
	fn, _ := f.codeOf(c)
	l, ok := f.line(c, fn.DeclFile, fn.DeclLine)
	return ok && SameFile(l.File, file)
}

// begin is where the first statements of functions begin that match by their name in C and
// in the source. Of the functions of C for one of the source it is the one that does the work.
func (f *cythonFile) begin(m Image, match func(c, qualified string) bool) (out []Place) {
	for _, r := range f.allRows() {
		f.codeOf(r.Function) // also of what is inlined wherever it is called
	}
	names := map[string]string{}
	kinds := map[string]cython.Kind{}
	for c := range f.code {
		s, _ := cython.Parse(c, f.modules...)
		if s.Kind == cython.Machinery {
			continue
		}
		if q := f.qualified(s, c); match(c, q) {
			names[c], kinds[q] = q, max(kinds[q], s.Kind)
		}
	}
	for c, q := range names {
		if s, _ := cython.Parse(c, f.modules...); s.Kind != kinds[q] {
			continue
		}
		for _, r := range f.firstRows(c) {
			out = append(out, Place{Addr: r.Low.Run(m.Bias), Function: q, File: r.File, Line: r.Line, Module: m.Name})
		}
	}
	return out
}

// firstRows are where the first statement of a function of C begins, in its own code and
// where it is inlined.
func (f *cythonFile) firstRows(c string) (rows []CythonRow) {
	def := f.defLine(c)
	in := map[addr.File]bool{} // functions that have it
	for _, r := range f.allRows() {
		if r.Function == c && r.Stmt && (r.Line != def || isToplevel(c)) && !in[r.within] {
			in[r.within] = true
			rows = append(rows, r)
		}
	}
	if fn := f.code[c]; len(rows) == 0 && !fn.Inlined {
		r, ok := f.rowAt(fn.Breakpoint)
		if !ok {
			r.File, r.Line = fn.File, fn.Line
		}
		r.Low = fn.Breakpoint
		rows = append(rows, r)
	}
	return rows
}

// pieces are the places of a line: where it begins in each function of C, and again where
// other lines come between, as in each copy of a finally.
func (f *cythonFile) pieces(m Image, file string, line int) (out []Place) {
	type piece struct {
		function string
		within   addr.File
		first    int
	}
	seen := map[piece]bool{}
	last := map[string]int{} // by function: the line of the statement before
	for _, r := range f.allRows() {
		before := last[r.Function]
		if r.Stmt {
			last[r.Function] = r.Line
		}
		if !r.Stmt || r.Line != line || !SameFile(r.File, file) {
			continue
		}
		key := piece{r.Function, r.within, r.piece}
		if r.piece == 0 && before == line || r.piece != 0 && seen[key] {
			continue
		}
		seen[key] = true
		s, _ := cython.Parse(r.Function, f.modules...)
		out = append(out, Place{Addr: r.Low.Run(m.Bias), Function: f.qualified(s, r.Function), File: r.File, Line: r.Line, Module: m.Name})
	}
	return out
}

// rowAt is the row that an address is in.
func (f *cythonFile) rowAt(a addr.File) (CythonRow, bool) {
	rows := f.allRows()
	i, ok := slices.BinarySearchFunc(rows, a, func(r CythonRow, a addr.File) int { return cmp.Compare(r.Low, a) })
	if !ok {
		i--
	}
	if i < 0 || a >= rows[i].High {
		return CythonRow{}, false
	}
	return rows[i], true
}

// places asks a file of Cython for places. A file of an extension exports the function that
// makes its module.
func (y *Cython) places(m Image, ask func(f *cythonFile) []Place) []Place {
	if _, ok := m.Object.Symtab.Exported("PyInit_" + moduleOf(m)); !ok || !y.reads() {
		return nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	return ask(y.file(m.Object))
}

// Described is what `cython --gdb` has written of a function of C; nil without.
func (y *Cython) Described(obj *symbols.Object, linkage string) *cython.Function {
	if obj == nil || !cython.IsGenerated(linkage) || !y.reads() {
		return nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.file(obj).functions[linkage]
}

// Problems are why what `cython --gdb` has written was not used.
func (y *Cython) Problems() (all []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, f := range y.files {
		all = append(all, f.Problems...)
	}
	slices.Sort(all)
	return all
}

// SourceOf is the source of a module, by its name or the last words of it.
func (y *Cython) SourceOf(module string) string {
	found := ""
	for _, m := range y.r.Images() {
		y.places(m, func(f *cythonFile) []Place {
			if moduleOf(m) != module[strings.LastIndexByte(module, '.')+1:] {
				return nil
			}
			for _, r := range f.allRows() {
				if isToplevel(r.Function) && r.Line > 0 && !strings.HasSuffix(r.File, ".pxd") {
					found = r.File
					break
				}
			}
			return nil
		})
	}
	return found
}

// Entries are where the functions of all sources of Cython that are loaded begin: their first
// statements, and of generators, which continue with others, the function of C.
func (y *Cython) Entries() (all []addr.Run) {
	for _, m := range y.r.Images() {
		y.places(m, func(f *cythonFile) []Place {
			for _, p := range f.begin(m, func(c, _ string) bool { return !isToplevel(c) }) {
				all = append(all, p.Addr)
			}
			for c, fn := range f.code {
				if s, _ := cython.Parse(c, f.modules...); s.Kind == cython.Generator && !fn.Inlined {
					all = append(all, fn.Breakpoint.Run(m.Bias))
				}
			}
			return nil
		})
	}
	return all
}
