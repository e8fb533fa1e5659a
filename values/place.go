package values

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/unwind"
)

// A Place is the location of an expression's value, for commands that watch or show
// memory.
type Place struct {
	Type     string
	Addr     addr.Run
	InMemory bool // Addr is the value's
	Function bool
	Local    bool   // in the selected frame's part of the stack
	Size     int    // bytes; 0 not known
	Register string // "" none
	Lost     bool   // optimized out here
	Pointer  bool   // of pointer type
	Struct   bool   // of a struct's, class's or union's type
}

// Place is the location of an expression's value. With a nil frame, only static variables
// are known.
func (w *World) Place(f *Frame, src string) (Place, error) {
	e := w.evaluator(f)
	n, err := e.parse(src)
	if err != nil {
		return Place{}, err
	}
	v, err := e.evalAny(n)
	if err != nil {
		return Place{}, err
	}
	if v.Type == nil {
		return Place{}, fmt.Errorf("%s is no value", src)
	}
	if v = w.unref(v); v.err != nil && v.err != errLost {
		return Place{}, v.err
	}
	t := v.Type.Strip()
	p := Place{Type: v.Type.String(), Function: t.Kind == Function, Pointer: t.Kind == Pointer, Struct: t.Kind == Struct, Size: int(v.Type.Size()), Lost: v.err != nil}
	if v.Type.untyped {
		p.Size = 0
	}
	p.Addr, p.InMemory = v.Addr()
	if v.place == inRegister {
		p.Register = v.reg.String()
		if v.reg > unwind.RIP {
			p.Register = registerName(uint64(v.reg))
		}
	}
	if p.InMemory && f != nil {
		p.Local = f.holds(p.Addr)
	}
	return p, nil
}

// Address is the value of an expression as an address, for commands that need one, and what
// numbers are there, if its type tells that.
func (w *World) Address(f *Frame, src string) (addr.Run, Unit, error) {
	v, err := w.Eval(f, src)
	if err != nil {
		return 0, Unit{}, err
	}
	v = w.unref(v)
	if v.Type.Strip().Kind == Struct {
		if a, ok := v.Addr(); ok {
			return a, Unit{}, nil
		}
	}
	a, err := w.evaluator(f).ops.address(v)
	return a, v.unit(), err
}
