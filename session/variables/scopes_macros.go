package variables

import (
	"hdb/symbols"
	"hdb/values"
)

// Macro is the macro of the preprocessor with a name that holds in the selected frame. It
// reports false for a name that is none.
func (s *Scopes) Macro(name string) (m symbols.Macro, ok bool, err error) {
	err = s.values.Guarded(func(f *values.Frame) error {
		all, err := s.values.World.Macros(f)
		m, ok = all.Named(name)
		return err
	})
	return m, ok, err
}

// Macros are all that hold in the selected frame, by name.
func (s *Scopes) Macros() (list []symbols.Macro, err error) {
	err = s.values.Guarded(func(f *values.Frame) error {
		all, err := s.values.World.Macros(f)
		list = all.All()
		return err
	})
	return list, err
}

// ExpandMacros is an expression with its macros expanded as in the selected frame.
func (s *Scopes) ExpandMacros(expr string) (text string, err error) {
	err = s.values.Guarded(func(f *values.Frame) error {
		text, err = s.values.World.ExpandMacros(f, expr)
		return err
	})
	return text, err
}
