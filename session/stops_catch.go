package session

import (
	"fmt"
	"regexp"
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stopped"
)

// runtimeEvents are functions of the languages' runtimes that represent an event (Itanium C++ ABI:
// Exception Handling, section 2.4 and 2.5; the Rust standard library).
var runtimeEvents = map[string]string{
	"throw": "__cxa_throw", "rethrow": "__cxa_rethrow", "catch": "__cxa_begin_catch", "panic": "rust_panic",
}

// Exception sets a stop where the runtime throws an exception, throws it again,
// begins to handle it, or where Rust panics. types is a regular expression about the type
// that is thrown; it and condition may be "".
func (c *Catches) Exception(event, types, condition string) (*breakpoints.Stop, error) {
	function, ok := runtimeEvents[event]
	if !ok {
		return nil, fmt.Errorf("catch %q: not known: use throw, rethrow, catch, panic, syscall, load, unload, signal, fork, vfork or exec", event)
	}
	spec := breakpoints.Spec{Kind: breakpoints.StopFunction, Location: function, Function: function, Caught: event}
	if types != "" {
		if event != "throw" && event != "catch" {
			return nil, fmt.Errorf("catch %s: %q: `if CONDITION` expected: the type of an exception is known at throw and catch", event, types)
		}
		re, err := regexp.Compile(types)
		if err != nil {
			return nil, fmt.Errorf("catch %s: %w", event, err)
		}
		spec.Thrown = re
	}
	return c.add(spec, condition)
}

// thrown is the event of a runtime that one of the stops is at, with the type of the exception of a throw or a
// catch; nil: none.
func (x *Execution) thrown(hits []*breakpoints.Stop, t *inferior.Thread) *stopped.Thrown {
	i := slices.IndexFunc(hits, func(st *breakpoints.Stop) bool { return st.Caught != "" })
	if i < 0 {
		return nil
	}
	e := &stopped.Thrown{Event: hits[i].Caught}
	if t == nil {
		return e
	}
	regs, err := t.Regs()
	if err != nil {
		return e
	}
	switch e.Event {
	case "throw":
		e.Type = x.target.TypeOf(addr.Run(regs.Arg(1))) // __cxa_throw(object, typeinfo, destructor)
	case "catch":
		if info, err := x.target.CaughtType(addr.Run(regs.Arg(0))); err == nil { // else it is of another runtime
			e.Type = x.target.TypeOf(info)
		}
	}
	return e
}

// about reports whether a stop at exceptions is for the one that a thread throws or begins to
// handle.
func (s *Stops) about(st *breakpoints.Stop, t *inferior.Thread) bool {
	if st.Thrown == nil {
		return true
	}
	regs, err := t.Regs()
	if err != nil {
		return true
	}
	info := addr.Run(regs.Arg(1)) // __cxa_throw(object, typeinfo, destructor)
	if st.Caught == "catch" {
		if info, err = s.target.CaughtType(addr.Run(regs.Arg(0))); err != nil {
			return true // the user may have waited for it
		}
	}
	name := s.target.TypeOf(info)
	return name == "" || st.Thrown.MatchString(name)
}
