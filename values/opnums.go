package values

import (
	"errors"
	"fmt"
	"math"

	"hdb/symbols/dwarf"
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
	case opConstType, opGNUConstType:
		enc, size, err := m.baseType(b.Uleb())
		if err != nil {
			return err
		}
		raw := b.Bytes(uint64(b.U8()))
		if len(raw) > 8 {
			return fmt.Errorf("DWARF expression computes with %d bytes", len(raw))
		}
		return m.pushTyped(typedNum{unle(raw), enc, min(size, 8)})
	case opRegvalType, opGNURegvalType:
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
	case opDerefType, opGNUDerefType:
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
	if op == opReinterpret || op == opGNUReinterpret {
		return m.pushTyped(typedNum{truncate(v.v, size), enc, size})
	}
	return m.pushTyped(v.convert(enc, size))
}

func truncate(v uint64, size int) uint64 {
	if size >= 8 || size <= 0 {
		return v
	}
	return v & (1<<(8*size) - 1)
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
	if v.isFloat() && (op == opAbs || op == opNeg) {
		f := v.float()
		if op == opNeg || f < 0 {
			f = -f
		}
		v.v = floatBits(f, v.size)
		return m.pushTyped(v)
	}
	switch op {
	case opAbs:
		if signExtend(v.v, uint(8*v.size)) < 0 {
			v.v = -v.v
		}
	case opNeg:
		v.v = -v.v
	case opNot:
		v.v = ^v.v
	case opPlusUconst:
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
	case opAnd:
		r.v = x & y
	case opOr:
		r.v = x | y
	case opXor:
		r.v = x ^ y
	case opPlus:
		r.v = x + y
	case opMinus:
		r.v = x - y
	case opMul:
		r.v = x * y
	case opShl:
		r.v = x << y
	case opShr:
		r.v = x >> y
	case opShra:
		r.v = uint64(sx >> y)
	case opDiv, opMod:
		if y == 0 {
			return r, errors.New("DWARF expression divides by zero")
		}
		switch {
		case op == opDiv && signed:
			r.v = uint64(sx / sy)
		case op == opDiv:
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
	case opEq:
		return c == 0
	case opGe:
		return c >= 0
	case opGt:
		return c > 0
	case opLe:
		return c <= 0
	case opLt:
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
	case opPlus:
		r.v = floatBits(x+y, a.size)
	case opMinus:
		r.v = floatBits(x-y, a.size)
	case opMul:
		r.v = floatBits(x*y, a.size)
	case opDiv:
		r.v = floatBits(x/y, a.size)
	case opEq, opGe, opGt, opLe, opLt, opNe:
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
