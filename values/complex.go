package values

import (
	"slices"
	"strings"
)

// isComplex reports whether the type is a complex number of C.
func isComplex(t *Type) bool { s := t.Strip(); return s.Kind == Base && s.Enc == encComplex }

// component is the type of the two parts of a complex number.
func component(t *Type) *Type {
	s := t.Strip()
	name := strings.TrimSpace(strings.NewReplacer("_Complex", "", "complex", "").Replace(s.Name))
	return baseType(s.prog, name, s.Size()/2, encFloat)
}

// parts are the real and the imaginary part of a number.
func (o operators) parts(v Value) (re, im Value, err error) {
	if !isComplex(v.Type) {
		zero := Number(o.prog.cType("int"), 0)
		return v, zero, nil
	}
	b, err := o.prog.Bytes(v)
	if err != nil {
		return v, v, err
	}
	t, half := component(v.Type), len(b)/2
	return Value{Type: t, data: b[:half]}, Value{Type: t, data: b[half:]}, nil
}

// complexOf makes a complex number of its parts, of the type of one operand if that has
// such parts.
func (o operators) complexOf(re, im Value, like ...*Type) (Value, error) {
	name := re.Type.Strip().Name
	t := baseType(o.prog, "complex "+name, 2*re.Type.Size(), encComplex)
	for _, l := range like {
		if isComplex(l) && component(l).Name == name {
			t = l.Strip()
		}
	}
	im, err := o.cast(im, re.Type)
	if err != nil {
		return Value{}, err
	}
	a, err := o.prog.Bytes(re)
	if err != nil {
		return Value{}, err
	}
	b, err := o.prog.Bytes(im)
	return Value{Type: t, data: slices.Concat(a, b)}, err
}

// complexUnary computes - ~ and + of a complex number; ~ is its conjugate, as in gdb.
func (o operators) complexUnary(op string, a Value) (Value, error) {
	re, im, err := o.parts(a)
	if err == nil && op == "-" {
		re, err = o.unary("-", re)
	}
	if err == nil && op != "+" {
		im, err = o.unary("-", im)
	}
	if err != nil {
		return Value{}, err
	}
	return o.complexOf(re, im, a.Type)
}

// complexes computes with numbers of which one at least is complex.
func (o operators) complexes(op string, a, b Value) (Value, error) {
	switch op {
	case "+", "-", "*", "/", "==", "!=":
	default:
		return Value{}, typeErrorf("%s between values of types %s and %s", op, a.Type, b.Type)
	}
	a1, a2, err := o.parts(a)
	if err != nil {
		return Value{}, err
	}
	b1, b2, err := o.parts(b)
	if err != nil {
		return Value{}, err
	}
	c := &computation{o: o}
	switch op {
	case "==", "!=":
		x, y := c.do("==", a1, b1), c.do("==", a2, b2)
		if c.err != nil {
			return Value{}, c.err
		}
		same := decodeUint(x.data) != 0 && decodeUint(y.data) != 0
		return o.truth(same == (op == "==")), nil
	case "*":
		re := c.do("-", c.do("*", a1, b1), c.do("*", a2, b2))
		return c.complex(re, c.do("+", c.do("*", a1, b2), c.do("*", a2, b1)), a.Type, b.Type)
	case "/":
		n := c.do("+", c.do("*", b1, b1), c.do("*", b2, b2))
		re := c.do("/", c.do("+", c.do("*", a1, b1), c.do("*", a2, b2)), n)
		return c.complex(re, c.do("/", c.do("-", c.do("*", a2, b1), c.do("*", a1, b2)), n), a.Type, b.Type)
	}
	return c.complex(c.do(op, a1, b1), c.do(op, a2, b2), a.Type, b.Type)
}

// A computation is several steps of which the first error counts.
type computation struct {
	o   operators
	err error
}

// do computes an operator.
func (c *computation) do(op string, a, b Value) Value {
	if c.err != nil {
		return a
	}
	v, err := c.o.binary(op, a, b)
	c.err = err
	return v
}

// complex is complexOf.
func (c *computation) complex(re, im Value, like ...*Type) (Value, error) {
	if c.err != nil {
		return Value{}, c.err
	}
	return c.o.complexOf(re, im, like...)
}

// toComplex converts a number to a complex type.
func (o operators) toComplex(v Value, t *Type) (Value, error) {
	re, im, err := o.parts(v)
	if err == nil {
		re, err = o.cast(re, component(t))
	}
	if err != nil {
		return Value{}, err
	}
	out, err := o.complexOf(re, im, t)
	out.Type = t
	return out, err
}
