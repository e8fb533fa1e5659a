package values

import (
	"errors"
	"fmt"
	"math"

	"hdb/symbols/dwarf"
	"hdb/unwind/dwop"
)

// baseType is the encoding and size of the base type at an offset of the unit; 0
// means the generic type.
func (m *machine) baseType(off uint64) (enc uint64, size int, err error) {
	if off == 0 {
		return 0, 8, nil
	}
	d := m.unit.DIE(m.unit.Off + off)
	if d.Tag() != dwarf.TagBaseType {
		return 0, 0, fmt.Errorf("DWARF expression: no base type at %#x", off)
	}
	e, _ := d.Attr(dwarf.AtEncoding)
	n, _ := d.Attr(dwarf.AtByteSize)
	if n.Uint() == 0 || n.Uint() > 16 {
		return 0, 0, fmt.Errorf("DWARF expression with a type of %d bytes", n.Uint())
	}
	return e.Uint(), int(n.Uint()), nil
}

// typed runs the operations with types (section 2.5.1.6). Types of more than eight
// bytes keep the lowest ones only, which is said by an error where it matters.
func (m *machine) typed(op uint8) error {
	b := &m.buf
	switch op {
	case dwop.ConstType, dwop.GNUConstType:
		enc, size, err := m.baseType(b.Uleb())
		if err != nil {
			return err
		}
		raw := b.Bytes(uint64(b.U8()))
		if len(raw) > 8 {
			return fmt.Errorf("DWARF expression computes with %d bytes", len(raw))
		}
		return m.pushTyped(typedNum{unle(raw), enc, min(size, 8)})
	case dwop.RegvalType, dwop.GNURegvalType:
		reg := b.Uleb()
		enc, size, err := m.baseType(b.Uleb())
		if err != nil {
			return err
		}
		v, err := m.registerValue(reg)
		if err != nil {
			return err
		}
		if size > 8 {
			return fmt.Errorf("DWARF expression computes with %d bytes", size)
		}
		return m.pushTyped(typedNum{truncate(v.v, size), enc, size})
	case dwop.DerefType, dwop.GNUDerefType:
		size := int(b.U8())
		enc, _, err := m.baseType(b.Uleb())
		if err != nil {
			return err
		}
		return m.load(size, enc)
	}
	enc, size, err := m.baseType(b.Uleb())
	if err != nil {
		return err
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	if size > 8 {
		return fmt.Errorf("DWARF expression computes with %d bytes", size)
	}
	if op == dwop.Reinterpret || op == dwop.GNUReinterpret {
		return m.pushTyped(typedNum{truncate(v.v, size), enc, size})
	}
	return m.pushTyped(v.convert(enc, size))
}

func truncate(v uint64, size int) uint64 {
	return v & sizeMask(int64(size))
}

// DW_ATE_* (section 7.8).
const (
	encAddress      = 0x01
	encBoolean      = 0x02
	encComplex      = 0x03
	encFloat        = 0x04
	encSigned       = 0x05
	encSignedChar   = 0x06
	encUnsigned     = 0x07
	encUnsignedChar = 0x08
	encUTF          = 0x10
)

func (n typedNum) isFloat() bool { return n.enc == encFloat && (n.size == 4 || n.size == 8) }

func (n typedNum) float() float64 {
	if n.size == 4 {
		return float64(math.Float32frombits(uint32(n.v)))
	}
	return math.Float64frombits(n.v)
}

// signed is the number with its sign: the generic type counts as unsigned here.
func (n typedNum) signed() int64 {
	if n.enc == encSigned || n.enc == encSignedChar {
		return signExtend(n.v, uint(8*n.size))
	}
	return int64(n.v)
}

func floatBits(f float64, size int) uint64 {
	if size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

func (n typedNum) convert(enc uint64, size int) typedNum {
	out := typedNum{enc: enc, size: size}
	switch {
	case out.isFloat() && n.isFloat():
		out.v = floatBits(n.float(), size)
	case out.isFloat() && (n.enc == encSigned || n.enc == encSignedChar):
		out.v = floatBits(float64(n.signed()), size)
	case out.isFloat():
		out.v = floatBits(float64(n.v), size)
	case n.isFloat():
		out.v = truncate(uint64(int64(n.float())), size)
	default:
		out.v = truncate(uint64(n.signed()), size)
	}
	return out
}

func (m *machine) unary(op uint8) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	if v.isFloat() && (op == dwop.Abs || op == dwop.Neg) {
		f := v.float()
		if op == dwop.Neg || f < 0 {
			f = -f
		}
		v.v = floatBits(f, v.size)
		return m.pushTyped(v)
	}
	switch op {
	case dwop.Abs:
		if signExtend(v.v, uint(8*v.size)) < 0 {
			v.v = -v.v
		}
	case dwop.Neg:
		v.v = -v.v
	case dwop.Not:
		v.v = ^v.v
	case dwop.PlusUconst:
		v.v += m.buf.Uleb()
	}
	v.v = truncate(v.v, v.size)
	return m.pushTyped(v)
}

func (m *machine) binary(op uint8) error {
	b, err := m.pop()
	if err != nil {
		return err
	}
	a, err := m.pop()
	if err != nil {
		return err
	}
	r, err := arithmetic(op, a, b)
	if err != nil {
		return err
	}
	return m.pushTyped(r)
}

// arithmetic computes "a op b" where b was on top. Numbers of the generic type are
// unsigned, but compared and divided with a sign (section 2.5.1.4).
func arithmetic(op uint8, a, b typedNum) (typedNum, error) {
	if a.isFloat() && b.isFloat() {
		return floatArithmetic(op, a, b)
	}
	signed := a.enc == 0 || a.enc == encSigned || a.enc == encSignedChar
	bits := uint(8 * a.size)
	x, y := a.v, b.v
	sx, sy := signExtend(x, bits), signExtend(y, uint(8*b.size))
	r := a
	switch op {
	case dwop.And:
		r.v = x & y
	case dwop.Or:
		r.v = x | y
	case dwop.Xor:
		r.v = x ^ y
	case dwop.Plus:
		r.v = x + y
	case dwop.Minus:
		r.v = x - y
	case dwop.Mul:
		r.v = x * y
	case dwop.Shl:
		r.v = x << y
	case dwop.Shr:
		r.v = x >> y
	case dwop.Shra:
		r.v = uint64(sx >> y)
	case dwop.Div, dwop.Mod:
		if y == 0 {
			return r, errors.New("DWARF expression divides by zero")
		}
		switch {
		case op == dwop.Div && signed:
			r.v = uint64(sx / sy)
		case op == dwop.Div:
			r.v = x / y
		case signed && a.enc != 0:
			r.v = uint64(sx % sy)
		default:
			r.v = x % y
		}
	default:
		c := 0
		switch {
		case signed && sx < sy || !signed && x < y:
			c = -1
		case x != y:
			c = 1
		}
		return typedNum{v: truth(compared(op, c)), size: 8}, nil
	}
	r.v = truncate(r.v, r.size)
	return r, nil
}

func compared(op uint8, c int) bool {
	switch op {
	case dwop.Eq:
		return c == 0
	case dwop.Ge:
		return c >= 0
	case dwop.Gt:
		return c > 0
	case dwop.Le:
		return c <= 0
	case dwop.Lt:
		return c < 0
	}
	return c != 0
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func floatArithmetic(op uint8, a, b typedNum) (typedNum, error) {
	x, y := a.float(), b.float()
	r := a
	switch op {
	case dwop.Plus:
		r.v = floatBits(x+y, a.size)
	case dwop.Minus:
		r.v = floatBits(x-y, a.size)
	case dwop.Mul:
		r.v = floatBits(x*y, a.size)
	case dwop.Div:
		r.v = floatBits(x/y, a.size)
	case dwop.Eq, dwop.Ge, dwop.Gt, dwop.Le, dwop.Lt, dwop.Ne:
		c := 0
		switch {
		case x < y:
			c = -1
		case x != y:
			c = 1
		}
		return typedNum{v: truth(compared(op, c)), size: 8}, nil
	default:
		return r, fmt.Errorf("DWARF operation %#x of floating-point numbers", op)
	}
	return r, nil
}
