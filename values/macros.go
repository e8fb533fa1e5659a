package values

import (
	"errors"

	"hdb/symbols"
	"hdb/values/cpp"
)

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
