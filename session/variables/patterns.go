package variables

import (
	"hdb/internal/addr"
	"hdb/values"
)

// Patterns are the bytes that expressions name, for commands about memory.
type Patterns struct{ values *Values }

// NewPatterns reads them by expressions.
func NewPatterns(v *Values) *Patterns { return &Patterns{v} }

// Search reads what find is to look for, and where.
func (p *Patterns) Search(expr string, size int) (s values.Search, err error) {
	err = p.values.Guarded(func(f *values.Frame) error {
		s, err = p.values.World.Search(f, expr, size)
		return err
	})
	return s, err
}

// Found sets $_ and $numfound by what was found.
func (p *Patterns) Found(at addr.Run, n int) { p.values.World.Found(at, n) }

// Literal is the bytes of an array that does not are in memory, as a text that was typed, and what
// its elements are.
func (p *Patterns) Literal(expr string) (b []byte, unit values.Unit, err error) {
	err = p.values.Guarded(func(f *values.Frame) error {
		b, unit, err = p.values.World.Literal(f, expr)
		return err
	})
	return b, unit, err
}

// Raw is the bytes of the value of an expression.
func (p *Patterns) Raw(expr string) (b []byte, err error) {
	err = p.values.Guarded(func(f *values.Frame) error {
		b, err = p.values.World.Raw(f, expr)
		return err
	})
	return b, err
}
