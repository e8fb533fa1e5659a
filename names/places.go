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

// A Place is code that a location stands for.
type Place struct {
	Addr     addr.Run
	Function string
	File     string
	Line     int
	Module   string
}

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

// MainPlaces is where the user's program begins.
func (r *Resolver) MainPlaces() []Place {
	objs := r.Images()
	if len(objs) == 0 {
		return nil
	}
	program, name := objs[0], "main"
	if program.Object.Header().Go {
		name = "main.main"
	}
	sym, ok := program.Object.Symbol(name)
	if !ok && r.Debuginfod.Mode() != DebuginfodOff { // a server may have the symbol table, too
		program.Object.Info()
		sym, ok = program.Object.Symbol(name)
	}
	if ok && sym.IsCode() {
		if fn, ok := program.Object.FunctionAt(sym.Addr); ok && fn.Low == sym.Addr {
			return []Place{FunctionPlace(program, fn)}
		}
	}
	return nil
}

// FunctionPlaces are the functions of that name, inlined copies included. A
// plain name is looked for in the program and in the libraries that have a symbol
// of that name; only when none has it, also among what other libraries inlined,
// which takes reading all of their debug info.
func (r *Resolver) FunctionPlaces(name string) []Place {
	if name == "main" { // asked for at every start, and never inlined: no need to search
		if main := r.MainPlaces(); len(main) > 0 {
			return main
		}
	}
	var out []Place
	var others []Image
	for i, m := range r.Images() {
		if i > 0 && !strings.ContainsAny(name, ":(<.") {
			if _, ok := m.Object.Symbol(name); !ok {
				others = append(others, m)
				continue
			}
		}
		out = appendFunctions(out, m, name)
	}
	if len(out) == 0 {
		for _, m := range others {
			out = appendFunctions(out, m, name)
		}
	}
	if len(out) == 0 && r.opened != nil {
		return r.keptPlaces(name)
	}
	return UniquePlaces(out)
}

// keptPlaces is the first line of the function that a capture kept, where the
// program is not.
func (r *Resolver) keptPlaces(name string) []Place {
	var found Place
	for f := range r.opened.Frames() {
		if f.File == "" || f.Line <= 0 || !symbols.MatchesName(name, f.Function, f.Linkage) {
			continue
		}
		if found.File == "" || f.File == found.File && f.Line < found.Line {
			found = Place{Addr: f.FuncLow, Function: f.Function, File: f.File, Line: f.Line}
		}
	}
	if found.File == "" {
		for _, m := range r.opened.files { // it may be in one of those
			r.tellRefused(m)
		}
		return nil
	}
	return []Place{found}
}

func appendFunctions(out []Place, m Image, name string) []Place {
	for _, fn := range m.Object.FindFunctions(name) {
		if strings.HasSuffix(fn.Linkage, ".cold") && !strings.Contains(name, ".cold") {
			continue // where the function goes on after an unlikely jump, not where it is called
		}
		out = append(out, FunctionPlace(m, fn))
	}
	return out
}

// FileFunctionPlaces are the functions of that name in a file.
func (r *Resolver) FileFunctionPlaces(file, name string) []Place {
	all := r.FunctionPlaces(name)
	return slices.DeleteFunc(all, func(p Place) bool { return !SameFile(p.File, file) })
}

// RegexpPlaces are the functions whose name matches.
func (r *Resolver) RegexpPlaces(expr string) ([]Place, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	var out []Place
	for _, m := range r.Images() {
		for _, fn := range m.Object.MatchFunctions(re, r.reading.GivenUp) {
			if !fn.Inlined && !fn.IFunc {
				out = append(out, FunctionPlace(m, fn))
			}
		}
	}
	if err := r.reading.Cut(); err != nil {
		return nil, err
	}
	return UniquePlaces(out), nil
}

// LinePlaces is the code of a line of a file.
func (r *Resolver) LinePlaces(file string, line int) []Place {
	var out []Place
	for _, m := range r.Images() {
		for _, l := range m.Object.FindLine(file, line) {
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

// PlaceAt describes an address.
func (r *Resolver) PlaceAt(a addr.Run) Place {
	p := Place{Addr: a}
	for _, m := range r.Images() {
		if !r.Covers(m, a) {
			continue
		}
		if fs := m.Object.Lookup(a.File(m.Bias)); len(fs) > 0 {
			p.Function, p.File, p.Line, p.Module = fs[0].Function, fs[0].File, fs[0].Line, m.Name
			break
		}
	}
	return p
}

// UniquePlaces sorts places by address, each once.
func UniquePlaces(ps []Place) []Place {
	slices.SortStableFunc(ps, func(a, b Place) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(ps, func(a, b Place) bool { return a.Addr == b.Addr })
}

// SameFile tells whether the name as typed means the file: a suffix of its path
// by whole elements.
func SameFile(path, typed string) bool {
	return path == typed || strings.HasSuffix(path, "/"+strings.TrimPrefix(filepath.Clean(typed), "./"))
}
