package session

import (
	"bytes"
	"fmt"
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
// begins to handle it, or where Rust panics. condition may be "".
func (c *Catches) Exception(event, condition string) (*breakpoints.Stop, error) {
	function, ok := runtimeEvents[event]
	if !ok {
		return nil, fmt.Errorf("catch %q: not known: use throw, rethrow, catch, panic, syscall, load, unload, fork or exec", event)
	}
	return c.add(breakpoints.Spec{Kind: breakpoints.StopFunction, Location: function, Function: function, Caught: event}, condition)
}

// caught is the stop at an event of a runtime that is reported, nil: none.
func (r *Report) caught() *breakpoints.Stop {
	i := slices.IndexFunc(r.Hits, func(st *breakpoints.Stop) bool { return st.Caught != "" })
	if i < 0 || r.Event != nil {
		return nil
	}
	return r.Hits[i]
}

// tellThrown adds the type of the exception to the report of a throw.
func (x *Execution) tellThrown(r *Report, t *inferior.Thread) {
	if st := r.caught(); st == nil || st.Caught != "throw" || t == nil {
		return
	}
	if regs, err := t.Regs(); err == nil {
		r.Thrown = x.typeOf(addr.Run(regs.Arg(1))) // __cxa_throw(object, typeinfo, destructor)
	}
}

// maxTypeName bounds the name of a type in the inferior.
const maxTypeName = 512

// typeOf is the type that a std::type_info describes: its second word points to the
// mangled name (Itanium C++ ABI, section 2.9.4). "" if it does not.
func (x *Execution) typeOf(info addr.Run) string {
	at, err := x.readPointer(info + 8)
	if err != nil {
		return ""
	}
	var b [maxTypeName]byte
	n, _ := x.proc.ReadAt(b[:], int64(at))
	name, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok || len(name) == 0 {
		return ""
	}
	full, ok := strings.CutPrefix(symbols.Demangle("_ZTS"+strings.TrimPrefix(string(name), "*")), "typeinfo name for ")
	if !ok {
		return ""
	}
	return printers.Table{}.TypeName(full)
}
