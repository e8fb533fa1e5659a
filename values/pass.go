package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values/calls"
)

// A caller puts the arguments of a call where the ABI wants them.
type caller struct {
	operators
	calls.Call
	rust bool // the function has Rust's own calling convention
}

// arguments passes the object that a function is called on and its arguments.
func (c *caller) arguments(f callee, args []Value) error {
	params, open := parameters(f.typ)
	for _, self := range f.self {
		var to *Type
		if len(params) > 0 {
			to, params = params[0], params[1:]
		}
		if err := c.object(self, to); err != nil {
			return err
		}
	}
	if n := len(args); n < len(params) || n > len(params) && !open {
		return fmt.Errorf("the function takes %d arguments, there are %d", len(params), n)
	}
	for i, v := range args {
		var to *Type
		if i < len(params) {
			to = params[i]
		}
		if err := c.pass(v, to); err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nil
}

// object appends the object that a member function is called on: its address, unless Rust's
// self is a value.
func (c *caller) object(v Value, to *Type) error {
	if to != nil && to.Strip().Kind != Pointer {
		return c.pass(v, to)
	}
	if a, ok := v.Addr(); ok {
		return c.general(a, nil)
	}
	return c.copied(v)
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
	if from == Function {
		return c.general(c.address(v))
	}
	var err error
	if s.Kind == Struct {
		v, err = c.part(v, s)
	} else {
		v, err = c.cast(v, to)
	}
	if err != nil {
		return err
	}
	if n := s.Size(); n < 8 && to.isInteger() { // compilers expect small numbers to be extended to 32 bits
		x, err := c.prog.Uint(v)
		return c.general(addr.Run(x), err)
	}
	return c.value(v, s)
}

// part is the object of a class that a value is, or a base class of it.
func (c *caller) part(v Value, to *Type) (Value, error) {
	from := v.Type.Strip()
	if sameTypes(from, to) {
		return v, nil
	}
	if from.Kind == Struct {
		if b, ok := c.prog.baseNamed(v, to.Name, 0); ok {
			return b, b.err
		}
	}
	return Value{}, fmt.Errorf("a value of type %s cannot be cast to %s", v.Type, to)
}

// value appends a value of the parameter's type, in registers if there are enough of them,
// else on the stack.
func (c *caller) value(v Value, t *Type) error {
	if c.rust {
		return c.rustValue(v, t)
	}
	if passedByReference(t, new(int)) {
		return fmt.Errorf("a %s is copied by its copy constructor: call a function that takes a reference or an address", t)
	}
	if t.Kind == Struct && t.decl {
		return fmt.Errorf("a %s is only declared: debug information does not tell how it is passed", t)
	}
	b, err := c.prog.Bytes(v)
	if err != nil {
		return err
	}
	classes, err := classify(t)
	if err != nil {
		return err
	}
	c.Value(b, classes, t.Alignment())
	return nil
}

// rustValue is value for a function of Rust: each scalar of a pair has a register of its
// own, and what is no pair is in memory if it has more than 8 bytes.
func (c *caller) rustValue(v Value, t *Type) error {
	b, err := c.prog.Bytes(v)
	if err != nil {
		return err
	}
	shape := rustShapeOf(t, new(int))
	size := t.Size()
	switch {
	case t.Kind == Struct && !strings.HasPrefix(t.Name, "&"):
		return fmt.Errorf("a %s would be moved into the function: call a function that takes a reference", t)
	case shape.unknown:
		return fmt.Errorf("debug information does not tell how a %s is passed", t)
	case shape.empty || size == 0:
		return nil
	case len(shape.scalars) == 0 && size <= 8:
		return c.general(addr.Run(decodeUint(b)), nil)
	case len(shape.scalars) == 0, size > 16:
		return c.copied(v)
	}
	for _, s := range shape.scalars {
		part := b[s.off : s.off+s.size]
		switch {
		case s.size > 8:
			return fmt.Errorf("a %s cannot be passed", t)
		case !s.float:
			if err := c.general(addr.Run(decodeUint(part)), nil); err != nil {
				return err
			}
		default:
			c.Float(part)
		}
	}
	return nil
}

// general appends a number or an address.
func (c *caller) general(n addr.Run, err error) error {
	c.Word(calls.Argument{N: uint64(n)})
	return err
}

// copied appends the address of a copy of a value.
func (c *caller) copied(v Value) error {
	b, err := c.prog.Bytes(v)
	c.Word(calls.Argument{Data: append([]byte{}, b...)})
	return err
}

// reference appends the address of what a parameter refers to.
func (c *caller) reference(v Value, ref *Type) error {
	v = c.prog.unref(v)
	to := ref.Elem()
	same := sameTypes(v.Type.Strip(), to.Strip())
	if !same && to.Strip().Kind == Struct {
		part, err := c.part(v, to.Strip())
		if err != nil {
			return err
		}
		v, same = part, true
	}
	if a, ok := v.Addr(); ok && v.bits == 0 && (same || v.Type.Strip().Kind == Function) {
		return c.general(a, nil)
	}
	if ref.Kind == Reference && !to.isConst() && !same {
		return fmt.Errorf("a value of type %s cannot be bound to %s", v.Type, ref)
	}
	if !same {
		var err error
		if v, err = c.cast(v, to); err != nil {
			return err
		}
	}
	return c.copied(v)
}
