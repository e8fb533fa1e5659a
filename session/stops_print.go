package session

import (
	"fmt"
	"regexp"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/cformat"
	"hdb/names"
	"hdb/values"
)

// beforeFormat is what stands between the location of dprintf and its format.
var beforeFormat = regexp.MustCompile(`,\s*"`)

// Dprintf sets a numbered stop that prints and goes on: LOCATION [if CONDITION],"FORMAT"[,
// EXPRESSION...].
func (s *Stops) Dprintf(text string) (*breakpoints.Stop, error) {
	at := beforeFormat.FindStringIndex(text)
	if at == nil || strings.TrimSpace(text[:at[0]]) == "" {
		return nil, fmt.Errorf(`dprintf: LOCATION,"FORMAT",EXPRESSION... expected`)
	}
	if s.mode() == Saved {
		return nil, fmt.Errorf("dprintf: %w", ErrSaved)
	}
	f, err := cformat.Parse(text[at[1]-1:])
	if err != nil {
		return nil, fmt.Errorf("dprintf: %w", err)
	}
	st, err := s.Break(text[:at[0]], false)
	if err != nil {
		return nil, err
	}
	st.Print = f
	return st, nil
}

// print prints what a dprintf is for.
func (v *frameVariables) print(st *breakpoints.Stop) {
	text, err := st.Print.Expand(func(i int, kind cformat.Kind) (any, error) {
		expr := st.Print.Args[i]
		if name, ok := strings.CutPrefix(expr, "$"); ok && kind == cformat.Integer {
			if w, ok := v.word(name); ok { // without a look at the stack
				return w.N, nil
			}
		}
		return v.argument(expr, kind)
	})
	if err != nil {
		v.values.note(fmt.Sprintf("dprintf %d: %v", st.ID, err))
		return
	}
	v.values.cfg.Print(text)
}

// argument computes an argument of a format, as Holds does a condition.
func (v *frameVariables) argument(expr string, kind cformat.Kind) (x any, err error) {
	for _, whole := range []bool{false, true} {
		stack, frame := v.frames(whole)
		if len(stack) == 0 {
			err = ErrNoStack
			continue
		}
		at := selection{thread: v.thread, stack: names.Stack{Frames: stack}, max: defaultDepth, frame: frame}
		v.values.at(at, v.word, func() { x, err = v.values.formatArgument(expr, kind) })
		if err == nil {
			return x, nil
		}
	}
	return nil, err
}

// at runs fn where something else is selected for the while.
func (v *Values) at(at selection, words func(string) (values.Word, bool), fn func()) {
	defer func(sel selection, words func(string) (values.Word, bool)) {
		v.sel.selection, v.w.Words = sel, words
	}(v.sel.selection, v.w.Words)
	v.sel.selection, v.w.Words = at, words
	fn()
}
