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

// Errors that callers distinguish.
var (
	ErrNoProgram = errors.New("no program is loaded")
	ErrNoFiles   = errors.New("none of the capture's programs and libraries exists on this machine")
)

// Symbols answers questions about the symbols of all files, see Resolver.Images.
type Symbols struct{ r *Resolver }

// noImages is the error of what needs files of the program when there are none.
func (s Symbols) noImages() error {
	if s.r.opened != nil {
		return ErrNoFiles
	}
	return ErrNoProgram
}

// SymbolInfo is the symbol at an address.
type SymbolInfo struct {
	Name    string
	Linkage string // as the linker knows it, "" when the same
	Offset  uint64
	Size    uint64
	Module  string
}

// At names the function or variable that covers the address.
func (s Symbols) At(a addr.Run) (SymbolInfo, error) {
	for _, m := range s.r.Images() {
		if !s.r.Covers(m, a) {
			continue
		}
		if sym, off, ok := m.Object.Symtab.SymbolAt(a.File(m.Bias)); ok {
			info := SymbolInfo{Name: symbols.Demangle(sym.Name), Offset: off, Size: sym.Size, Module: m.Name}
			if info.Name != sym.Name {
				info.Linkage = sym.Name
			}
			return info, nil
		}
	}
	return SymbolInfo{}, fmt.Errorf("no symbol at %v", a)
}

// ThreadLocalAt names the thread-local variable of a module, by the name that the process knows it
// by, at an offset in the module's block.
func (s Symbols) ThreadLocalAt(module string, offset uint64) (SymbolInfo, bool) {
	for _, m := range s.r.Images() {
		if m.Name != module {
			continue
		}
		if sym, off, ok := m.Object.Symtab.ThreadLocalAt(offset); ok {
			return SymbolInfo{Name: symbols.Demangle(sym.Name), Offset: off, Size: sym.Size, Module: m.Name}, true
		}
	}
	return SymbolInfo{}, false
}

// FunctionInfo is a function of a file.
type FunctionInfo struct {
	symbols.Function
	Addr   addr.Run
	Module string
}

// Functions are the functions whose name matches, by file, line and name.
func (s Symbols) Functions(re *regexp.Regexp) ([]FunctionInfo, error) {
	objs := s.r.Images()
	if len(objs) == 0 {
		return nil, s.noImages()
	}
	var out []FunctionInfo
	for _, m := range objs {
		if s.r.reading.GivenUp() {
			break
		}
		for _, fn := range m.Object.MatchFunctions(re, s.r.reading.GivenUp) {
			out = append(out, FunctionInfo{Function: fn, Addr: fn.Low.Run(m.Bias), Module: m.Name})
		}
	}
	slices.SortStableFunc(out, func(a, b FunctionInfo) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.DeclFile, b.DeclFile), cmp.Compare(a.DeclLine, b.DeclLine), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr))
	})
	return out, nil
}

// FunctionNames are the names of functions that match, those included that were only inlined,
// sorted, each once.
func (s Symbols) FunctionNames(match func(name string) bool) []string {
	var all []string
	for _, m := range s.r.Images() {
		if s.r.reading.GivenUp() {
			break
		}
		all = append(all, m.Object.FunctionNames(match, s.r.reading.GivenUp)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SourceFiles are the source files that the debug info names, sorted.
func (s Symbols) SourceFiles() ([]string, error) {
	objs := s.r.Images()
	if len(objs) == 0 && s.r.opened == nil {
		return nil, ErrNoProgram
	}
	var files []string
	if s.r.opened != nil {
		files = s.r.opened.SourceFiles()
	}
	for _, m := range objs {
		if s.r.reading.GivenUp() {
			break
		}
		files = append(files, m.Object.SourceFiles()...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// LineInfo is the code of a source line.
type LineInfo struct {
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Addr     addr.Run `json:"low"`
	End      addr.Run `json:"high"`
	Function string   `json:"function,omitempty"`
	Module   string   `json:"module,omitempty"`
}

// Definition is where the source defines the function of that name, as typed; ok is
// false when no debug information says so.
func (s Symbols) Definition(name string) (file string, line int, ok bool) {
	inFile := ""
	if f, rest, cut := CutFile(name); cut {
		inFile, name = f, rest
	}
	for _, m := range s.r.Images() {
		for _, fn := range m.Object.FindFunctions(name) {
			if fn.DeclFile != "" && fn.DeclLine > 0 && (inFile == "" || SameFile(fn.DeclFile, inFile)) {
				return fn.DeclFile, fn.DeclLine, true
			}
		}
	}
	return "", 0, false
}

// Lines is all code that a line of a file has, or the next line with code. The first range ends
// where the line table has its next row, though that may be of the same line.
func (s Symbols) Lines(file string, line int) []LineInfo {
	var rows []LineInfo
	for _, m := range s.r.Images() {
		for _, e := range m.Object.Lines.Rows(file, line) {
			row := LineInfo{Addr: e.Addr.Run(m.Bias), End: e.End.Run(m.Bias), File: e.File, Line: e.Line, Module: m.Name}
			if fn, ok := m.Object.FunctionAt(e.Addr); ok {
				row.Function = fn.Name
			}
			if b, ok := m.Object.Lines.Block(e.Addr); ok && len(rows) == 0 && b.Line == e.Line && b.Entry.Low == e.Addr && b.Entry.High < e.End {
				first := row
				first.End = b.Entry.High.Run(m.Bias)
				rows, row.Addr = append(rows, first), first.End
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// LineAt is the line whose code covers an address.
func (s Symbols) LineAt(a addr.Run) LineInfo {
	row := LineInfo{Addr: a, End: a}
	for _, m := range s.r.Images() {
		if !s.r.Covers(m, a) {
			continue
		}
		b, ok := m.Object.Lines.Block(a.File(m.Bias))
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
func (s Symbols) UnitAt(at addr.Run) (unit symbols.UnitInfo, module string, ok bool) {
	for _, m := range s.r.Images() {
		if !s.r.Covers(m, at) {
			continue
		}
		if unit, ok = m.Object.DWARF.UnitInfoAt(at.File(m.Bias)); ok {
			return unit, m.Name, true
		}
	}
	return unit, "", false
}

// GlobalInfo is a type, or a variable outside of functions.
type GlobalInfo struct {
	symbols.Global
	Addr   addr.Run // 0 unknown
	Module string
}

// Types are the types whose name matches, by module and name.
func (s Symbols) Types(re *regexp.Regexp) ([]GlobalInfo, error) {
	return s.globals(func(o *symbols.Object) []symbols.Global { return o.DWARF.MatchTypes(re, s.r.reading.GivenUp) })
}

// Variables are the variables outside of functions whose name matches.
func (s Symbols) Variables(re *regexp.Regexp) ([]GlobalInfo, error) {
	return s.globals(func(o *symbols.Object) []symbols.Global { return o.MatchVariables(re, s.r.reading.GivenUp) })
}

func (s Symbols) globals(of func(*symbols.Object) []symbols.Global) ([]GlobalInfo, error) {
	objs := s.r.Images()
	if len(objs) == 0 {
		return nil, s.noImages()
	}
	var out []GlobalInfo
	for _, m := range objs {
		if s.r.reading.GivenUp() {
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

// Address is where a function or variable of that name lies.
func (s Symbols) Address(name string) (addr.Run, bool) {
	for _, m := range s.r.Images() {
		if sym, ok := m.Object.Symtab.Symbol(name); ok && sym.Defined {
			return sym.Addr.Run(m.Bias), true
		}
	}
	for _, m := range s.r.Images() {
		for _, fn := range m.Object.FindFunctions(name) {
			if !fn.Inlined {
				return fn.Low.Run(m.Bias), true
			}
		}
	}
	return 0, false
}

// FunctionAround is the function that an address is in, by symbols or by unwinding information.
func (s Symbols) FunctionAround(m Image, a addr.Run) (symbols.Function, bool) {
	at := a.File(m.Bias)
	if fn, ok := m.Object.FunctionAt(at); ok {
		return fn, true
	}
	if s.r.mem != nil { // a stripped file has unwinding information
		if table, bias, _ := s.r.Modules.ModuleAt(a); table != nil {
			if code, ok := table.FunctionAt(a.File(bias)); ok {
				return symbols.Function{Low: code.Low, High: code.High}, true
			}
		}
	}
	return symbols.Function{}, false
}
