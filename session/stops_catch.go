package session

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values/printers"
)

// runtimeEvents are functions of the languages' runtimes that stand for an event (Itanium
// C++ ABI: Exception Handling, section 2.4 and 2.5; the Rust standard library).
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

// caught is the stop at an event of a runtime that is reported, nil: none.
func (r *Report) caught() *breakpoints.Stop {
	i := slices.IndexFunc(r.Hits, func(st *breakpoints.Stop) bool { return st.Caught != "" })
	if i < 0 || r.Event != nil {
		return nil
	}
	return r.Hits[i]
}

// tellThrown adds the type of the exception to the report of a throw or a catch.
func (x *Execution) tellThrown(r *Report, t *inferior.Thread) {
	st := r.caught()
	if st == nil || t == nil {
		return
	}
	regs, err := t.Regs()
	if err != nil {
		return
	}
	switch st.Caught {
	case "throw":
		r.Thrown = x.typeOf(addr.Run(regs.Arg(1))) // __cxa_throw(object, typeinfo, destructor)
	case "catch":
		if info, err := x.caughtType(addr.Run(regs.Arg(0))); err == nil { // else it is of another runtime
			r.Thrown = x.typeOf(info)
		}
	}
}

// Where the type of an exception is, by the address of its _Unwind_Exception, in libstdc++
// and libc++abi: struct __cxa_exception ends with that and begins with the type. The object
// thrown lies behind it. In libstdc++ a dependent exception, as std::rethrow_exception makes
// them, has a pointer to the object in that place; the class of exceptions tells.
const (
	typeBefore      = 80 // of the _Unwind_Exception
	typeBeforeValue = 112
	unwindHeader    = 32                 // bytes of the _Unwind_Exception
	dependentClass  = 0x474e5543432b2b01 // "GNUCC++\x01"
)

// about reports whether a stop at exceptions is about the one that a thread throws or
// begins to handle.
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
		if info, err = s.caughtType(addr.Run(regs.Arg(0))); err != nil {
			return true // the user may have waited for it
		}
	}
	name := s.typeOf(info)
	return name == "" || st.Thrown.MatchString(name)
}

// caughtType is the address of the type of an exception, of which header is the
// _Unwind_Exception, as __cxa_begin_catch is given it.
func (c *common) caughtType(header addr.Run) (addr.Run, error) {
	class, err := c.readPointer(header)
	if err != nil {
		return 0, err
	}
	first, err := c.readPointer(header - typeBefore)
	if err == nil && class == dependentClass {
		return c.readPointer(first - typeBeforeValue)
	}
	return first, err
}

// maxTypeName bounds the name of a type in the inferior.
const maxTypeName = 512

// thrownAt is the object that is thrown, or begins to be handled, and the address of its
// type, at the entry of the runtime's function for that event.
func (c *common) thrownAt(event string, regs inferior.Registers) (object, info addr.Run, err error) {
	first := addr.Run(regs.Arg(0))
	switch event {
	case "throw":
		return first, addr.Run(regs.Arg(1)), nil
	case "catch":
		if info, err = c.caughtType(first); err != nil {
			return 0, 0, err
		}
		if class, err := c.readPointer(first); err == nil && class == dependentClass {
			object, err = c.readPointer(first - typeBefore)
			return object, info, err
		}
		return first + unwindHeader, info, nil
	}
	return 0, 0, errors.New("catch " + event + ": the exception is not known there")
}

// typeOf is the type that a std::type_info describes: its second word points to the
// mangled name (Itanium C++ ABI, section 2.9.4). "" if it does not.
func (c *common) typeOf(info addr.Run) string {
	full := c.fullTypeOf(info)
	if full == "" {
		return ""
	}
	return printers.Table{}.TypeName(full)
}

// fullTypeOf is typeOf with all template arguments.
func (c *common) fullTypeOf(info addr.Run) string {
	at, err := c.readPointer(info + 8)
	if err != nil {
		return ""
	}
	var b [maxTypeName]byte
	n, _ := c.proc.ReadAt(b[:], int64(at))
	name, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok || len(name) == 0 {
		return ""
	}
	full, ok := strings.CutPrefix(symbols.Demangle("_ZTS"+strings.TrimPrefix(string(name), "*")), "typeinfo name for ")
	if !ok {
		return ""
	}
	return full
}
