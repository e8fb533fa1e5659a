package session

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/spelling"
)

// occurrences are numbered stops at what a program does wherever it is: system calls, and
// libraries that come and go.
type occurrences struct{ stops *Stops }

// SystemCalls sets a stop before system calls are made, and when they have returned:
// those of the names or numbers, or all. condition may be "".
func (c *Catches) SystemCalls(calls []string, condition string) (*breakpoints.Stop, error) {
	spec := breakpoints.Spec{Kind: breakpoints.StopSystemCall, Location: strings.Join(append([]string{"syscall"}, calls...), " ")}
	for _, word := range calls {
		n, ok := inferior.SystemCallNumber(word)
		if !ok {
			var err error
			if n, err = strconv.ParseUint(word, 0, 32); err != nil {
				hint := ""
				if near := spelling.Nearest(word, inferior.SystemCallNames()); near != "" {
					hint = fmt.Sprintf(": did you mean %s?", near)
				}
				return nil, fmt.Errorf("catch syscall: no system call %q%s", word, hint)
			}
		}
		spec.Calls = append(spec.Calls, n)
	}
	return c.add(spec, condition)
}

// Libraries sets a stop at libraries that are loaded, or unloaded, whose path matches
// a regular expression. condition may be "".
func (c *Catches) Libraries(unload bool, expr, condition string) (*breakpoints.Stop, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	spec := breakpoints.Spec{Kind: breakpoints.StopLoad, Location: strings.TrimSpace("load " + expr), Regexp: re}
	if unload {
		spec.Kind, spec.Location = breakpoints.StopUnload, strings.TrimSpace("unload "+expr)
	}
	return c.add(spec, condition)
}

func (c *Catches) add(spec breakpoints.Spec, condition string) (*breakpoints.Stop, error) {
	if c.mode() == Saved {
		return nil, ErrSaved
	}
	st := breakpoints.NewStop(spec)
	if err := st.SetCondition(condition); err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	return c.stops.add(st)
}

// systemCall stops a thread before or behind a system call that is caught.
func (o occurrences) systemCall(t *inferior.Thread, c inferior.SystemCall) inferior.Action {
	if !c.Before && !c.Returned {
		return inferior.Resume
	}
	return o.occurs(t, func() string { return systemCallText(c) }, func(st *breakpoints.Stop) bool {
		return st.Kind == breakpoints.StopSystemCall && (len(st.Calls) == 0 || slices.Contains(st.Calls, c.Number))
	})
}

// libraries stops a thread that has loaded or unloaded libraries.
func (o occurrences) libraries(t *inferior.Thread, added, removed []inferior.Module) inferior.Action {
	if t == nil { // not by the dynamic linker: an exec, or an attach
		return inferior.Resume
	}
	action := inferior.Resume
	for _, change := range []struct {
		kind breakpoints.StopKind
		verb string
		mods []inferior.Module
	}{{breakpoints.StopLoad, "loaded ", added}, {breakpoints.StopUnload, "unloaded ", removed}} {
		var all []string
		for _, m := range change.mods {
			all = append(all, filepath.Base(m.Name))
		}
		a := o.occurs(t, func() string { return change.verb + strings.Join(all, ", ") }, func(st *breakpoints.Stop) bool {
			return st.Kind == change.kind && slices.ContainsFunc(change.mods, func(m inferior.Module) bool { return st.Regexp.MatchString(m.Name) })
		})
		if a == inferior.StopHere {
			action = a
		}
	}
	return action
}

// occurs is what the stops say that are about something which has happened; text says what.
func (o occurrences) occurs(t *inferior.Thread, text func() string, about func(*breakpoints.Stop) bool) inferior.Action {
	action := inferior.Resume
	for _, st := range o.stops.All() {
		if about(st) && o.stops.stops(st, t) {
			o.stops.demand.hits = append(o.stops.demand.hits, hit{stop: st, thread: t, occurred: text()})
			action = inferior.StopHere
		}
	}
	return action
}

// systemCallText says what a thread is about to do or has done.
func systemCallText(c inferior.SystemCall) string {
	name := inferior.SystemCallName(c.Number)
	if name == "" {
		name = fmt.Sprintf("system call %d", c.Number)
	}
	switch {
	case c.Before:
		return "call to " + name
	case -4095 <= c.Result && c.Result < 0:
		return fmt.Sprintf("returned from %s = %d (%v)", name, c.Result, syscall.Errno(-c.Result))
	case c.Result > 1<<32:
		return fmt.Sprintf("returned from %s = %#x", name, c.Result)
	}
	return fmt.Sprintf("returned from %s = %d", name, c.Result)
}

// caughtCalls tells the system calls that stops are about, nil: none.
func (d *demand) caughtCalls() func(number uint64) bool {
	var of []breakpoints.Spec
	for _, st := range d.stops.All() {
		if st.Kind == breakpoints.StopSystemCall && st.Enabled {
			of = append(of, st.Spec)
		}
	}
	if of == nil {
		return nil
	}
	return func(number uint64) bool {
		return slices.ContainsFunc(of, func(s breakpoints.Spec) bool { return len(s.Calls) == 0 || slices.Contains(s.Calls, number) })
	}
}
