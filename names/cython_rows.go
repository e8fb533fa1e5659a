package names

import (
	"cmp"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/python/cython"
	"hdb/symbols"
)

// A CythonRow is code of one line of the source of Cython, [Low, High).
type CythonRow struct {
	Low, High addr.File
	File      string
	Line      int
	Function  string    // in C, of the innermost function
	within    addr.File // the entry of the function, not inlined, that has it
	piece     int       // of the C file, 0 unknown: where it begins
	Stmt      bool      // a place where a statement begins: false of what Cython has added
}

// allRows are the rows of the line table in functions of the source, by address.
func (f *cythonFile) allRows() []CythonRow {
	if f.rowsRead {
		return f.rows
	}
	f.rowsRead = true
	f.codeOf("")
	for name, fn := range f.code {
		if s, _ := cython.Parse(name, f.modules...); !fn.Inlined && s.Kind != cython.Machinery {
			f.rowsOf(fn)
		}
	}
	slices.SortFunc(f.rows, func(a, b CythonRow) int { return cmp.Compare(a.Low, b.Low) })
	f.dropFalse()
	return f.rows
}

// rowsOf adds the rows of a function, of which some may be of what is inlined in it.
func (f *cythonFile) rowsOf(fn symbols.Function) {
	parts := f.obj.FunctionParts(fn.Low)
	if len(parts) == 0 {
		parts = []symbols.Range{{Low: fn.Low, High: fn.High}}
	}
	for _, p := range parts {
		for _, e := range f.obj.Lines.Entries(p.Low, p.High) {
			if e.Addr < p.Low || e.End <= e.Addr {
				continue
			}
			frames := f.obj.Lookup(e.Addr)
			if len(frames) == 0 {
				continue
			}
			c := LinkageOf(&frames[0])
			if s, ok := cython.Parse(c, f.modules...); !ok || s.Kind == cython.Machinery {
				continue
			}
			l, ok := f.line(c, e.File, e.Line)
			if !ok {
				l = cython.Line{} // Cython's own code
			}
			f.rows = append(f.rows, CythonRow{e.Addr, e.End, l.File, l.Line, c, fn.Low, l.First, e.Stmt && ok && !l.Again})
		}
	}
}

// A rowKey is a line of a function of C.
type rowKey struct {
	function string
	line     int
}

// dropFalse takes Stmt from rows that are of no statement. Where only the lines tell, what
// Cython adds is known by what it is: a jump alone at a line that has begun before leaves a
// branch, and the line of the def behind the function's first statement is its end.
func (f *cythonFile) dropFalse() {
	body := map[string]addr.File{} // by function: where its first statement begins
	for _, r := range f.rows {
		if def := f.defLine(r.Function); r.Line > 0 && r.Line != def && body[r.Function] == 0 {
			body[r.Function] = r.Low
		}
	}
	begun := map[rowKey]bool{}
	for i := range f.rows {
		r := &f.rows[i]
		key := rowKey{r.Function, r.Line}
		if first := body[r.Function]; first != 0 && r.Line == f.defLine(r.Function) && !isToplevel(r.Function) && (r.Low > first || isGenerator(r.Function)) {
			r.Stmt = false
		}
		if r.Stmt && begun[key] && f.isJump(r.Low, r.High) {
			r.Stmt = false
		}
		begun[key] = begun[key] || r.Stmt
	}
}

// isGenerator tells the body of a generator: each time it continues, its def's line is in between.
func isGenerator(linkage string) bool { return strings.HasPrefix(linkage, "__pyx_gb_") }

func isToplevel(linkage string) bool { return strings.HasPrefix(linkage, "__pyx_pymod_exec_") }

// defLine is the line of the def of a function of C.
func (f *cythonFile) defLine(linkage string) int {
	if fn, ok := f.codeOf(linkage); ok {
		l, _ := f.line(linkage, fn.DeclFile, fn.DeclLine)
		return l.Line
	}
	return 0
}

// isJump tells code that is a jump and nothing else: of E9 with four bytes or EB with one.
func (f *cythonFile) isJump(low, high addr.File) bool {
	var b [1]byte
	if !f.obj.File.ReadAddr(b[:], low) {
		return false
	}
	return b[0] == 0xe9 && high-low == 5 || b[0] == 0xeb && high-low == 2
}

// Block is symbols.Lines.OwnBlock by the lines of the source where a frame's function is
// one of Cython's source.
func (y *Cython) Block(obj *symbols.Object, a addr.File, innermost *symbols.Frame) (b symbols.LineBlock, stray, ok bool) {
	b, stray, ok = obj.Lines.OwnBlock(a)
	if !ok || !y.reads() || !cython.IsGenerated(LinkageOf(innermost)) {
		return b, stray, ok
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	r, found := y.file(obj).rowAt(a)
	if !found {
		return b, stray, ok
	}
	if r.Line > 0 {
		b.File, b.Line = r.File, r.Line
	}
	b.Start, b.Stmt = r.Low == a, r.Stmt
	return b, stray, true
}

// A Way says what stepping does with a function of C that is called.
type Way int

// The ways.
const (
	Unknown Way = iota // it is not of Cython
	Pass               // it has nothing of the source
	Enter              // it is one of the source
)

// Entry is where to stop in a function of C that begins at an address: where its first
// statement does.
func (y *Cython) Entry(obj *symbols.Object, fn symbols.Function) (addr.File, Way) {
	c := fn.Linkage
	if c == "" {
		c = fn.Name
	}
	if !y.reads() || !cython.IsGenerated(c) {
		return 0, Unknown
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	f := y.file(obj)
	s, _ := cython.Parse(c, f.modules...)
	if s.Kind == cython.Machinery || s.Kind == cython.Wrapper {
		return 0, Pass
	}
	for _, r := range f.firstRows(c) {
		if r.within == fn.Low {
			return r.Low, Enter
		}
	}
	return fn.Breakpoint, Enter
}
