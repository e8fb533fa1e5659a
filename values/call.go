package values

import (
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
	"hdb/unwind"
	"hdb/unwind/dwop"
	"hdb/values/calls"
)

// maxResult bounds the bytes that a function may return in its caller's memory.
const maxResult = 1 << 16

// A callee is a function to be called.
type callee struct {
	at   addr.Run
	typ  *Type   // its first parameter is the object's address, if it is called on one
	ret  *Type   // nil: nothing tells
	self []Value // the object that it is called on, if any
}

// functions calls functions of the program: which one a name means, by its arguments and
// the object that it is called on, and what it returns.
type functions struct {
	lookup
	ops operators
	lib library
	w   *World
	// mayCall allows functions to be called. With typesOnly their types alone are asked, and
	// nothing is called.
	mayCall, typesOnly bool
}

// callFunction calls the function that n names and computes its result. As says what it
// returns where debug information does not; nil: nothing does.
func (e *evaluator) callFunction(n *node, as *Type) (Value, error) {
	if err := e.callable(); err != nil {
		return Value{}, err
	}
	args, err := e.operands(n.b)
	if err != nil {
		return Value{}, err
	}
	if n.a.op == nodeName {
		c, ok, err := e.namedMember(n.a.text, args)
		if err != nil {
			return Value{}, err
		}
		if ok {
			return e.invoke(c, args)
		}
	}
	fn, err := e.evalAny(n.a)
	if err != nil {
		return Value{}, err
	}
	if n.a.op == nodeName {
		if fn, err = e.overloaded(n.a.text, fn, args); err != nil {
			return Value{}, err
		}
	}
	return e.callValue(fn, args, as)
}

// callable is the error of a call where none is made.
func (e *functions) callable() error {
	if !e.typesOnly && (e.w.Call == nil || !e.mayCall) {
		return errNoCalls
	}
	return nil
}

// operands computes the arguments of a call.
func (e *evaluator) operands(list *node) (args []Value, err error) {
	for ; list != nil; list = list.b {
		v, err := e.eval(list.a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

// callValue calls the function that a value is or points to.
func (e *functions) callValue(fn Value, args []Value, as *Type) (Value, error) {
	var err error
	if fn = e.prog.unref(fn); fn.Type.Strip().Kind == Pointer {
		if fn, err = e.prog.Deref(fn); err != nil {
			return Value{}, err
		}
	}
	if fn.err != nil {
		return Value{}, fn.err
	}
	at, ok := fn.Addr()
	t := fn.Type.Strip()
	if t.Kind == Struct {
		return e.callMember(fn, "operator()", args)
	}
	if t.Kind != Function || !ok {
		return Value{}, mismatch([]Value{fn}, "a value of type %s is not a function", fn.Type)
	}
	c := callee{at: at, typ: t, ret: as}
	if described(t) {
		c.ret = t.Elem()
	}
	return e.invoke(c, args)
}

// invoke has the program run a function, and reads its result.
func (e *functions) invoke(f callee, args []Value) (Value, error) {
	if f.ret == nil {
		return Value{}, errors.New("the function's return type is unknown: cast the call to it, as in (int)getpid()")
	}
	if e.typesOnly {
		return e.standIn(f.ret), nil
	}
	if err := e.callable(); err != nil {
		return Value{}, err
	}
	var err error
	frame := &Frame{PC: addr.PC(f.at)}
	if frame.Module, f.at, err = e.w.implementation(f.at); err != nil {
		return Value{}, err
	}
	pieces, err := returnPieces(f.ret, frame)
	if err != nil {
		return Value{}, err
	}
	c := &caller{operators: e.ops, Call: calls.Call{Function: f.at}, rust: f.typ.Rust() && mangled(frame)}
	inMemory := pieces == nil
	if inMemory {
		if f.ret.Size() > maxResult {
			return Value{}, fmt.Errorf("the function returns %d bytes", f.ret.Size())
		}
		c.General = []calls.Argument{{Data: make([]byte, f.ret.Size())}}
	}
	if err := c.arguments(f, args); err != nil {
		return Value{}, err
	}
	var out Value
	err = e.w.Call(c.Call, func(after *Frame) error {
		switch {
		case f.ret.Strip().Kind == Void:
			out = Value{Type: f.ret}
			return nil
		case inMemory:
			rax, _ := after.Regs.Get(unwind.RAX)
			out = MemoryValue(f.ret, addr.Run(rax))
		default:
			out = (&locator{mod: e.prog.module(frame.Module), frame: after}).assemble(f.ret, pieces)
		}
		b, err := e.prog.Bytes(out)
		out = Value{Type: f.ret, data: b}
		return err
	})
	return out, err
}

// errNoCalls is the error of a call where functions of the program are not called, as in
// conditions.
var errNoCalls = errors.New("functions of the program cannot be called")

// standIn is a value of a type in place of a result of which only the type is asked. It is 1:
// operators have a type for that.
func (e *functions) standIn(t *Type) Value {
	switch s := t.Strip(); {
	case t.isFloat() && s.Size() <= 8:
		return floating(t, 1)
	case s.Kind == Pointer, s.Kind == Reference, s.Kind == RvalueReference, t.isInteger():
		return Number(t, 1)
	}
	return LostValue(t, errLost)
}

// implementation is the module of a function, and its address: that which its resolver
// tells, if it has one (STT_GNU_IFUNC).
func (w *World) implementation(at addr.Run) (Module, addr.Run, error) {
	for _, m := range w.Modules() {
		fn, ok := m.Obj.FunctionAt(at.File(m.Bias))
		if !ok {
			continue
		}
		if !fn.IFunc || fn.Low.Run(m.Bias) != at {
			return m, at, nil
		}
		err := w.Call(calls.Call{Function: at}, func(after *Frame) error {
			rax, _ := after.Regs.Get(unwind.RAX)
			at = addr.Run(rax)
			return nil
		})
		return m, at, err
	}
	return Module{}, at, nil
}

// list is the array of {a, b}. Its elements have one type, as in gdb.
func (e *evaluator) list(args *node) (Value, error) {
	elements, err := e.operands(args)
	if err != nil {
		return Value{}, err
	}
	if len(elements) == 0 {
		return Value{}, errors.New("{} has no elements")
	}
	var data []byte
	t := e.prog.unref(elements[0]).Type
	for _, v := range elements {
		v = e.prog.unref(v)
		if !sameTypes(v.Type.Strip(), t.Strip()) {
			return Value{}, fmt.Errorf("{...}: elements of types %s and %s: cast them to one", t, v.Type)
		}
		b, err := e.prog.Bytes(v)
		if err != nil {
			return Value{}, err
		}
		data = append(slices.Clip(data), b...)
	}
	return Value{Type: t.ArrayOf(int64(len(elements))), data: data}, nil
}

// AsReturned is the value of an expression in the registers in which the function of frame
// f returns its value, by their numbers of DWARF.
func (w *World) AsReturned(f *Frame, src string) (map[uint64][]byte, error) {
	t, err := w.ReturnType(f)
	if err != nil {
		return nil, err
	}
	if t.Strip().Kind == Void {
		return nil, errors.New("the function returns nothing")
	}
	pieces, err := returnPieces(t, f)
	if err != nil {
		return nil, err
	}
	if pieces == nil {
		return nil, fmt.Errorf("a %s is returned in the caller's memory: set it there, and use return without a value", t)
	}
	v, err := w.Eval(f, src)
	if err != nil {
		return nil, err
	}
	if t.Strip().Kind != Struct || v.Type.Strip() != t.Strip() {
		if v, err = w.evaluator(f).ops.cast(v, t); err != nil {
			return nil, err
		}
	}
	b, err := w.Bytes(v)
	if err != nil {
		return nil, err
	}
	out := map[uint64][]byte{}
	for _, p := range pieces {
		n := min(p.Bits/8, uint64(len(b)))
		if p.Kind == dwop.InRegister {
			out[p.Reg] = append(slices.Clone(b[:n]), make([]byte, p.Bits/8-n)...)
		}
		b = b[n:]
	}
	return out, nil
}
