package names

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols"
)

// Errors that callers tell apart.
var (
	ErrNoProgram = errors.New("no program is loaded")
	ErrNoFiles   = errors.New("none of the capture's programs and libraries is here")
)

// noImages is the error of what needs files of the program when there are none.
func (r *Resolver) noImages() error {
	if r.opened != nil {
		return ErrNoFiles
	}
	return ErrNoProgram
}

// SymbolInfo is what `info symbol` finds at an address.
type SymbolInfo struct {
	Name    string
	Linkage string // as the linker knows it, "" when the same
	Offset  uint64
	Size    uint64
	Module  string
}

// SymbolAt names the function or variable that covers the address.
func (r *Resolver) SymbolAt(a addr.Run) (SymbolInfo, error) {
	for _, m := range r.Images() {
		if !r.Covers(m, a) {
			continue
		}
		if sym, off, ok := m.Object.SymbolAt(a.File(m.Bias)); ok {
			info := SymbolInfo{Name: symbols.Demangle(sym.Name), Offset: off, Size: sym.Size, Module: m.Name}
			if info.Name != sym.Name {
				info.Linkage = sym.Name
			}
			return info, nil
		}
	}
	return SymbolInfo{}, fmt.Errorf("no symbol at %v", a)
}

// FunctionInfo is a row of `info functions`.
type FunctionInfo struct {
	symbols.Function
	Addr   addr.Run
	Module string
}

// Functions are the functions whose name matches, by file, line and name.
func (r *Resolver) Functions(re *regexp.Regexp) ([]FunctionInfo, error) {
	objs := r.Images()
	if len(objs) == 0 {
		return nil, r.noImages()
	}
	var out []FunctionInfo
	for _, m := range objs {
		if r.reading.GivenUp() {
			break
		}
		for _, fn := range m.Object.MatchFunctions(re, r.reading.GivenUp) {
			out = append(out, FunctionInfo{Function: fn, Addr: fn.Low.Run(m.Bias), Module: m.Name})
		}
	}
	slices.SortStableFunc(out, func(a, b FunctionInfo) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.DeclFile, b.DeclFile), cmp.Compare(a.DeclLine, b.DeclLine), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr))
	})
	return out, nil
}

// SourceFiles are the source files that the debug info names, sorted.
func (r *Resolver) SourceFiles() ([]string, error) {
	objs := r.Images()
	if len(objs) == 0 && r.opened == nil {
		return nil, ErrNoProgram
	}
	var files []string
	if r.opened != nil {
		files = r.opened.SourceFiles()
	}
	for _, m := range objs {
		if r.reading.GivenUp() {
			break
		}
		files = append(files, m.Object.SourceFiles()...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// LineInfo is the code of a source line.
type LineInfo struct {
	Addr, End addr.Run
	File      string
	Line      int
	Function  string
	Module    string
}

// Definition is where the source defines the function of that name, as typed; ok is
// false when no debug information says so.
func (r *Resolver) Definition(name string) (file string, line int, ok bool) {
	inFile := ""
	if f, rest, cut := CutFile(name); cut {
		inFile, name = f, rest
	}
	for _, m := range r.Images() {
		for _, fn := range m.Object.FindFunctions(name) {
			if fn.DeclFile != "" && fn.DeclLine > 0 && (inFile == "" || SameFile(fn.DeclFile, inFile)) {
				return fn.DeclFile, fn.DeclLine, true
			}
		}
	}
	return "", 0, false
}

// LinesOf is all code that a line of a file has, or the next line with code.
func (r *Resolver) LinesOf(file string, line int) []LineInfo {
	var rows []LineInfo
	for _, m := range r.Images() {
		for _, e := range m.Object.LineRows(file, line) {
			row := LineInfo{Addr: e.Addr.Run(m.Bias), End: e.End.Run(m.Bias), File: e.File, Line: e.Line, Module: m.Name}
			if fn, ok := m.Object.FunctionAt(e.Addr); ok {
				row.Function = fn.Name
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// LineAt is the line whose code covers an address.
func (r *Resolver) LineAt(a addr.Run) LineInfo {
	row := LineInfo{Addr: a, End: a}
	for _, m := range r.Images() {
		if !r.Covers(m, a) {
			continue
		}
		b, ok := m.Object.LineBlock(a.File(m.Bias))
		if !ok {
			continue
		}
		row.Addr, row.End = b.Entry.Low.Run(m.Bias), b.Entry.High.Run(m.Bias)
		row.File, row.Line, row.Module = b.File, b.Line, m.Name
		if fn, ok := m.Object.FunctionAt(a.File(m.Bias)); ok {
			row.Function = fn.Name
		}
		break
	}
	return row
}

// UnitAt is what debug information says of how the code at an address was compiled.
func (r *Resolver) UnitAt(at addr.Run) (unit symbols.UnitInfo, module string, ok bool) {
	for _, m := range r.Images() {
		if !r.Covers(m, at) {
			continue
		}
		if unit, ok = m.Object.UnitInfoAt(at.File(m.Bias)); ok {
			return unit, m.Name, true
		}
	}
	return unit, "", false
}

// GlobalInfo is a row of `info types` and `info variables`.
type GlobalInfo struct {
	symbols.Global
	Addr   addr.Run // 0 unknown
	Module string
}

// Types are the types whose name matches, by module and name.
func (r *Resolver) Types(re *regexp.Regexp) ([]GlobalInfo, error) {
	return r.globals(func(o *symbols.Object) []symbols.Global { return o.MatchTypes(re, r.reading.GivenUp) })
}

// Variables are the variables outside of functions whose name matches.
func (r *Resolver) Variables(re *regexp.Regexp) ([]GlobalInfo, error) {
	return r.globals(func(o *symbols.Object) []symbols.Global { return o.MatchVariables(re, r.reading.GivenUp) })
}

func (r *Resolver) globals(of func(*symbols.Object) []symbols.Global) ([]GlobalInfo, error) {
	objs := r.Images()
	if len(objs) == 0 {
		return nil, r.noImages()
	}
	var out []GlobalInfo
	for _, m := range objs {
		if r.reading.GivenUp() {
			break
		}
		for _, g := range of(m.Object) {
			row := GlobalInfo{Global: g, Module: m.Name}
			if g.Addr != 0 {
				row.Addr = g.Addr.Run(m.Bias)
			}
			out = append(out, row)
		}
	}
	return out, nil
}
