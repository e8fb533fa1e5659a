package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/eval"
	"hdb/session/target"
)

// BreakPython sets a numbered stop at a line or function of Python: "app.py:40 if n > 3". file is
// the file of a line given alone. A place that no code has yet makes it pending.
func (s *Stops) BreakPython(text, file string, temporary bool) (*breakpoints.Stop, error) {
	if s.target.Mode() == target.Saved || s.target.Mode() == target.Core {
		return nil, errors.New("nothing runs in a capture or a core file: use run or attach")
	}
	spec := breakpoints.Spec{Kind: breakpoints.StopPython}
	where, asks, conditional := strings.Cut(" "+text+" ", " if ")
	if spec.Asks = strings.TrimSpace(asks); conditional && spec.Asks == "" {
		return nil, errors.New("a condition must follow if")
	}
	if at, thread, ok := strings.Cut(where, " thread "); ok {
		n, err := strconv.Atoi(strings.TrimSpace(thread))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("thread %s: the number of a thread expected: see info threads", strings.TrimSpace(thread))
		}
		where, spec.Thread = at, n
	}
	if err := eval.CheckCondition(spec.Asks); spec.Asks != "" && err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	target, err := python.ParseTarget(where, file)
	if err != nil {
		return nil, err
	}
	spec.File, spec.Line, spec.Function = target.File, target.Line, target.Function
	spec.Location = strings.TrimSpace(where)
	if target.Line != 0 && !strings.Contains(spec.Location, ":") {
		spec.Location = fmt.Sprintf("%s:%d", target.File, target.Line)
	}
	st := breakpoints.NewStop(spec)
	st.Temporary, st.Pending = temporary, true
	return s.add(st)
}

// A pythonHost makes Stops a pystops.Host.
type pythonHost struct{ *Stops }

// Bound reports whether a stop belongs to the process.
func (h pythonHost) Bound(st *breakpoints.Stop) bool { return h.binds[st.ID] != nil }

// AtStop is what a thread does that has come to the place of a stop.
func (h pythonHost) AtStop(st *breakpoints.Stop, t *inferior.Thread) inferior.Action {
	return h.atStop(st, t)
}

// NoteCost says by what a stop is found if that costs.
func (h pythonHost) NoteCost(st *breakpoints.Stop) { h.noteCost(st) }

// NoteFailed says once why a stop, or a part of its condition, had no value.
func (h pythonHost) NoteFailed(st *breakpoints.Stop, what string, err error) {
	noteFailed(h.target, st, what, err)
}

// WhyNoRegister says why no debug register is free.
func (h pythonHost) WhyNoRegister() string { return h.whyNoRegister(nil) }

// Plant plants a trap.
func (h pythonHost) Plant(a addr.Run, handler inferior.Handler) (*inferior.Trap, error) {
	return h.planes.plant(a, handler)
}
