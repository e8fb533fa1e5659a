package values

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
)

// operators compute operators and conversions of the language from values.
type operators struct{ language }

// unary computes - ~ ! + and *.
func (o operators) unary(op string, a Value) (Value, error) {
	a = o.prog.unref(a)
	switch op {
	case "*":
		return o.prog.Deref(a)
	case "!":
		t, err := o.isTrue(a)
		return o.truth(!t), err
	}
	if isComplex(a.Type) {
		return o.complexUnary(op, a)
	}
	if w, ok := a.Type.wide(); ok && op != "~" {
		b, err := o.prog.Bytes(a)
		if b = slices.Clone(b); op == "-" && len(b) > w.sign {
			b[w.sign] ^= 0x80
		}
		return Value{Type: a.Type.Strip(), data: b}, err
	}
	if a.Type.isFloat() {
		f, err := o.prog.float(a)
		switch op {
		case "-":
			f = -f
		case "~":
			return Value{}, typeErrorf("~ of a floating-point number")
		}
		if err != nil {
			return Value{}, err
		}
		return floating(a.Type.Strip(), f), nil
	}
	if !a.Type.isInteger() {
		return Value{}, mismatch([]Value{a}, "%s of a value of type %s", op, a.Type)
	}
	if a.Type.Size() > 8 {
		return o.wide(op, a)
	}
	v, err := o.prog.Uint(a)
	if err != nil {
		return Value{}, err
	}
	switch op {
	case "-":
		v = -v
	case "~":
		v = ^v
	}
	return Number(o.promote(a.Type, a.Type), v), nil
}

// errTooWide is of operations on integers that hdb computes with 64 bits only.
var errTooWide = errors.New("arithmetic of more than 64 bits")

// wide computes - ~ and + of an integer of more than 64 bits.
func (o operators) wide(op string, a Value) (Value, error) {
	b, err := o.prog.Bytes(a)
	if err != nil {
		return Value{}, err
	}
	out := slices.Clone(b)
	if op != "+" {
		carry := op == "-" // -x is ~x + 1
		for i := range out {
			out[i] = ^out[i]
			if carry {
				out[i]++
				carry = out[i] == 0
			}
		}
	}
	return Value{Type: a.Type.Strip(), data: out}, nil
}

// address is the value of a pointer or integer, or the address of an array or function.
func (o operators) address(v Value) (addr.Run, error) {
	switch v.Type.Strip().Kind {
	case Array, Function:
		if a, ok := v.Addr(); ok {
			return a, nil
		}
		return 0, errors.New("the value is not in memory")
	case Struct:
		return 0, mismatch([]Value{v}, "a value of type %s is not an address", v.Type)
	}
	n, err := o.prog.Uint(v)
	return addr.Run(n), err
}

// addressOf computes &.
func (o operators) addressOf(v Value) (Value, error) {
	if t := v.Type.Strip(); t.Kind == Reference || t.Kind == RvalueReference {
		v = o.prog.unref(v)
	}
	if v.err != nil {
		return Value{}, fmt.Errorf("no address: %w", v.err)
	}
	if v.bits > 0 {
		return Value{}, typeErrorf("a bit field has no address")
	}
	a, ok := v.Addr()
	if !ok {
		return Value{}, errors.New("the value is not in memory")
	}
	return Number(v.Type.PointerTo(), uint64(a)), nil
}

func (o operators) isTrue(v Value) (bool, error) {
	v = o.prog.unref(v)
	if v.Type.isFloat() {
		f, ok, err := o.prog.wideFloat(v) // however small
		return !ok || f.Sign() != 0, err
	}
	if v.Type.isInteger() && v.Type.Size() > 8 {
		b, err := o.prog.Bytes(v)
		return strings.Trim(string(b), "\x00") != "", err
	}
	if v.IsVoid() {
		return false, nil // as in gdb: a variable that nothing was assigned to
	}
	if isComplex(v.Type) {
		zero, err := o.binary("==", v, Number(o.prog.cType("int"), 0))
		return err == nil && decodeUint(zero.data) == 0, err
	}
	switch v.Type.Strip().Kind {
	case Struct, Void:
		if inside, ok := o.boolean(v); ok {
			return o.isTrue(inside)
		}
		return false, mismatch([]Value{v}, "a value of type %s is neither true nor false", v.Type)
	case MemberPointer:
		null, err := o.memberPointers("==", v, o.null())
		return err == nil && decodeUint(null.data) == 0, err
	}
	a, err := o.address(v)
	return a != 0, err
}

// add is a pointer moved by n elements.
func (o operators) add(p Value, n int64) (Value, error) {
	t := p.Type.Strip()
	a, err := o.address(p)
	if err != nil {
		return Value{}, err
	}
	elem := t.Elem()
	switch t.Kind {
	case Array:
		elem = t.Row()
		p.Type = elem.PointerTo()
	case Function: // gdb counts its bytes
		elem = t
		p.Type = t.PointerTo()
	}
	size := max(elem.Size(), 1)
	return Number(p.Type, uint64(a)+uint64(n*size)), nil
}

func isPointer(v Value) bool {
	k := v.Type.Strip().Kind
	return k == Pointer || k == Array || k == Function
}

func (o operators) binary(op string, a, b Value) (Value, error) {
	a, b = o.prog.unref(a), o.prog.unref(b)
	number := func(v Value) bool { return v.Type.isFloat() || v.Type.isInteger() || isComplex(v.Type) }
	_, compares := ordering[op]
	switch {
	case a.IsVoid() || b.IsVoid():
		return Value{}, fmt.Errorf("%s of a void value: was its $name ever set?", op)
	case a.Type.Strip().Kind == MemberPointer || b.Type.Strip().Kind == MemberPointer:
		return o.memberPointers(op, a, b)
	case isPointer(a) || isPointer(b) || compares && (isNullType(a.Type) || isNullType(b.Type)):
		return o.pointers(op, a, b)
	case (isComplex(a.Type) || isComplex(b.Type)) && number(a) && number(b):
		return o.complexes(op, a, b)
	case a.Type.isFloat() && (b.Type.isFloat() || b.Type.isInteger()) || b.Type.isFloat() && a.Type.isInteger():
		return o.floats(op, a, b)
	case !a.Type.isInteger() || !b.Type.isInteger():
		return Value{}, mismatch([]Value{a, b}, "%s between values of types %s and %s", op, a.Type, b.Type)
	}
	if a.Type.Size() > 8 || b.Type.Size() > 8 {
		return o.wideIntegers(op, a, b)
	}
	x, y, err := both(o.prog.Uint, a, b)
	if err != nil {
		return Value{}, err
	}
	t := o.promote(a.Type, b.Type)
	if op == "<<" || op == ">>" {
		t = o.promote(a.Type, a.Type)
	}
	return o.integers(op, t, x, y)
}

// both reads two operands.
func both[T any](read func(Value) (T, error), a, b Value) (x, y T, err error) {
	if x, err = read(a); err == nil {
		y, err = read(b)
	}
	return x, y, err
}

// integers computes with two integers of type t.
func (o operators) integers(op string, t *Type, x, y uint64) (Value, error) {
	signed := t.isSigned()
	x, y = truncate(x, int(t.Size())), truncate(y, int(t.Size()))
	bits := uint(8 * t.Size())
	sx, sy := signExtend(x, bits), signExtend(y, bits)
	if less, ok := ordering[op]; ok {
		c := cmp.Compare(x, y)
		if signed {
			c = cmp.Compare(sx, sy)
		}
		return o.truth(less(c)), nil
	}
	switch op {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "/", "%":
		switch {
		case y == 0:
			return Value{}, errors.New("division by zero")
		case op == "/" && signed:
			x = uint64(sx / sy)
		case op == "/":
			x /= y
		case signed:
			x = uint64(sx % sy)
		default:
			x %= y
		}
	case "&":
		x &= y
	case "|":
		x |= y
	case "^":
		x ^= y
	case "<<":
		x <<= min(y, 64)
	case ">>":
		if signed {
			x = uint64(sx >> min(y, 63))
		} else {
			x >>= min(y, 64)
		}
	default:
		return Value{}, fmt.Errorf("unknown operator %s", op)
	}
	return Number(t, x), nil
}

var ordering = map[string]func(c int) bool{
	"==": func(c int) bool { return c == 0 }, "!=": func(c int) bool { return c != 0 },
	"<": func(c int) bool { return c == -1 }, ">": func(c int) bool { return c == 1 },
	"<=": func(c int) bool { return c == -1 || c == 0 }, ">=": func(c int) bool { return c == 0 || c == 1 },
}

func (o operators) pointers(op string, a, b Value) (Value, error) {
	if less, ok := ordering[op]; ok {
		x, y, err := both(o.address, a, b)
		return o.truth(less(cmp.Compare(x, y))), err
	}
	switch {
	case op == "-" && isPointer(a) && isPointer(b):
		x, y, err := both(o.address, a, b)
		if err != nil {
			return Value{}, err
		}
		elem := a.Type.Strip().Elem()
		if s := a.Type.Strip(); s.Kind == Array {
			elem = s.Row()
		}
		return Number(o.prog.cType("long"), uint64(int64(x-y)/max(elem.Size(), 1))), nil
	case op == "+" && isPointer(b) && a.Type.isInteger():
		a, b = b, a
		fallthrough
	case (op == "+" || op == "-") && isPointer(a) && b.Type.isInteger():
		n, err := o.prog.Uint(b)
		if err != nil {
			return Value{}, err
		}
		if op == "-" {
			n = -n
		}
		return o.add(a, int64(n))
	case (op == "&" || op == "|" || op == "^" || op == "%") && (isPointer(a) || a.Type.isInteger()) && (isPointer(b) || b.Type.isInteger()): // gdb lets addresses be masked
		x, y, err := both(o.address, a, b)
		if err != nil {
			return Value{}, err
		}
		long := o.prog.cType("long")
		return o.binary(op, Number(long, uint64(x)), Number(long, uint64(y)))
	}
	return Value{}, mismatch([]Value{a, b}, "%s between values of types %s and %s", op, a.Type, b.Type)
}

func (o operators) floats(op string, a, b Value) (Value, error) {
	if v, ok, err := o.wideFloats(op, a, b); ok || err != nil {
		return v, err
	}
	x, y, err := both(o.prog.float, a, b)
	if err != nil {
		return Value{}, err
	}
	if less, ok := ordering[op]; ok {
		c := 2 // not a number: only != is true
		switch {
		case x < y:
			c = -1
		case x > y:
			c = 1
		case x == y:
			c = 0
		}
		return o.truth(less(c)), nil
	}
	switch op {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "/":
		x /= y
	default:
		return Value{}, typeErrorf("%s of floating-point numbers", op)
	}
	t := a.Type.Strip() // C's conversions: of the floating-point types the larger one, an integer has no say
	if !a.Type.isFloat() || b.Type.isFloat() && b.Type.Size() > t.Size() {
		t = b.Type.Strip()
	}
	if t.Size() > 8 { // the numbers are none
		t = o.prog.cType("double")
	}
	return floating(t, x), nil
}

// repeat is gdb's a@n, an array of n values that begins at a.
func (o operators) repeat(a, n Value) (Value, error) {
	n = o.prog.unref(n)
	if !n.Type.isInteger() {
		return Value{}, mismatch([]Value{n}, "@ needs a number, not a value of type %s", n.Type)
	}
	count, err := o.prog.Uint(n)
	if err != nil {
		return Value{}, err
	}
	if int64(count) < 1 || count > 1<<32 {
		return Value{}, fmt.Errorf("@ needs a number from 1 on, not %d", int64(count))
	}
	at, ok := a.Addr()
	if !ok {
		return Value{}, errors.New("only a value in memory can be the first element of A@N")
	}
	return MemoryValue(a.Type.ArrayOf(int64(count)), at), nil
}

// cast converts a value as C does. A struct in memory can be read as another type.
func (o operators) cast(v Value, t *Type) (Value, error) {
	v = o.prog.unref(v)
	to, from := t.Strip(), v.Type.Strip()
	switch to.Kind {
	case Reference, RvalueReference:
		a, ok := v.Addr()
		if !ok {
			return Value{}, errors.New("the value is not in memory")
		}
		a, err := o.prog.convertClass(a, from.classType(), pointedClass(t))
		return Number(t, uint64(a)), err
	case Void:
		return Value{Type: t}, nil
	case Struct, Array:
		if a, ok := v.Addr(); ok && (from.Kind == to.Kind || from.untyped) {
			a, err := o.prog.convertClass(a, from.classType(), t.classType())
			return MemoryValue(t, a), err
		}
		if from.Kind == Struct && sameTypes(from, to) {
			v.Type = t
			return v, nil
		}
		if b, err := o.prog.Bytes(v); err == nil && to.Kind == Array && int64(len(b)) == t.Size() { // as in gdb
			return Value{Type: t, data: b}, nil
		}
		return Value{}, mismatch([]Value{v}, "a value of type %s cannot be cast to %s", v.Type, t)
	case MemberPointer:
		return o.toMemberPointer(v, t)
	}
	if from.untyped && from.Kind != Function {
		if a, ok := v.Addr(); ok {
			return MemoryValue(t, a), nil
		}
	}
	if isComplex(t) {
		return o.toComplex(v, t)
	}
	if isComplex(from) { // its imaginary part is lost, as in C
		var err error
		if v, _, err = o.parts(v); err != nil {
			return Value{}, err
		}
		from = v.Type
	}
	size := int(t.Size())
	if t.isFloat() {
		if w, ok := t.wide(); ok {
			return o.toWide(v, t, w)
		}
		if size > 8 {
			return Value{}, fmt.Errorf("floating-point number of %d bytes", size)
		}
		f, err := o.prog.float(v)
		return floating(t, f), err
	}
	if from.Kind == Base && from.Enc == encFloat {
		f, err := o.prog.float(v)
		return Number(t, uint64(int64(f))), err
	}
	if to.Kind == Pointer && v.synthetic() {
		v.Type = t
		return v, nil
	}
	if from.Kind == Struct {
		return Value{}, mismatch([]Value{v}, "a value of type %s cannot be cast to %s", v.Type, t)
	}
	if size > 8 && from.isInteger() && to.isInteger() { // an address has half of the bytes
		n, err := o.prog.bigInteger(v)
		return Value{Type: t, data: bigBytes(n, int64(size))}, err
	}
	a, err := o.address(v)
	if err != nil {
		return Value{}, err
	}
	if from.Kind == Pointer && to.Kind == Pointer {
		if a, err = o.prog.convertClass(a, pointedClass(from), pointedClass(to)); err != nil {
			return Value{}, err
		}
	}
	if to.Kind == Base && to.Enc == encBoolean && a != 0 {
		a = 1
	}
	return Number(t, uint64(a)), nil
}

// converted is the bytes of a value in the type of the target.
func (o operators) converted(from, to Value) ([]byte, error) {
	from = o.prog.unref(from)
	switch k := to.Type.Strip().Kind; k {
	case Struct, Array:
		if b, ok, err := o.elements(from, to); ok {
			return b, err
		}
		b, err := o.prog.Bytes(from)
		if err == nil && (from.Type.Strip().Kind != k || int64(len(b)) != to.Type.Size()) {
			err = mismatch([]Value{from}, "a value of type %s does not fit into one of type %s", from.Type, to.Type)
		}
		return b, err
	}
	c, err := o.cast(from, to.Type)
	if err != nil {
		return nil, err
	}
	b, err := o.prog.Bytes(c)
	if err == nil && int64(len(b)) != to.Type.Size() {
		err = fmt.Errorf("values of %d bytes cannot be written", to.Type.Size())
	}
	return b, err
}
