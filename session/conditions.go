package session

import (
	"errors"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/session/allocators"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
	"hdb/symbols"
	"hdb/values"
)

// Conditions looks at conditions before they are tested: which parts of them can have no value in
// the program, and what is not what it seems.
type Conditions struct {
	target     *target.Target
	account    *target.Account
	values     *variables.Values
	allocators *allocators.Allocators
	likes      *likenesses
	loc        *view.Locations
}

// CheckTypes is an error if the condition of a stop or a filter asks of which types blocks are, and
// the program is not of Go: of other languages that is known when blocks are recorded.
func (c *Conditions) CheckTypes(x *cond.Cond) error {
	if x == nil || c.target.Mode() == target.Saved || c.target.Mode() == target.Empty || c.target.Past || !x.UsesPredicate(cond.Type) || c.ofGo() {
		return nil
	}
	return x.CheckTypes("types are known of recorded blocks only: live and allocs ask for them (stops and filters know types of Go)")
}

// ofGo tells programs of which a part is Go.
func (c *Conditions) ofGo() bool {
	return c.target.Names.Program.Go() || slices.ContainsFunc(c.expected(), func(m names.Image) bool { return m.Object.File.Header().Go })
}

// expression is the error of an expression that can have no value in a frame.
func (c *Conditions) expression(expr string, at *values.Frame) (err error) {
	if fault := symbols.Guard(func() { err = c.values.World.Check(at, expr) }); fault != nil {
		return nil // of a file that was cut: it is read again when the stop is reached
	}
	return err
}

// check is the error of a stop's condition that asks for variables which the
// program has not got where the stop is. At events that may be anywhere: only names
// that seem to be misspelt words of conditions, and that nothing of the program has, are errors
// there. home is the frame that a watchpoint was set in, nil if it is not known.
func (c *Conditions) check(st *breakpoints.Stop, home *values.Frame) error {
	if st.Cond == nil {
		return nil
	}
	if err := c.CheckTypes(st.Cond); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	for _, x := range st.Cond.Expressions() {
		if c.target.Mode() == target.Saved {
			return fmt.Errorf("condition: column %d: %s: %w", x.Col, x.Text, variables.ErrCaptureValues)
		}
		if c.target.Names.Program.Go() && (onCode(st) || home != nil) {
			continue // delve reads it when the stop is reached
		}
		if err := c.checkExpression(st, x, home); err != nil {
			return fmt.Errorf("condition: %w", err)
		}
	}
	return nil
}

func (c *Conditions) checkExpression(st *breakpoints.Stop, x *cond.Expr, home *values.Frame) error {
	frames := []*values.Frame{home}
	if onCode(st) {
		if frames = nil; len(st.Places) == 0 {
			return nil // it is checked when it is reached
		}
	}
	for _, p := range st.Places {
		if f := variables.FrameOfPlace(c.target, p); f != nil && onCode(st) {
			frames = append(frames, f)
		}
	}
	var err error
	for _, f := range frames {
		if err = c.expression(x.Text, f); err == nil {
			c.warnPlaces(st, x)
			return nil
		}
	}
	var none *values.NoSymbolError
	switch unknown := errors.As(err, &none); {
	case !unknown && c.target.Names.Program.Go(): // delve may know better
	case !unknown:
		return st.Cond.ErrorAt(x, st.Place(), "", err.Error())
	case onCode(st):
		return st.Cond.ErrorAt(x, st.Place(), none.Name, fmt.Sprintf("no symbol %q at %s", none.Name, st.Location))
	case isWord(none.Name): // the event has a value for it
	case home != nil:
		return st.Cond.ErrorAt(x, st.Place(), none.Name, none.Error())
	case cond.Nearest(none.Name) != "" && !c.declared(none.Name):
		return st.Cond.ErrorAt(x, st.Place(), none.Name, fmt.Sprintf("unknown name %q", none.Name))
	}
	return nil
}

// declared reports whether a function or type of the program has a variable of that name.
func (c *Conditions) declared(name string) bool {
	return slices.ContainsFunc(c.target.Names.Images(), func(m names.Image) bool { return m.Object.DWARF.Declares(name, c.target.Reading.GivenUp) })
}

// isWord tells the names of numbers that an event may have.
func isWord(name string) bool {
	_, ok := cond.FieldNamed(name)
	return ok || name == "event"
}
