package session

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/symbols"
)

// Places resolves a location as typed: a function, FILE:LINE, FILE:FUNCTION,
// LINE, +N, -N, *ADDRESS or /RE/. None is no error: a library may yet bring it.
func (s *Session) Places(text string) ([]breakpoints.Place, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return s.herePlace()
	case text[0] == '*':
		a, err := s.Address(text[1:])
		if err != nil {
			return nil, err
		}
		return []breakpoints.Place{s.place(a)}, nil
	case len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/':
		return s.regexpPlaces(text[1 : len(text)-1])
	case text[0] == '+' || text[0] == '-' || isDigits(text):
		file, line, err := s.lineNumber(text)
		if err != nil {
			return nil, err
		}
		return s.linePlaces(file, line), nil
	}
	if file, rest, ok := cutFile(text); ok {
		if line, err := strconv.Atoi(rest); err == nil {
			return s.linePlaces(file, line), nil
		}
		return s.fileFunctionPlaces(file, rest), nil
	}
	return s.functionPlaces(text), nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// cutFile splits FILE:LINE and FILE:FUNCTION, but not NAMESPACE::FUNCTION.
func cutFile(text string) (file, rest string, ok bool) {
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

// herePlace is the selected frame's PC.
func (s *Session) herePlace() ([]breakpoints.Place, error) {
	f, err := s.liveFrame()
	if err != nil {
		return nil, err
	}
	return []breakpoints.Place{s.place(f.Code.Addr())}, nil
}

// lineNumber reads LINE, +N and -N, which count from the selected frame's line.
func (s *Session) lineNumber(text string) (file string, line int, err error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("line %q: not a number", text)
	}
	file, here := s.DefaultLine()
	if file == "" {
		return "", 0, fmt.Errorf("line %s: no default source file: use FILE:LINE", text)
	}
	if text[0] == '+' || text[0] == '-' {
		n += here
	}
	return file, n, nil
}

// DefaultLine is what line numbers without a file refer to: the selected frame's
// file and line, or those of main.
func (s *Session) DefaultLine() (file string, line int) {
	if f, err := s.SelectedFrame(); err == nil && f.File != "" {
		return f.File, f.Line
	}
	if s.saved == nil {
		for _, p := range s.mainPlaces() {
			if p.File != "" {
				return p.File, p.Line
			}
		}
	}
	return "", 0
}

// mainPlaces is where the user's program begins.
func (s *Session) mainPlaces() []breakpoints.Place {
	objs := s.objects()
	if len(objs) == 0 {
		return nil
	}
	program, name := objs[0], "main"
	if program.obj.Header().Go {
		name = "main.main"
	}
	sym, ok := program.obj.Symbol(name)
	if !ok && s.fetcher() != nil { // a server may have the symbol table, too
		program.obj.Info()
		sym, ok = program.obj.Symbol(name)
	}
	if ok && sym.IsCode() {
		if fn, ok := program.obj.FunctionAt(sym.Addr); ok && fn.Low == sym.Addr {
			return []breakpoints.Place{functionPlace(program, fn)}
		}
	}
	return nil
}

// functionPlaces are the functions of that name, inlined copies included. A
// plain name is looked for in the program and in the libraries that have a symbol
// of that name; only when none has it, also among what other libraries inlined,
// which takes reading all of their debug info.
func (s *Session) functionPlaces(name string) []breakpoints.Place {
	if name == "main" { // asked for at every start, and never inlined: no need to search
		if main := s.mainPlaces(); len(main) > 0 {
			return main
		}
	}
	var out []breakpoints.Place
	var others []loaded
	for i, m := range s.objects() {
		if i > 0 && !strings.ContainsAny(name, ":(<.") {
			if _, ok := m.obj.Symbol(name); !ok {
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
	if len(out) == 0 && s.saved != nil {
		return s.keptPlaces(name)
	}
	return uniquePlaces(out)
}

// keptPlaces is the first line of the function that a capture kept, where the
// program is not.
func (s *Session) keptPlaces(name string) []breakpoints.Place {
	var found breakpoints.Place
	for f := range s.saved.Frames() {
		if f.File == "" || f.Line <= 0 || !symbols.MatchesName(name, f.Function, f.Linkage) {
			continue
		}
		if found.File == "" || f.File == found.File && f.Line < found.Line {
			found = breakpoints.Place{Addr: f.FuncLow, Function: f.Function, File: f.File, Line: f.Line}
		}
	}
	if found.File == "" {
		for _, m := range s.late.all { // it may be in one of those
			s.tellRefused(m)
		}
		return nil
	}
	return []breakpoints.Place{found}
}

func appendFunctions(out []breakpoints.Place, m loaded, name string) []breakpoints.Place {
	for _, fn := range m.obj.FindFunctions(name) {
		if strings.HasSuffix(fn.Linkage, ".cold") && !strings.Contains(name, ".cold") {
			continue // where the function goes on after an unlikely jump, not where it is called
		}
		out = append(out, functionPlace(m, fn))
	}
	return out
}

func (s *Session) fileFunctionPlaces(file, name string) []breakpoints.Place {
	all := s.functionPlaces(name)
	return slices.DeleteFunc(all, func(p breakpoints.Place) bool { return !sameFile(p.File, file) })
}

func (s *Session) regexpPlaces(expr string) ([]breakpoints.Place, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	var out []breakpoints.Place
	for _, m := range s.objects() {
		for _, fn := range m.obj.MatchFunctions(re, s.reading.GivenUp) {
			if !fn.Inlined && !fn.IFunc {
				out = append(out, functionPlace(m, fn))
			}
		}
	}
	if err := s.reading.Cut(); err != nil {
		return nil, err
	}
	return uniquePlaces(out), nil
}

func (s *Session) linePlaces(file string, line int) []breakpoints.Place {
	var out []breakpoints.Place
	for _, m := range s.objects() {
		for _, l := range m.obj.FindLine(file, line) {
			out = append(out, breakpoints.Place{
				Addr: l.Addr.Run(m.bias), Function: l.Function, File: l.File, Line: l.Line, Module: m.name,
			})
		}
	}
	return uniquePlaces(out)
}

func functionPlace(m loaded, fn symbols.Function) breakpoints.Place {
	at := fn.Breakpoint
	if at == 0 {
		at = fn.Low
	}
	p := breakpoints.Place{Addr: at.Run(m.bias), Function: fn.Name, File: fn.File, Line: fn.Line, Module: m.name}
	if fn.File != fn.DeclFile && fn.DeclFile != "" { // the line of code of another file, inlined there
		fs := m.obj.Lookup(at)
		if i := slices.IndexFunc(fs, func(f symbols.Frame) bool { return f.Function == fn.Name }); i >= 0 && fs[i].Line != 0 {
			p.File, p.Line = fs[i].File, fs[i].Line
		}
	}
	return p
}

// place describes an address.
func (s *Session) place(a addr.Run) breakpoints.Place {
	p := breakpoints.Place{Addr: a}
	for _, m := range s.objects() {
		if !s.covers(m, a) {
			continue
		}
		if fs := m.obj.Lookup(a.File(m.bias)); len(fs) > 0 {
			p.Function, p.File, p.Line, p.Module = fs[0].Function, fs[0].File, fs[0].Line, m.name
			break
		}
	}
	return p
}

func uniquePlaces(ps []breakpoints.Place) []breakpoints.Place {
	slices.SortStableFunc(ps, func(a, b breakpoints.Place) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(ps, func(a, b breakpoints.Place) bool { return a.Addr == b.Addr })
}

// sameFile tells whether the name as typed means the file: a suffix of its path
// by whole elements.
func sameFile(path, typed string) bool {
	return path == typed || strings.HasSuffix(path, "/"+strings.TrimPrefix(filepath.Clean(typed), "./"))
}
