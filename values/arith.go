package values

import (
	"cmp"
	"errors"
	"fmt"
)

func (e *evaluator) unary(n *node) (Value, error) {
	if n.text == "&" {
		a, err := e.evalAny(n.a)
		if err != nil {
			return Value{}, err
		}
		return e.addressOf(a)
	}
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	a = e.prog.unref(a)
	switch n.text {
	case "*":
		return e.prog.Deref(a)
	case "!":
		t, err := e.isTrue(a)
		return e.truth(!t), err
	}
	if a.Type.isFloat() {
		f, err := e.prog.float(a)
		if n.text == "-" {
			f = -f
		}
		if n.text == "~" {
			return Value{}, errors.New("~ of a floating-point number")
		}
		size := a.Type.Size()
		if size > 8 {
			return Number(e.prog.cType("double"), floatBits(f, 8)), err
		}
		return Number(a.Type.Strip(), floatBits(f, int(size))), err
	}
	if !a.Type.isInteger() {
		return Value{}, fmt.Errorf("%s of a value of type %s", n.text, a.Type)
	}
	v, err := e.prog.Uint(a)
	if err != nil {
		return Value{}, err
	}
	switch n.text {
	case "-":
		v = -v
	case "~":
		v = ^v
	}
	return Number(e.promote(a.Type, a.Type), v), nil
}

func (e *evaluator) addressOf(v Value) (Value, error) {
	if t := v.Type.Strip(); t.Kind == Reference || t.Kind == RvalueReference {
		v = e.prog.unref(v)
	}
	if v.err != nil {
		return Value{}, fmt.Errorf("no address: %w", v.err)
	}
	if v.bits > 0 {
		return Value{}, errors.New("a bit field has no address")
	}
	a, ok := v.Addr()
	if !ok {
		return Value{}, errors.New("the value does not lie in memory")
	}
	return Number(v.Type.PointerTo(), uint64(a)), nil
}

func (e *evaluator) isTrue(v Value) (bool, error) {
	v = e.prog.unref(v)
	if v.Type.isFloat() {
		f, err := e.prog.float(v)
		return f != 0, err
	}
	if v.IsVoid() {
		return false, nil // as in gdb: a variable that nothing was assigned to
	}
	if k := v.Type.Strip().Kind; k == Struct || k == Void {
		return false, fmt.Errorf("a value of type %s is neither true nor false", v.Type)
	}
	a, err := e.address(v)
	return a != 0, err
}

func (e *evaluator) choice(n *node) (Value, error) {
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	t, err := e.isTrue(a)
	if err != nil {
		return Value{}, err
	}
	switch {
	case n.op == nodeSelect && t:
		return e.eval(n.b)
	case n.op == nodeSelect:
		return e.eval(n.c)
	case t == (n.op == "||"):
		return e.truth(t), nil
	}
	b, err := e.eval(n.b)
	if err != nil {
		return Value{}, err
	}
	t, err = e.isTrue(b)
	return e.truth(t), err
}

// promote is the type of arithmetic of two integers (C11 section 6.3.1.8).
func (e *evaluator) promote(a, b *Type) *Type {
	if e.f.language() == "rust" && a.Strip().Kind == Base {
		if a.Size() >= b.Size() {
			return a.Strip()
		}
		return b.Strip()
	}
	size := max(a.Size(), b.Size(), 4)
	unsigned := false
	for _, t := range []*Type{a, b} {
		if t.Size() == size && !t.isSigned() && size >= 4 {
			s := t.Strip()
			unsigned = unsigned || s.Kind != Base || s.Enc != encBoolean
		}
	}
	switch {
	case size > 4 && unsigned:
		return e.prog.cType("unsigned long")
	case size > 4:
		return e.prog.cType("long")
	case unsigned:
		return e.prog.cType("unsigned int")
	}
	return e.prog.cType("int")
}

// add is a pointer moved by n elements.
func (e *evaluator) add(p Value, n int64) (Value, error) {
	t := p.Type.Strip()
	a, err := e.address(p)
	if err != nil {
		return Value{}, err
	}
	elem := t.Elem()
	if t.Kind == Array {
		elem = t.Row()
		t = elem.PointerTo()
		p.Type = t
	}
	size := max(elem.Size(), 1)
	return Number(p.Type, uint64(a)+uint64(n*size)), nil
}

func isPointer(v Value) bool {
	k := v.Type.Strip().Kind
	return k == Pointer || k == Array || k == Function
}

func (e *evaluator) binary(op string, a, b Value) (Value, error) {
	a, b = e.prog.unref(a), e.prog.unref(b)
	switch {
	case a.IsVoid() || b.IsVoid():
		return Value{}, fmt.Errorf("%s of a void value: has something been assigned to its $name?", op)
	case isPointer(a) || isPointer(b):
		return e.pointers(op, a, b)
	case a.Type.isFloat() && (b.Type.isFloat() || b.Type.isInteger()) || b.Type.isFloat() && a.Type.isInteger():
		return e.floats(op, a, b)
	case !a.Type.isInteger() || !b.Type.isInteger():
		return Value{}, fmt.Errorf("%s between values of types %s and %s", op, a.Type, b.Type)
	}
	x, y, err := both(e.prog.Uint, a, b)
	if err != nil {
		return Value{}, err
	}
	if a.Type.Size() > 8 || b.Type.Size() > 8 {
		return Value{}, errors.New("arithmetic of more than 64 bits")
	}
	t := e.promote(a.Type, b.Type)
	if op == "<<" || op == ">>" {
		t = e.promote(a.Type, a.Type)
	}
	return e.integers(op, t, x, y)
}

// both reads two operands.
func both[T any](read func(Value) (T, error), a, b Value) (x, y T, err error) {
	if x, err = read(a); err == nil {
		y, err = read(b)
	}
	return x, y, err
}

// integers computes with two integers of type t.
func (e *evaluator) integers(op string, t *Type, x, y uint64) (Value, error) {
	signed := t.isSigned()
	x, y = truncate(x, int(t.Size())), truncate(y, int(t.Size()))
	bits := uint(8 * t.Size())
	sx, sy := signExtend(x, bits), signExtend(y, bits)
	if less, ok := ordering[op]; ok {
		c := cmp.Compare(x, y)
		if signed {
			c = cmp.Compare(sx, sy)
		}
		return e.truth(less(c)), nil
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

func (e *evaluator) pointers(op string, a, b Value) (Value, error) {
	if less, ok := ordering[op]; ok {
		x, y, err := both(e.address, a, b)
		return e.truth(less(cmp.Compare(x, y))), err
	}
	switch {
	case op == "-" && isPointer(a) && isPointer(b):
		x, y, err := both(e.address, a, b)
		if err != nil {
			return Value{}, err
		}
		elem := a.Type.Strip().Elem()
		if s := a.Type.Strip(); s.Kind == Array {
			elem = s.Row()
		}
		return Number(e.prog.cType("long"), uint64(int64(x-y)/max(elem.Size(), 1))), nil
	case op == "+" && isPointer(b) && a.Type.isInteger():
		a, b = b, a
		fallthrough
	case (op == "+" || op == "-") && isPointer(a) && b.Type.isInteger():
		n, err := e.prog.Uint(b)
		if err != nil {
			return Value{}, err
		}
		if op == "-" {
			n = -n
		}
		return e.add(a, int64(n))
	case op == "&" || op == "|" || op == "^" || op == "%": // gdb lets addresses be masked
		x, y, err := both(e.address, a, b)
		if err != nil {
			return Value{}, err
		}
		long := e.prog.cType("long")
		return e.binary(op, Number(long, uint64(x)), Number(long, uint64(y)))
	}
	return Value{}, fmt.Errorf("%s between values of types %s and %s", op, a.Type, b.Type)
}

func (e *evaluator) floats(op string, a, b Value) (Value, error) {
	x, y, err := both(e.prog.float, a, b)
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
		return e.truth(less(c)), nil
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
		return Value{}, fmt.Errorf("%s of floating-point numbers", op)
	}
	t := e.prog.cType("double")
	for _, v := range []Value{a, b} { // C's conversions: of the floating-point types the larger one, an integer has no say
		if v.Type.isFloat() && v.Type.Size() == 4 && (a.Type.Size() == 4 || !a.Type.isFloat()) && (b.Type.Size() == 4 || !b.Type.isFloat()) {
			t = v.Type.Strip()
		}
	}
	return Number(t, floatBits(x, int(t.Size()))), nil
}

// cast converts a value as C does. A struct in memory can be read as another type.
func (e *evaluator) cast(v Value, t *Type) (Value, error) {
	v = e.prog.unref(v)
	to, from := t.Strip(), v.Type.Strip()
	switch to.Kind {
	case Reference, RvalueReference:
		a, ok := v.Addr()
		if !ok {
			return Value{}, errors.New("the value does not lie in memory")
		}
		a, err := e.prog.convertClass(a, from.classType(), t.pointedClass())
		return Number(t, uint64(a)), err
	case Void:
		return Value{Type: t}, nil
	case Struct, Array:
		if a, ok := v.Addr(); ok && (from.Kind == to.Kind || from.untyped) {
			a, err := e.prog.convertClass(a, from.classType(), t.classType())
			return MemoryValue(t, a), err
		}
		return Value{}, fmt.Errorf("a value of type %s cannot be cast to %s", v.Type, t)
	}
	if from.untyped {
		if a, ok := v.Addr(); ok {
			return MemoryValue(t, a), nil
		}
	}
	size := int(t.Size())
	if t.isFloat() {
		f, err := e.prog.float(v)
		if size > 8 {
			t, size = e.prog.cType("double"), 8
		}
		return Number(t, floatBits(f, size)), err
	}
	if from.Kind == Base && from.Enc == encFloat {
		f, err := e.prog.float(v)
		return Number(t, uint64(int64(f))), err
	}
	if to.Kind == Pointer && v.synthetic() {
		v.Type = t
		return v, nil
	}
	if from.Kind == Struct {
		return Value{}, fmt.Errorf("a value of type %s cannot be cast to %s", v.Type, t)
	}
	a, err := e.address(v)
	if err != nil {
		return Value{}, err
	}
	if from.Kind == Pointer && to.Kind == Pointer {
		if a, err = e.prog.convertClass(a, from.pointedClass(), to.pointedClass()); err != nil {
			return Value{}, err
		}
	}
	if to.Kind == Base && to.Enc == encBoolean && a != 0 {
		a = 1
	}
	return Number(t, uint64(a)), nil
}

// assignment writes memory or a register. It returns the new value.
func (e *evaluator) assignment(n *node) (Value, error) {
	if n.a.op == nodeDollar && e.isConvenience(n.a.text) {
		v, err := e.eval(n.b)
		if err == nil {
			v = e.prog.Load(v)
			e.w.setVar(n.a.text, v)
		}
		return v, err
	}
	switch {
	case e.assign:
	case n.text == "++", n.text == "--":
		return Value{}, fmt.Errorf("%s changes the program: use set var", n.text)
	default:
		return Value{}, errAssigns
	}
	to, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	from, err := e.eval(n.b)
	if err != nil {
		return Value{}, err
	}
	to = e.prog.unref(to)
	if to.err != nil {
		return Value{}, fmt.Errorf("the value cannot be changed: %w", to.err)
	}
	b, err := e.converted(from, to)
	if err != nil {
		return Value{}, err
	}
	return e.w.store(to, b)
}

// assignedAfter is x++ or x--. It returns the old value.
func (e *evaluator) assignedAfter(n *node) (Value, error) {
	old, err := e.eval(n.a.a)
	if err != nil {
		return Value{}, err
	}
	old = e.prog.Load(old)
	_, err = e.assignment(n.a)
	return old, err
}

// converted is the bytes of a value in the type of the target.
func (e *evaluator) converted(from, to Value) ([]byte, error) {
	from = e.prog.unref(from)
	switch k := to.Type.Strip().Kind; k {
	case Struct, Array:
		b, err := e.prog.Bytes(from)
		if err == nil && (from.Type.Strip().Kind != k || int64(len(b)) != to.Type.Size()) {
			err = fmt.Errorf("a value of type %s does not fit into one of type %s", from.Type, to.Type)
		}
		return b, err
	}
	c, err := e.cast(from, to.Type)
	if err != nil {
		return nil, err
	}
	b, err := e.prog.Bytes(c)
	if err == nil && int64(len(b)) != to.Type.Size() {
		err = fmt.Errorf("values of %d bytes cannot be written", to.Type.Size())
	}
	return b, err
}

// store writes the bytes of a value into the program.
func (w *World) store(to Value, b []byte) (Value, error) {
	switch to.place {
	case inMemory:
		if w.Write == nil {
			return Value{}, errors.New("nothing can be written here")
		}
		if to.bits > 0 {
			old, err := w.ReadMemory(to.addr, int((to.bitOff+to.bits+7)/8))
			if err != nil {
				return Value{}, err
			}
			for i := range to.bits {
				at := to.bitOff + i
				bit := b[i/8] >> (i % 8) & 1
				old[at/8] = old[at/8]&^(1<<(at%8)) | bit<<(at%8)
			}
			b = old
		}
		if _, err := w.Write.WriteAt(b, int64(to.addr)); err != nil {
			return Value{}, err
		}
		to.data = nil
		return to, nil
	case inRegister:
		return to.frame.store(to, b)
	}
	return Value{}, errors.New("only a value in memory or in a register can be changed")
}
