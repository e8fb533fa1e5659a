package dwop

import (
	"errors"
	"fmt"
	"math"
)

// Encodings of base types that computing depends on (DWARF 5, section 7.8).
const (
	encFloat      = 0x04
	encSigned     = 0x05
	encSignedChar = 0x06
)

// A Num is an entry of the stack: a number of the generic type, which has eight bytes,
// or of a base type.
type Num struct {
	V    uint64
	Enc  uint8 // DW_ATE; 0 is the generic type
	Size uint8 // bytes, at most eight
}

func (n Num) isFloat() bool { return n.Enc == encFloat && (n.Size == 4 || n.Size == 8) }

func (n Num) float() float64 {
	if n.Size == 4 {
		return float64(math.Float32frombits(uint32(n.V)))
	}
	return math.Float64frombits(n.V)
}

// setFloat makes f the number, which is of a floating-point type.
func (n *Num) setFloat(f float64) {
	n.V = math.Float64bits(f)
	if n.Size == 4 {
		n.V = uint64(math.Float32bits(float32(f)))
	}
}

func (n Num) isSigned() bool { return n.Enc == encSigned || n.Enc == encSignedChar }

// extended is the number with the sign of its size.
func (n Num) extended() int64 {
	if n.Size == 0 || n.Size >= 8 {
		return int64(n.V)
	}
	drop := 64 - 8*uint(n.Size)
	return int64(n.V<<drop) >> drop
}

// As is the lowest bytes of the number, taken for one of another type.
func (n Num) As(enc, size uint8) Num {
	out := Num{V: n.V, Enc: enc, Size: size}
	out.truncate()
	return out
}

// truncate drops the bits that the size has no room for.
func (n *Num) truncate() {
	if n.Size > 0 && n.Size < 8 {
		n.V &= 1<<(8*n.Size) - 1
	}
}

// convert is the number as one of another type. The generic type counts as unsigned.
func (n Num) convert(to Num) Num {
	switch {
	case to.isFloat() && n.isFloat():
		to.setFloat(n.float())
	case to.isFloat() && n.isSigned():
		to.setFloat(float64(n.extended()))
	case to.isFloat():
		to.setFloat(float64(n.V))
	default:
		to.V = n.V
		switch {
		case n.isFloat():
			to.V = uint64(int64(n.float()))
		case n.isSigned():
			to.V = uint64(n.extended())
		}
		to.truncate()
	}
	return to
}

// baseType is a number of the type that an operand names; offset 0 is the generic type.
func (m *Machine) baseType() Num {
	off := m.code.Uleb()
	if off == 0 || m.code.Err != nil {
		return Num{Size: 8}
	}
	enc, size, err := m.Unit.Variables.BaseType(off)
	switch {
	case err != nil:
		m.fail(err)
	case enc == 0 || enc > math.MaxUint8 || size < 1:
		m.fail(fmt.Errorf("expression with a type of encoding %#x and %d bytes", enc, size))
	case size > 8:
		m.fail(fmt.Errorf("expression computes with %d bytes", size))
	}
	return Num{Enc: uint8(enc), Size: uint8(size)}
}

// typed executes the operations with types (section 2.5.1.6).
func (m *Machine) typed(op uint8) {
	c := &m.code
	switch op {
	case ConstType, GNUConstType:
		t := m.baseType()
		raw := c.Take(uint64(c.U8()))
		if len(raw) > 8 {
			m.fail(fmt.Errorf("expression computes with %d bytes", len(raw)))
		}
		t.V = number(raw)
		m.push(t)
	case RegvalType, GNURegvalType:
		reg := c.Uleb()
		t := m.baseType()
		if m.err != nil {
			return
		}
		v, err := m.Context.Register(reg)
		m.pushedNum(Num{V: v}.As(t.Enc, t.Size), err)
	case DerefType, GNUDerefType:
		size := int(c.U8())
		t := m.baseType()
		t.Size = uint8(size)
		m.load(size, t)
	case Convert, GNUConvert:
		m.push(m.pop().convert(m.baseType()))
	case Reinterpret, GNUReinterpret:
		t := m.baseType()
		m.push(m.pop().As(t.Enc, t.Size))
	default:
		m.fail(fmt.Errorf("expression with operation %#x, which hdb does not know", op))
	}
}

// unary computes with the top of the stack.
func (m *Machine) unary(op uint8) {
	if m.depth == 0 {
		m.fail(errEmptyStack)
		return
	}
	n := &m.stack[m.depth-1]
	if n.isFloat() && (op == Abs || op == Neg) {
		if f := n.float(); op == Neg || f < 0 {
			n.setFloat(-f)
		}
		return
	}
	switch op {
	case Abs:
		if n.extended() < 0 {
			n.V = -n.V
		}
	case Neg:
		n.V = -n.V
	case Not:
		n.V = ^n.V
	case PlusUconst:
		n.V += m.code.Uleb()
	}
	n.truncate()
}

// binary computes with the top two entries: "a op b" where b was on top. Numbers of the
// generic type are unsigned, but compared and divided with a sign (section 2.5.1.4).
func (m *Machine) binary(op uint8) {
	n := m.depth
	if n < 2 {
		m.fail(errEmptyStack)
		return
	}
	a, b := &m.stack[n-2], &m.stack[n-1]
	m.depth--
	if a.isFloat() && b.isFloat() {
		m.floats(op, a, *b)
		return
	}
	switch op {
	case And:
		a.V &= b.V
	case Or:
		a.V |= b.V
	case Xor:
		a.V ^= b.V
	case Plus:
		a.V += b.V
	case Minus:
		a.V -= b.V
	case Mul:
		a.V *= b.V
	case Shl:
		a.V <<= b.V
	case Shr:
		a.V >>= b.V
	case Shra:
		a.V = uint64(a.extended() >> b.V)
	case Div, Mod:
		m.divide(op, a, *b)
	default:
		less := a.V < b.V
		if a.Enc == 0 || a.isSigned() {
			less = a.extended() < b.extended()
		}
		*a = compared(op, less, a.V == b.V)
		return
	}
	a.truncate()
}

func (m *Machine) divide(op uint8, a *Num, b Num) {
	x, y := a.extended(), b.extended()
	switch {
	case b.V == 0 || y == 0:
		m.fail(errors.New("expression divides by zero"))
	case op == Div && (a.Enc == 0 || a.isSigned()):
		a.V = uint64(x / y)
	case op == Div:
		a.V /= b.V
	case a.isSigned():
		a.V = uint64(x % y)
	default:
		a.V %= b.V
	}
}

// compared is the result of a comparison.
func compared(op uint8, less, equal bool) Num {
	var is bool
	switch op {
	case Eq:
		is = equal
	case Ge:
		is = !less || equal
	case Gt:
		is = !less && !equal
	case Le:
		is = less || equal
	case Lt:
		is = less && !equal
	case Ne:
		is = !equal
	}
	n := Num{Size: 8}
	if is {
		n.V = 1
	}
	return n
}

func (m *Machine) floats(op uint8, a *Num, b Num) {
	x, y := a.float(), b.float()
	switch op {
	case Plus:
		a.setFloat(x + y)
	case Minus:
		a.setFloat(x - y)
	case Mul:
		a.setFloat(x * y)
	case Div:
		a.setFloat(x / y)
	case Eq, Ge, Gt, Le, Lt, Ne:
		*a = compared(op, x < y, x == y)
	default:
		m.fail(fmt.Errorf("expression computes operation %#x of floating-point numbers", op))
	}
}
