package values

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind"
)

// A Call is a call of a function of the program, as the System V ABI for AMD64 passes its
// arguments (section 3.2.3).
type Call struct {
	Function addr.Run
	General  []Argument // in the general registers
	Vector   [][]byte   // in the vector registers, 8 bytes at most each
}

// An Argument is a number, or the address of a copy of data in the thread's stack.
type Argument struct {
	N    uint64
	Data []byte // nil: N
}

// Registers of the ABI for arguments.
const (
	maxGeneral = 6
	maxVector  = 8
)

// maxResult bounds the bytes that a function may return in its caller's memory.
const maxResult = 1 << 16

// callFunction calls the function that n names and computes its result. As says what it
// returns where debug information does not; nil: nothing does.
func (e *evaluator) callFunction(n *node, as *Type) (Value, error) {
	if !e.typesOnly && (e.w.Call == nil || !e.calls) {
		return Value{}, errNoCalls
	}
	fn, err := e.evalAny(n.a)
	if err != nil {
		return Value{}, err
	}
	if fn = e.prog.unref(fn); fn.Type.Strip().Kind == Pointer {
		if fn, err = e.prog.Deref(fn); err != nil {
			return Value{}, err
		}
	}
	at, ok := fn.Addr()
	t := fn.Type.Strip()
	if t.Kind != Function || !ok {
		return Value{}, fmt.Errorf("a value of type %s is no function", fn.Type)
	}
	ret := as
	if described(t) {
		ret = t.Elem()
	}
	if ret == nil {
		return Value{}, errors.New("no debug information tells what the function returns: cast the call to its type, as in (int)getpid()")
	}
	if e.typesOnly {
		return e.standIn(ret), nil
	}
	frame := &Frame{PC: addr.PC(at)}
	if frame.Module, at, err = e.w.implementation(at); err != nil {
		return Value{}, err
	}
	pieces, err := returnPieces(ret, frame)
	if err != nil {
		return Value{}, err
	}
	c := &caller{operators: e.ops, Call: Call{Function: at}}
	inMemory := pieces == nil
	if inMemory {
		if ret.Size() > maxResult {
			return Value{}, fmt.Errorf("the function returns %d bytes", ret.Size())
		}
		c.General = []Argument{{Data: make([]byte, ret.Size())}}
	}
	if err := e.arguments(c, t, n.b); err != nil {
		return Value{}, err
	}
	var out Value
	err = e.w.Call(c.Call, func(after *Frame) error {
		switch {
		case ret.Strip().Kind == Void:
			out = Value{Type: ret}
			return nil
		case inMemory:
			rax, _ := after.Regs.Get(unwind.RAX)
			out = MemoryValue(ret, addr.Run(rax))
		default:
			out = (&locator{mod: e.prog.module(frame.Module), frame: after}).assemble(ret, pieces)
		}
		b, err := e.prog.Bytes(out)
		out = Value{Type: ret, data: b}
		return err
	})
	return out, err
}

// errNoCalls is the error of a call where functions of the program are not called, as in
// conditions.
var errNoCalls = errors.New("functions of the program are not called")

// standIn is a value of a type in place of a result of which only the type is asked. It is 1:
// operators have a type for that.
func (e *evaluator) standIn(t *Type) Value {
	switch s := t.Strip(); {
	case t.isFloat() && s.Size() <= 8:
		return Number(t, floatBits(1, int(s.Size())))
	case s.Kind == Pointer, s.Kind == Reference, s.Kind == RvalueReference, t.isInteger():
		return Number(t, 1)
	}
	return LostValue(t, errLost)
}

// described tells whether debug information has the types of a function. That of an
// assembler has its name only.
func described(fn *Type) bool { return fn.die.Valid() && fn.lang != dwarf.LangAssembler }

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
		err := w.Call(Call{Function: at}, func(after *Frame) error {
			rax, _ := after.Regs.Get(unwind.RAX)
			at = addr.Run(rax)
			return nil
		})
		return m, at, err
	}
	return Module{}, at, nil
}

// arguments computes the arguments of a call and passes them.
func (e *evaluator) arguments(c *caller, fn *Type, list *node) error {
	params, open := parameters(fn)
	n := 0
	for ; list != nil; list = list.b {
		v, err := e.eval(list.a)
		if err != nil {
			return err
		}
		var to *Type
		if n < len(params) {
			to = params[n]
		}
		if err := c.pass(v, to); err != nil {
			return fmt.Errorf("argument %d: %w", n+1, err)
		}
		n++
	}
	switch {
	case n < len(params), n > len(params) && !open:
		return fmt.Errorf("the function takes %d arguments, there are %d", len(params), n)
	case len(c.General) > maxGeneral || len(c.Vector) > maxVector:
		return fmt.Errorf("more arguments than registers: %d numbers and pointers of %d, %d floating-point numbers of %d", len(c.General), maxGeneral, len(c.Vector), maxVector)
	}
	return nil
}

// parameters are the types that a function takes. open: it takes more of any type, or
// nothing tells.
func parameters(fn *Type) (list []*Type, open bool) {
	if !described(fn) {
		return nil, true
	}
	d := fn.die
	for hop := 0; hop < maxHops; hop++ {
		list, open = entry{d, fn.mod}.parameters()
		next := origin(d)
		if len(list) > 0 || open || !next.Valid() {
			break
		}
		d = next
	}
	return list, open || len(list) == 0 && fn.lang.IsC() && !fn.proto
}

// A caller puts the arguments of a call where the ABI has them.
type caller struct {
	operators
	Call
}

// pass appends one argument, as a parameter of type to; nil: by its own type, with the
// default promotions (C11 section 6.5.2.2).
func (c *caller) pass(v Value, to *Type) error {
	if to != nil {
		if s := to.Strip(); s.Kind == Reference || s.Kind == RvalueReference {
			return c.reference(v, s)
		}
	}
	v = c.prog.unref(v)
	from := v.Type.Strip().Kind
	if from == Array {
		if _, inMemory := v.Addr(); !inMemory { // a text as typed
			return c.copied(v)
		}
		return c.general(c.address(v))
	}
	if to == nil {
		if to = v.Type; to.isFloat() && to.Size() < 8 {
			to = c.prog.cType("double")
		}
	}
	s := to.Strip()
	switch {
	case s.Kind == Struct:
		return fmt.Errorf("a %s is not passed by value: call a function that takes its address", to)
	case from == Function:
		return c.general(c.address(v))
	}
	v, err := c.cast(v, to)
	if err != nil {
		return err
	}
	if s.Kind == Base && s.Enc == encFloat {
		if s.Size() > 8 {
			return fmt.Errorf("a %s is not passed", s)
		}
		b, err := c.prog.Bytes(v)
		c.Vector = append(c.Vector, b)
		return err
	}
	n, err := c.prog.Uint(v)
	return c.general(addr.Run(n), err)
}

// general appends a number or an address.
func (c *caller) general(n addr.Run, err error) error {
	c.General = append(c.General, Argument{N: uint64(n)})
	return err
}

// copied appends the address of a copy of a value.
func (c *caller) copied(v Value) error {
	b, err := c.prog.Bytes(v)
	c.General = append(c.General, Argument{Data: b})
	return err
}

// reference appends the address of what a parameter refers to.
func (c *caller) reference(v Value, ref *Type) error {
	v = c.prog.unref(v)
	if a, ok := v.Addr(); ok {
		return c.general(a, nil)
	}
	v, err := c.cast(v, ref.Elem())
	if err != nil {
		return err
	}
	return c.copied(v)
}
