package session

import (
	"strings"

	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/values"
)

// frameVariables answers what conditions ask of the variables in a frame of a stopped
// thread.
type frameVariables struct {
	values *Values
	thread *inferior.Thread
	number func(cond.Field) (uint64, bool) // what the condition's own words mean
	// frames is the inner part of the stack, or the whole of it, which takes longer, and
	// the index of the frame.
	frames func(whole bool) (stack []names.Frame, frame int)
	err    error // why the first term without a value had none
}

// Holds reports whether an expression has a value other than zero.
func (v *frameVariables) Holds(expr string) (holds, known bool) {
	err := v.read(func() (err error) {
		holds, err = v.values.holds(expr, (*values.World).Holds)
		return err
	})
	if v.err == nil {
		v.err = err
	}
	return holds, err == nil
}

// read has fn read variables of the frame, without calls of functions. A value may be known
// by what the callers have kept only: so fn is asked again with the whole stack before it is
// lost.
func (v *frameVariables) read(fn func() error) error {
	w := &v.values.w
	defer func(sel view.Selected, was values.World) {
		v.values.sel.Cur, w.Words, w.Call = sel, was.Words, was.Call
	}(v.values.sel.Cur, *w)
	w.Words, w.Call = v.word, nil
	err := target.ErrNoStack
	for _, whole := range []bool{false, true} {
		stack, frame := v.frames(whole)
		if len(stack) == 0 {
			continue
		}
		v.values.sel.Cur = view.Selected{Thread: v.thread, Stack: names.Stack{Frames: stack}, Max: view.DefaultDepth, Num: frame}
		if err = fn(); !values.IsLost(err) {
			return err
		}
	}
	return err
}

// word is the value of a word of conditions.
func (v *frameVariables) word(name string) (values.Word, bool) {
	if strings.HasPrefix(name, "_") {
		return v.values.words.word(name)
	}
	if name == "event" {
		name = cond.Nth.String()
	}
	f, ok := cond.FieldNamed(name)
	if !ok {
		return values.Word{}, false
	}
	n, ok := v.number(f)
	return values.Word{N: n, Address: f == cond.Addr || f == cond.Old}, ok
}

// holds reports whether an expression, which may be computed by the function, has a value
// other than zero in the selected frame.
func (v *Values) holds(expr string, compute func(*values.World, *values.Frame, string) (bool, error)) (holds bool, err error) {
	if ok, err := v.asGo(expr, func(g *inferior.Go, at inferior.GoPlace) (err error) {
		holds, err = goHolds(g, at, expr)
		return err
	}); ok {
		return holds, err
	}
	err = v.guarded(func(f *values.Frame) error {
		holds, err = compute(&v.w, f, expr)
		return err
	})
	return holds, err
}
