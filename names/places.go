package names

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols"
)

// A Place is code that a location represents.
type Place struct {
	Addr     addr.Run
	Function string
	File     string
	Line     int
	Module   string
}

// Places finds what locations represent. None is not an error: a library may yet bring it.
type Places struct{ r *Resolver }

// CutFile splits FILE:LINE and FILE:FUNCTION, but not NAMESPACE::FUNCTION.
func CutFile(text string) (file, rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "::"):
			i++
		case strings.IndexByte("(<[", text[i]) >= 0:
			return "", "", false
		case text[i] == ':' && i > 0 && i+1 < len(text):
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// Main is where the user's program begins.
func (p Places) Main() []Place { return p.main(FunctionPlace) }

func (p Places) main(of func(Image, symbols.Function) Place) []Place {
	objs := p.r.Images()
	if len(objs) == 0 {
		return nil
	}
	program, name := objs[0], "main"
	if program.Object.File.Header().Go {
		name = "main.main"
	}
	sym, ok := program.Object.Symtab.Symbol(name)
	if !ok && p.r.Debuginfod.Mode() != DebuginfodOff { // a server may have the symbol table, too
		program.Object.Info()
		sym, ok = program.Object.Symtab.Symbol(name)
	}
	if ok && sym.IsCode() {
		if fn, ok := program.Object.FunctionAt(sym.Addr); ok && fn.Low == sym.Addr {
			return []Place{of(program, fn)}
		}
	}
	return nil
}

// OfFunction are the functions of that name, inlined copies included. A
// plain name is looked for in the program and in the libraries that have a symbol
// of that name; only when none has it, also among what other libraries inlined,
// which takes reading all of their debug info.
func (p Places) OfFunction(name string) []Place { return p.functions(name, FunctionPlace) }

// EntriesOf is OfFunction with the functions' entry points, in front of their prologues.
func (p Places) EntriesOf(name string) []Place { return p.functions(name, entryPlace) }

// functions are the places that a function has, of all of that name.
func (p Places) functions(name string, of func(Image, symbols.Function) Place) []Place {
	if name == "main" { // asked for at every start, and never inlined: no need to search
		if main := p.main(of); len(main) > 0 {
			return main
		}
	}
	var out []Place
	var others []Image
	for i, m := range p.r.Images() {
		if own := p.r.Cython.functions(m, name); len(own) > 0 {
			out = append(out, own...)
			continue
		}
		if i > 0 && !strings.ContainsAny(name, ":(<.") {
			if _, ok := m.Object.Symtab.Symbol(name); !ok {
				others = append(others, m)
				continue
			}
		}
		out = appendFunctions(out, m, name, of)
	}
	if len(out) == 0 {
		for _, m := range others {
			out = appendFunctions(out, m, name, of)
		}
	}
	if len(out) == 0 {
		out = p.r.Cython.Functions(name)
	}
	if len(out) == 0 && p.r.opened != nil {
		return p.kept(name)
	}
	return UniquePlaces(out)
}

// kept is the first line of the function that a capture kept, where the
// program is not.
func (p Places) kept(name string) []Place {
	var found Place
	for f := range p.r.opened.Frames() {
		if f.File == "" || f.Line <= 0 || !symbols.MatchesName(name, f.Function, f.Linkage) {
			continue
		}
		if found.File == "" || f.File == found.File && f.Line < found.Line {
			found = Place{Addr: f.FuncLow, Function: f.Function, File: f.File, Line: f.Line}
		}
	}
	if found.File == "" {
		for _, m := range p.r.opened.files { // it may be in one of those
			p.r.opened.tellRefused(m)
		}
		return nil
	}
	return []Place{found}
}

func appendFunctions(out []Place, m Image, name string, of func(Image, symbols.Function) Place) []Place {
	for _, fn := range m.Object.FindFunctions(name) {
		if strings.HasSuffix(fn.Linkage, ".cold") && !strings.Contains(name, ".cold") {
			continue // where the function continues after an unlikely jump, not where it is called
		}
		out = append(out, of(m, fn))
	}
	return out
}

// InFile are the functions of that name in a file.
func (p Places) InFile(file, name string) []Place {
	all := p.OfFunction(name)
	return slices.DeleteFunc(all, func(p Place) bool { return !SameFile(p.File, file) })
}

// Matching are the functions whose name matches.
func (p Places) Matching(expr string) ([]Place, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	var out []Place
	for _, m := range p.r.Images() {
		for _, fn := range m.Object.MatchFunctions(re, p.r.reading.GivenUp) {
			if !fn.Inlined && !fn.IFunc {
				out = append(out, FunctionPlace(m, fn))
			}
		}
	}
	if err := p.r.reading.Cut(); err != nil {
		return nil, err
	}
	return UniquePlaces(out), nil
}

// OfLine is the code of a line of a file.
func (p Places) OfLine(file string, line int) []Place {
	var out []Place
	for _, m := range p.r.Images() {
		if own := p.r.Cython.lines(m, file, line); len(own) > 0 {
			out = append(out, own...)
			continue
		}
		for _, l := range m.Object.Lines.Find(file, line) {
			out = append(out, Place{
				Addr: l.Addr.Run(m.Bias), Function: l.Function, File: l.File, Line: l.Line, Module: m.Name,
			})
		}
	}
	return UniquePlaces(out)
}

// FunctionPlace is where to stop in a function.
func FunctionPlace(m Image, fn symbols.Function) Place {
	at := fn.Breakpoint
	if at == 0 {
		at = fn.Low
	}
	p := Place{Addr: at.Run(m.Bias), Function: fn.Name, File: fn.File, Line: fn.Line, Module: m.Name}
	if fn.File != fn.DeclFile && fn.DeclFile != "" { // the line of code of another file, inlined there
		fs := m.Object.Lookup(at)
		if i := slices.IndexFunc(fs, func(f symbols.Frame) bool { return f.Function == fn.Name }); i >= 0 && fs[i].Line != 0 {
			p.File, p.Line = fs[i].File, fs[i].Line
		}
	}
	return p
}

// entryPlace is the first instruction of a function, with the file and line of FunctionPlace.
func entryPlace(m Image, fn symbols.Function) Place {
	p := FunctionPlace(m, fn)
	p.Addr = fn.Low.Run(m.Bias)
	return p
}

// At describes an address.
func (p Places) At(a addr.Run) Place {
	found := Place{Addr: a}
	for _, m := range p.r.Images() {
		if !p.r.Covers(m, a) {
			continue
		}
		if fs := m.Object.Lookup(a.File(m.Bias)); len(fs) > 0 {
			found.Function, found.File, found.Line, found.Module = fs[0].Function, fs[0].File, fs[0].Line, m.Name
			break
		}
	}
	return found
}

// UniquePlaces sorts places by address, each once.
func UniquePlaces(ps []Place) []Place {
	slices.SortStableFunc(ps, func(a, b Place) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(ps, func(a, b Place) bool { return a.Addr == b.Addr })
}

// SameFile reports whether the name as typed means the file: a suffix of its path by whole
// elements.
func SameFile(path, typed string) bool {
	return path == typed || strings.HasSuffix(path, "/"+strings.TrimPrefix(filepath.Clean(typed), "./"))
}
