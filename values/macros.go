package values

import (
	"errors"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values/cpp"
)

// A macroSite is a frame's place, at which macros hold.
type macroSite struct {
	at      addr.File
	inlined int
}

// maxMacroSites bounds the places whose macros are kept: those of a unit are some thousands
// that are read anew for each place.
const maxMacroSites = 64

// macros are the macros that hold where the frame is, or without one in MacroScope; nil without.
func (p *Program) macros(f *Frame) *symbols.Macros {
	if f == nil && p.MacroScope != nil {
		f = p.MacroScope()
	}
	if lang := f.language(); f == nil || f.Module.Obj == nil || lang != "c" && lang != "c++" {
		return nil
	}
	m := p.module(f.Module)
	at := f.PC.Lookup().File(f.Module.Bias)
	site := macroSite{at, f.Inlined}
	if found, ok := m.macros[site]; ok {
		return found
	}
	var found *symbols.Macros // nil: debug information has none
	if frames := m.Obj.Lookup(at); f.Inlined < len(frames) {
		found, _ = m.Obj.DWARF.Macros(at, frames[f.Inlined].File, frames[f.Inlined].Line) // of damaged ones, those before
	}
	if m.macros == nil || len(m.macros) == maxMacroSites {
		m.macros = map[macroSite]*symbols.Macros{}
	}
	m.macros[site] = found
	return found
}

// parse parses an expression, in which macros are expanded as gdb does.
func (e *evaluator) parse(src string) (*node, error) {
	if m := e.prog.macros(e.f); m != nil && len(src) <= maxExpr {
		lookup := definitionsOf(m)
		if cpp.Mentions(src, lookup) {
			var err error
			if src, err = cpp.Expand(src, lookup); err != nil {
				return nil, err
			}
		}
	}
	return parse(src, e)
}

// definitionsOf finds macros for an expansion.
func definitionsOf(m *symbols.Macros) cpp.Lookup {
	return func(name string) (cpp.Macro, bool) {
		x, ok := m.Named(name)
		return cpp.Macro{Function: x.Function, Params: x.Params, Body: x.Body}, ok
	}
}

// errNoMacros is the error where debug information has no macros.
var errNoMacros = errors.New("the debug information of this code has no macros: compile it with -g3")

// Macros are the macros of the preprocessor that hold where a frame is.
func (w *World) Macros(f *Frame) (*symbols.Macros, error) {
	m := w.macros(f)
	switch {
	case m != nil:
		return m, nil
	case f == nil && (w.MacroScope == nil || w.MacroScope() == nil):
		return nil, ErrNoFrame
	}
	return nil, errNoMacros
}

// ExpandMacros is an expression with its macros expanded.
func (w *World) ExpandMacros(f *Frame, src string) (string, error) {
	m, err := w.Macros(f)
	if err != nil {
		return "", err
	}
	return cpp.Expand(src, definitionsOf(m))
}
