package variables

import (
	"strings"

	"hdb/inferior"
	"hdb/inferior/delve"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/values"
)

// OfFrame answers what conditions ask of the variables in a frame of a stopped
// thread.
type OfFrame struct {
	Values *Values
	Thread *inferior.Thread
	Field  func(cond.Field) (uint64, bool) // what the condition's own words mean
	// frames is the inner part of the stack, or the whole of it, which takes longer, and
	// the index of the frame.
	StackOf func(whole bool) (stack []names.Frame, frame int)
	Err     error // why the first term without a value had none
}

// Holds reports whether an expression has a value other than zero.
func (v *OfFrame) Holds(expr string) (holds, known bool) {
	err := v.Read(func() (err error) {
		holds, err = v.Values.holds(expr, (*values.World).Holds)
		return err
	})
	if v.Err == nil {
		v.Err = err
	}
	return holds, err == nil
}

// Read has fn read variables of the frame, without calls of functions. A value may be known
// by what the callers have kept only: so fn is asked again with the whole stack before it is
// lost.
func (v *OfFrame) Read(fn func() error) error {
	w := &v.Values.World
	defer func(sel view.Selected, was values.World) {
		v.Values.sel.Cur, w.Words, w.Call = sel, was.Words, was.Call
	}(v.Values.sel.Cur, *w)
	w.Words, w.Call = v.Word, nil
	err := target.ErrNoStack
	for _, whole := range []bool{false, true} {
		stack, frame := v.StackOf(whole)
		if len(stack) == 0 {
			continue
		}
		v.Values.sel.Cur = view.Selected{Thread: v.Thread, Stack: names.Stack{Frames: stack}, Max: view.DefaultDepth, Num: frame}
		if err = fn(); !values.IsLost(err) {
			return err
		}
	}
	return err
}

// Word is the value of a word of conditions.
func (v *OfFrame) Word(name string) (values.Word, bool) {
	if strings.HasPrefix(name, "_") {
		return v.Values.words.word(name)
	}
	if name == "event" {
		name = cond.Nth.String()
	}
	f, ok := cond.FieldNamed(name)
	if !ok {
		return values.Word{}, false
	}
	n, ok := v.Field(f)
	return values.Word{N: n, Address: f == cond.Addr || f == cond.Old}, ok
}

// holds reports whether an expression, which may be computed by the function, has a value
// other than zero in the selected frame.
func (v *Values) holds(expr string, compute func(*values.World, *values.Frame, string) (bool, error)) (holds bool, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		holds, err = goHolds(g, at, expr)
		return err
	}); ok {
		return holds, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		holds, err = compute(&v.World, f, expr)
		return err
	})
	return holds, err
}
