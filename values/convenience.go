package values

import (
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// convenience is a variable of the user's or of the debugger's. ok is false for a name
// that is neither.
func (w *World) convenience(name string) (v Value, ok bool) {
	if v, ok := w.vars[name]; ok {
		return v, true
	}
	if v, ok := w.word(name); ok {
		return v, true
	}
	switch {
	case name == "_siginfo" && w.SignalInfo != nil:
		b := w.SignalInfo()
		return Value{Type: w.signalInfoType(), data: b}, len(b) > 0
	case name == "_exception" && w.Exception != nil:
		if at, typeName, ok := w.Exception(); ok {
			return MemoryValue(w.thrownType(typeName), at), true
		}
	}
	return Value{}, false
}

// thrownType is the type of an exception by its std::type_info's name, which is all that may be known of a library's.
func (w *World) thrownType(name string) *Type {
	if t := w.Named(name); t != nil && !t.complete().decl {
		return t.complete()
	}
	if v, err := w.Eval(nil, fmt.Sprintf("(%s *)0", name)); err == nil && !v.Type.Strip().Elem().Strip().decl {
		return v.Type.Strip().Elem()
	}
	if target, ok := strings.CutSuffix(name, "*"); ok {
		return w.thrownType(target).PointerTo()
	}
	return &Type{Kind: Struct, Tag: dwarf.TagClassType, Name: name, prog: &w.Program, full: true, decl: true}
}

// setVar keeps a value under $name.
func (w *World) setVar(name string, v Value) {
	if w.vars == nil {
		w.vars = map[string]Value{}
	}
	w.vars[name] = v
}

// Examined sets $_ to an address that was shown, and $__ to what was there. size is the size of one
// unit; a unit of no number size is a char.
func (w *World) Examined(at addr.Run, size int, b []byte) {
	names := map[int]string{2: "short", 4: "int", 8: "long"}
	t := w.Char()
	if name := names[size]; name != "" {
		t = w.cType(name)
	}
	w.setVar("_", Number(t.PointerTo(), uint64(at)))
	v := MemoryValue(t, at)
	if int64(len(b)) >= t.size {
		v.data = slices.Clone(b[:t.size])
	}
	w.setVar("__", v)
}

// A Named is a convenience variable.
type Named struct {
	Name  string // without $
	Value Value
}

// Conveniences are the convenience variables that have a value, those that the user has
// set first, each by name. words are the debugger's.
func (w *World) Conveniences(words []string) []Named {
	var out []Named
	for name, v := range w.vars {
		out = append(out, Named{name, v})
	}
	slices.SortFunc(out, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range words {
		if _, ok := w.vars[name]; ok {
			continue
		}
		v, ok := w.convenience(name)
		if !ok {
			v = w.void()
		}
		out = append(out, Named{name, v})
	}
	return out
}

// signalInfoType is siginfo_t of Linux on x86-64, as gdb names its members
// (include/uapi/asm-generic/siginfo.h).
func (w *World) signalInfoType() *Type {
	i := w.cType("int")
	u := w.cType("unsigned int")
	l := w.cType("long")
	short := w.cType("short")
	pointer := w.voidPointer()
	aggregate := func(tag dwarf.Tag, name string, size int64, fields ...Field) *Type {
		return &Type{Kind: Struct, Tag: tag, Name: name, size: size, prog: &w.Program, full: true, lang: dwarf.LangC, fields: fields}
	}
	at := func(off int64, name string, t *Type) Field { return Field{Name: name, Type: t, Offset: off} }
	structure := func(size int64, fields ...Field) *Type { return aggregate(dwarf.TagStructureType, "", size, fields...) }

	value := aggregate(dwarf.TagUnionType, "sigval", 8, at(0, "sival_int", i), at(0, "sival_ptr", pointer))
	details := aggregate(dwarf.TagUnionType, "", 112,
		at(0, "_pad", i.ArrayOf(28)),
		at(0, "_kill", structure(8, at(0, "si_pid", i), at(4, "si_uid", u))),
		at(0, "_timer", structure(16, at(0, "si_tid", i), at(4, "si_overrun", i), at(8, "si_sigval", value))),
		at(0, "_rt", structure(16, at(0, "si_pid", i), at(4, "si_uid", u), at(8, "si_sigval", value))),
		at(0, "_sigchld", structure(32, at(0, "si_pid", i), at(4, "si_uid", u), at(8, "si_status", i), at(16, "si_utime", l), at(24, "si_stime", l))),
		at(0, "_sigfault", structure(32, at(0, "si_addr", pointer), at(8, "_addr_lsb", short), at(16, "_addr_bnd", structure(16, at(0, "_lower", pointer), at(8, "_upper", pointer))))),
		at(0, "_sigpoll", structure(16, at(0, "si_band", l), at(8, "si_fd", i))))
	return structure(128, at(0, "si_signo", i), at(4, "si_errno", i), at(8, "si_code", i), at(16, "_sifields", details))
}

// Keep adds a value to the history and returns its number. The history has a copy of the
// value, so that later changes of memory do not show.
func (w *World) Keep(v Value) int {
	if v.err != nil || v.Type.Strip().Kind == Void {
		return 0
	}
	return w.KeepAny(v)
}

// KeepAny is Keep, also of a void value and of one that was optimized out.
func (w *World) KeepAny(v Value) int {
	w.History = append(w.History, w.Load(v))
	return len(w.History)
}

// history is entry n of the history.
func (w *World) history(n int, text string) (Value, error) {
	if n < 1 || n > len(w.History) {
		if len(w.History) == 0 && strings.Trim(text, "$") == "" {
			return w.void(), nil
		}
		return Value{}, fmt.Errorf("%s: the history has %d values", text, len(w.History))
	}
	return w.History[n-1], nil
}
