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
	"hdb/inferior/x86"
	"hdb/internal/spelling"
	"hdb/session/target"
)

// occurrences are numbered stops at what a program does wherever it is: system calls,
// libraries that come and go, forks, execs, and signals that arrive.
type occurrences struct{ stops *Stops }

// SystemCalls sets a stop before system calls are made, and when they have returned:
// those of the names or numbers, or all. condition may be "".
func (c *Catches) SystemCalls(calls []string, condition string) (*breakpoints.Stop, error) {
	spec := breakpoints.Spec{Kind: breakpoints.StopSystemCall, Location: strings.Join(append([]string{"syscall"}, calls...), " ")}
	for _, word := range calls {
		n, ok := x86.SystemCallNumber(word)
		if !ok {
			var err error
			if n, err = strconv.ParseUint(word, 0, 32); err != nil {
				hint := ""
				if near := spelling.Nearest(word, x86.SystemCallNames()); near != "" {
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

// Process sets a stop at a fork, vfork or exec. condition may be "".
func (c *Catches) Process(event, condition string) (*breakpoints.Stop, error) {
	kind, ok := processEvents[event]
	if !ok {
		return nil, fmt.Errorf("catch %q: not known: use fork, vfork or exec", event)
	}
	return c.add(breakpoints.Spec{Kind: kind, Location: event}, condition)
}

// processEvents are the events by which a process becomes another or two.
var processEvents = map[string]breakpoints.StopKind{
	"fork": breakpoints.StopFork, "vfork": breakpoints.StopVfork, "exec": breakpoints.StopExec,
}

// Arriving sets a stop at signals that arrive: those of the names or numbers; without one
// all but SIGINT and SIGTRAP, which debuggers use; "all": those too. condition may be "".
func (c *Catches) Arriving(signals []string, condition string) (*breakpoints.Stop, error) {
	numbers, err := signalNumbers(signals)
	if err != nil {
		return nil, fmt.Errorf("catch signal: %w", err)
	}
	words := []string{"signal"}
	switch {
	case slices.Equal(signals, []string{"all"}):
		words = append(words, "all")
	default:
		for _, n := range numbers {
			words = append(words, inferior.SignalName(n))
		}
	}
	return c.add(breakpoints.Spec{Kind: breakpoints.StopSignal, Location: strings.Join(words, " "), Signals: numbers}, condition)
}

// signalNumbers reads what catch signal names; nil: none.
func signalNumbers(signals []string) ([]int, error) {
	all := inferior.DefaultSignals()
	var numbers []int
	if slices.Equal(signals, []string{"all"}) {
		for i := range all {
			numbers = append(numbers, i+1)
		}
		return numbers, nil
	}
	for _, word := range signals {
		n, err := inferior.SignalNumber(word)
		if err != nil {
			var names []string
			for _, row := range all {
				names = append(names, row.Name)
			}
			if near := spelling.Nearest(strings.ToUpper(word), names); near != "" {
				return nil, fmt.Errorf("no signal %q: did you mean %s?", word, near)
			}
			return nil, fmt.Errorf("no signal %q: see info signals", word)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Uncatch deletes the stops that catch has set with the same words: event is fork, vfork, exec or signal, and
// signals are the names behind signal, or all.
func (c *Catches) Uncatch(event string, signals []string) error {
	kind, ok := processEvents[event]
	if event == "signal" {
		kind, ok = breakpoints.StopSignal, true
	}
	if !ok {
		return fmt.Errorf("uncatch %s: a numbered stop: use delete N", event)
	}
	numbers, err := signalNumbers(signals)
	if err != nil {
		return fmt.Errorf("uncatch signal: %w", err)
	}
	found := false
	for _, st := range c.stops.All() {
		if st.Kind != kind || !slices.Equal(st.Signals, numbers) {
			continue
		}
		found = true
		if err := c.stops.Delete(st.ID); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("uncatch %s: no such catchpoint: see info breakpoints", strings.Join(append([]string{event}, signals...), " "))
	}
	return nil
}

func (c *Catches) add(spec breakpoints.Spec, condition string) (*breakpoints.Stop, error) {
	if c.target.Mode() == target.Saved {
		return nil, target.ErrSaved
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
	if o.leavingCall(t, c) == inferior.StopHere {
		return inferior.StopHere
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

// fork stops a thread that has made a process.
func (o occurrences) fork(by *inferior.Thread, _ int, vfork bool) inferior.Action {
	kind := breakpoints.StopFork
	if vfork {
		kind = breakpoints.StopVfork
	}
	return o.occurs(by, nil, func(st *breakpoints.Stop) bool { return st.Kind == kind })
}

// exec stops a thread that has executed another program.
func (o occurrences) exec(t *inferior.Thread) inferior.Action {
	return o.occurs(t, nil, func(st *breakpoints.Stop) bool { return st.Kind == breakpoints.StopExec })
}

// signal stops a thread at which a signal arrives, as a run to the program's exit wants it. As in gdb, the stops for it, whether or not
// their conditions hold, take the place of what handle says.
func (o occurrences) signal(t *inferior.Thread, sig *inferior.Signal) (caught bool, a inferior.Action) {
	about := func(st *breakpoints.Stop) bool {
		return st.Kind == breakpoints.StopSignal && catchesSignal(st.Signals, sig.Number)
	}
	o.stops.arrivals.note(sig.Number)
	l := o.stops.demand.leaving
	caught = !(l != nil && l.signal(t, sig)) && slices.ContainsFunc(o.stops.All(), func(st *breakpoints.Stop) bool { return st.Enabled && about(st) })
	return caught, o.occurs(t, nil, about)
}

// catchesSignal reports whether a stop at signals is about one of that number.
func catchesSignal(numbers []int, n int) bool {
	if len(numbers) == 0 {
		return n != int(syscall.SIGINT) && n != int(syscall.SIGTRAP)
	}
	return slices.Contains(numbers, n)
}

// occurs is what the stops say that are about something which has happened. text says what;
// nil: the report does, by the reason of the stop.
func (o occurrences) occurs(t *inferior.Thread, text func() string, about func(*breakpoints.Stop) bool) inferior.Action {
	action := inferior.Resume
	for _, st := range o.stops.All() {
		if about(st) && o.stops.stops(st, t) {
			h := hit{stop: st, thread: t}
			if text != nil {
				h.occurred = text()
			}
			o.stops.demand.hits = append(o.stops.demand.hits, h)
			action = inferior.StopHere
		}
	}
	return action
}

// systemCallText says what a thread is about to do or has done.
func systemCallText(c inferior.SystemCall) string {
	name := x86.SystemCallName(c.Number)
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
func (d *demands) caughtCalls() func(number uint64) bool {
	var of []breakpoints.Spec
	for _, st := range d.stops.All() {
		if st.Kind == breakpoints.StopSystemCall && st.Enabled {
			of = append(of, st.Spec)
		}
	}
	exits := d.leaving != nil && d.leaving.calls
	if of == nil && !exits {
		return nil
	}
	return func(number uint64) bool {
		return exits && number == exitGroup || slices.ContainsFunc(of, func(s breakpoints.Spec) bool { return len(s.Calls) == 0 || slices.Contains(s.Calls, number) })
	}
}
