package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/symbols"
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
	err    error // why a term had no value
}

// Holds reports whether an expression has a value other than zero.
func (v *frameVariables) Holds(expr string) (holds, known bool) {
	v.err = v.read(func() (err error) {
		holds, err = v.values.holds(expr)
		return err
	})
	return holds, v.err == nil
}

// read has fn read variables of the frame, without calls of functions. A value may be known
// by what the callers have kept only: so fn is asked again with the whole stack before it is
// unknown.
func (v *frameVariables) read(fn func() error) error {
	w := &v.values.w
	defer func(sel selection, was values.World) {
		v.values.sel.selection, w.Words, w.Call = sel, was.Words, was.Call
	}(v.values.sel.selection, *w)
	w.Words, w.Call = v.word, nil
	err := ErrNoStack
	for _, whole := range []bool{false, true} {
		stack, frame := v.frames(whole)
		if len(stack) == 0 {
			continue
		}
		v.values.sel.selection = selection{thread: v.thread, stack: names.Stack{Frames: stack}, max: defaultDepth, frame: frame}
		if err = fn(); err == nil {
			return nil
		}
	}
	return err
}

// word is the value of a word of conditions.
func (v *frameVariables) word(name string) (values.Word, bool) {
	if strings.HasPrefix(name, "_") {
		return v.values.debuggerWord(name)
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

// holds reports whether an expression has a value other than zero in the selected frame.
func (v *Values) holds(expr string) (holds bool, err error) {
	if ok, err := v.asGo(expr, func(g *inferior.Go, at inferior.GoPlace) (err error) {
		holds, err = goHolds(g, at, expr)
		return err
	}); ok {
		return holds, err
	}
	err = v.guarded(func(f *values.Frame) error {
		holds, err = v.w.Holds(f, expr)
		return err
	})
	return holds, err
}

// check is the error of an expression that can have no value in a frame.
func (v *Values) check(expr string, at *values.Frame) (err error) {
	if fault := symbols.Guard(func() { err = v.w.Check(at, expr) }); fault != nil {
		return nil // of a file that was cut: it is read again when the stop is reached
	}
	return err
}

// checkVariables is the error of a stop's condition that asks for variables which the
// program has not got where the stop is. At events that may be anywhere: only names
// that seem to be misspelt words of conditions are errors there.
func (s *Stops) checkVariables(st *breakpoints.Stop) error {
	if st.Cond == nil {
		return nil
	}
	for _, x := range st.Cond.Expressions() {
		if s.mode() == Saved {
			return fmt.Errorf("condition: column %d: %s: %w", x.Col, x.Text, errCapture)
		}
		if s.names.Program != nil && s.names.Program.Object != nil && s.names.Program.Object.File.Header().Go {
			continue // delve reads it when the stop is reached
		}
		if err := s.checkExpression(st, x); err != nil {
			return fmt.Errorf("condition: %w", err)
		}
	}
	return nil
}

// frameOf is a frame of which only the place is known, nil where there is no file.
func (v *Values) frameOf(p breakpoints.Place) *values.Frame {
	for _, m := range v.names.Images() {
		if !v.names.Covers(m, p.Addr) {
			continue
		}
		stack := m.Object.Lookup(p.Addr.File(m.Bias))
		inlined := max(0, slices.IndexFunc(stack, func(f symbols.Frame) bool { return f.Function == p.Function }))
		return &values.Frame{Module: values.Module{Obj: m.Object, Bias: m.Bias}, PC: addr.PC(p.Addr), Inlined: inlined}
	}
	return nil
}

func (s *Stops) checkExpression(st *breakpoints.Stop, x *cond.Expr) error {
	frames := []*values.Frame{nil}
	if onCode(st) {
		if frames = nil; len(st.Places) == 0 {
			return nil // it is checked when it is reached
		}
	}
	for _, p := range st.Places {
		if f := s.values.frameOf(p); f != nil && onCode(st) {
			frames = append(frames, f)
		}
	}
	var err error
	for _, f := range frames {
		if err = s.values.check(x.Text, f); err == nil {
			return nil
		}
	}
	var none *values.NoSymbolError
	switch {
	case !errors.As(err, &none):
		return st.Cond.ErrorAt(x, st.Place(), "", err.Error())
	case onCode(st):
		return st.Cond.ErrorAt(x, st.Place(), none.Name, fmt.Sprintf("no symbol %q at %s", none.Name, st.Location))
	case isWord(none.Name): // the event has a value for it
	case cond.Nearest(none.Name) != "":
		return st.Cond.ErrorAt(x, st.Place(), none.Name, fmt.Sprintf("unknown name %q", none.Name))
	}
	return nil
}

// isWord tells the names of numbers that an event may have.
func isWord(name string) bool {
	_, ok := cond.FieldNamed(name)
	return ok || name == "event"
}

// isNoSymbol tells the error for a name that the program has not got.
func isNoSymbol(err error) bool {
	var none *values.NoSymbolError
	return errors.As(err, &none)
}

// stopWord is $size and the like: of the event that is stopped at, or selected in a
// capture.
func (v *Values) stopWord(name string) (values.Word, bool) {
	e := v.sel.event()
	if e == nil {
		return values.Word{}, false
	}
	switch name {
	case "event", "nth":
		return values.Word{N: e.Seq}, true
	case "size":
		return values.Word{N: e.Size}, e.SizeKnown()
	case "addr":
		return values.Word{N: e.Addr, Address: true}, true
	case "old":
		return values.Word{N: e.Old, Address: true}, e.Kind == capture.Realloc
	}
	return values.Word{}, false
}

// event is the event that is stopped at, or selected in a capture; nil: none.
func (s *Selection) event() *recording.Event {
	if s.mode() == Saved {
		e, ok := query.EventAt(s.reading.Of(s.saved), s.seq)
		if !ok {
			return nil
		}
		return e
	}
	for _, h := range s.demand.hits {
		if h.event != nil {
			return h.event
		}
	}
	return nil
}
