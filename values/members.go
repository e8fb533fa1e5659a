package values

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// address is the value of a pointer or integer, or the address of an array or function.
func (e *evaluator) address(v Value) (addr.Run, error) {
	switch v.Type.Strip().Kind {
	case Array, Function:
		if a, ok := v.Addr(); ok {
			return a, nil
		}
		return 0, errors.New("the value does not lie in memory")
	case Struct:
		return 0, fmt.Errorf("a value of type %s is no address", v.Type)
	}
	n, err := e.prog.Uint(v)
	return addr.Run(n), err
}

// Address is the value of an expression as an address, for commands that need one.
func (w *World) Address(f *Frame, src string) (addr.Run, error) {
	v, err := w.Eval(f, src)
	if err != nil {
		return 0, err
	}
	v = w.unref(v)
	if v.Type.Strip().Kind == Struct {
		if a, ok := v.Addr(); ok {
			return a, nil
		}
	}
	return w.evaluator(f).address(v)
}

func (e *evaluator) member(v Value, name string, arrow bool) (Value, error) {
	v = e.prog.unref(v)
	if t := v.Type.Strip(); t.Kind == Pointer { // gdb takes . for -> too
		var err error
		if v, err = e.prog.Deref(v); err != nil {
			return Value{}, err
		}
		v = e.prog.unref(v)
	} else if arrow && t.Kind == Struct {
		if p, ok := v.smartPointer(); ok {
			return e.member(p, name, true)
		}
	}
	m, err := e.prog.memberNamed(v, name)
	if err != nil && v.Type.Rust() { // Rust's . looks through smart pointers
		if p, ok := v.smartPointer(); ok {
			return e.member(p, name, true)
		}
	}
	return m, err
}

// staticMember finds the definition of a static member.
func (p *Program) staticMember(t *Type, f *Field) (Value, bool) {
	if c, ok := f.die.Attr(dwarf.AtConstValue); ok {
		return constant(f.Type, c), true
	}
	for _, d := range f.Type.mod.names().Variables(f.Name) {
		if n := named(d); n.Off == f.die.Off && n.Unit == f.die.Unit {
			return f.Type.mod.valueOf(nil, d), true
		}
	}
	if t.Name == "" {
		return Value{}, false
	}
	statics := lookup{prog: p}
	for _, m := range p.modules(nil) {
		if list := statics.variablesNamed(m, m.placed(f.Name), t.Name+"::"+f.Name, []string{""}); len(list) > 0 {
			return statics.entityValue(m, list[0]), true
		}
	}
	return Value{}, false
}

func (e *evaluator) index(a, i Value) (Value, error) {
	a, i = e.prog.unref(a), e.prog.unref(i)
	if p := a.printer(); p != nil && p.Keyed {
		return e.keyed(a, i)
	}
	n, err := e.prog.Uint(i)
	if err != nil {
		return Value{}, err
	}
	if !i.Type.isInteger() {
		return Value{}, fmt.Errorf("an index of type %s", i.Type)
	}
	t := a.Type.Strip()
	switch t.Kind {
	case Array:
		if a.place != inMemory && (int64(n) < 0 || t.Count() >= 0 && int64(n) >= t.Count()) {
			return Value{}, fmt.Errorf("no such element: the array has %d", t.Count())
		}
		elem := t.Row()
		if at, ok := a.Addr(); ok {
			return MemoryValue(elem, at+addr.Run(int64(n)*elem.Size())), nil
		}
		return a.Part(elem, int64(n)*elem.Size()), nil
	case Pointer:
		p, err := e.add(a, int64(n))
		if err != nil {
			return Value{}, err
		}
		return e.prog.Deref(p)
	case Struct:
		if v, ok := a.element(int64(n)); ok {
			return v, nil
		}
	}
	return Value{}, fmt.Errorf("a value of type %s has no elements", a.Type)
}

// repeat is gdb's a@n, an array of n values that begins at a.
func (e *evaluator) repeat(a, n Value) (Value, error) {
	count, err := e.prog.Uint(n)
	if err != nil {
		return Value{}, err
	}
	if int64(count) < 1 || count > 1<<32 {
		return Value{}, fmt.Errorf("@ needs a number from 1 on, not %d", int64(count))
	}
	at, ok := a.Addr()
	if !ok {
		return Value{}, errors.New("only a value in memory can be the first of several")
	}
	return MemoryValue(a.Type.ArrayOf(int64(count)), at), nil
}
