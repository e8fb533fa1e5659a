package values

import (
	"math"
	"math/big"
)

// Floating-point numbers wider than a double: x87's, of long double, and IEEE 754's of
// 128 bits. Both have an exponent of 15 bits.
const (
	wideBias    = 1<<14 - 1
	wideSpecial = 1<<15 - 1 // the exponent of infinity and of no number
)

// isWide reports whether numbers of the type have more digits than a double.
func (t *Type) isWide() bool {
	size := t.Size()
	return t.isFloat() && (size == 10 || size == 12 || size == 16)
}

// wideQuad reports whether the numbers of a wide type are IEEE 754's of 128 bits.
func (t *Type) wideQuad() bool { return t.Size() == 16 && t.Strip().isQuad() }

// digits is the number of binary digits of a wide type.
func (t *Type) digits() uint {
	if t.wideQuad() {
		return 113
	}
	return 64
}

// signByte is the index of the byte with the sign of a wide type.
func (t *Type) signByte() int {
	if t.wideQuad() {
		return 15
	}
	return 9
}

// wideFloat is the number in the bytes of a wide type. It is false for infinity and for what
// is no number.
func (t *Type) wideFloat(b []byte) (f *big.Float, ok bool) {
	last := t.signByte()
	if len(b) <= last {
		return nil, false
	}
	digits := t.digits()
	exp := int(b[last-1]) | int(b[last]&0x7f)<<8
	if exp == wideSpecial {
		return nil, false
	}
	mant := bigInt(b[:last-1], false)
	switch {
	case exp == 0:
		exp = 1 // subnormal
	case t.wideQuad():
		mant.SetBit(mant, int(digits)-1, 1) // x87 writes that bit
	}
	f = new(big.Float).SetPrec(digits).SetInt(mant)
	f.SetMantExp(f, exp-wideBias-int(digits)+1)
	if b[last]&0x80 != 0 {
		f.Neg(f)
	}
	return f, true
}

// encodeWide is the bytes of a number in a wide type.
func (t *Type) encodeWide(f *big.Float) []byte {
	digits, last := t.digits(), t.signByte()
	f = new(big.Float).SetPrec(digits).Set(f)
	mant, exp := new(big.Int), 0
	switch part := new(big.Float); {
	case f.IsInf():
	case f.Sign() != 0:
		exp = f.MantExp(part) - 1 + wideBias
		part.SetMantExp(part, int(digits)).Abs(part).Int(mant)
		if exp < 1 {
			mant.Rsh(mant, uint(1-exp)) // subnormal
			exp = 0
		}
	}
	if f.IsInf() || exp >= wideSpecial {
		exp = wideSpecial
		mant.Lsh(big.NewInt(1), digits-1)
	}
	if t.wideQuad() {
		mant.SetBit(mant, int(digits)-1, 0)
	}
	b := make([]byte, t.Size())
	be := mant.FillBytes(make([]byte, last-1))
	for i := range be {
		b[i] = be[len(be)-1-i]
	}
	b[last-1], b[last] = byte(exp), byte(exp>>8)
	if f.Signbit() {
		b[last] |= 0x80
	}
	return b
}

// wideFloat is a number with all its digits. It is false for infinity and for what is no
// number.
func (r *Reader) wideFloat(v Value) (f *big.Float, ok bool, err error) {
	b, err := r.Bytes(v)
	switch {
	case err != nil:
	case v.Type.isWide():
		f, ok = v.Type.wideFloat(b)
	case v.Type.isFloat():
		var x float64
		if x, err = r.float(v); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			f, ok = big.NewFloat(x), true
		}
	case v.bits == 0 && v.Type.Size() > 8:
		f, ok = new(big.Float).SetInt(bigInt(b, v.Type.isSigned())), true
	default:
		var n uint64
		n, err = r.Uint(v)
		if f, ok = new(big.Float).SetUint64(n), true; v.Type.isSigned() {
			f.SetInt64(int64(n))
		}
	}
	return f, ok && err == nil, err
}

// toWide converts a number to a wide type.
func (o operators) toWide(v Value, t *Type) (Value, error) {
	f, ok, err := o.prog.wideFloat(v)
	if err != nil {
		return Value{}, err
	}
	if ok {
		return Value{Type: t, data: t.encodeWide(f)}, nil
	}
	x, err := o.prog.float(v)
	if err != nil {
		return Value{}, err
	}
	b := t.encodeWide(new(big.Float).SetInf(x < 0))
	if math.IsNaN(x) {
		b[t.signByte()-2] |= 0x40
		if t.wideQuad() {
			b[t.signByte()-2] |= 0x80
		}
	}
	return Value{Type: t, data: b}, nil
}

// wideFloats computes with two numbers of which at least one is wide. It reports false if a
// double does as well: the result is infinite or no number.
func (o operators) wideFloats(op string, a, b Value) (v Value, ok bool, err error) {
	x, fine, err := o.prog.wideFloat(a)
	if err != nil || !fine {
		return Value{}, false, err
	}
	y, fine, err := o.prog.wideFloat(b)
	if err != nil || !fine {
		return Value{}, false, err
	}
	if less, ok := ordering[op]; ok {
		return o.truth(less(x.Cmp(y))), true, nil
	}
	t := a.Type.Strip()
	if !a.Type.isWide() || b.Type.isWide() && b.Type.wideQuad() {
		t = b.Type.Strip()
	}
	z := new(big.Float).SetPrec(t.digits())
	switch {
	case op == "+":
		z.Add(x, y)
	case op == "-":
		z.Sub(x, y)
	case op == "*":
		z.Mul(x, y)
	case op == "/" && y.Sign() != 0:
		z.Quo(x, y)
	default:
		return Value{}, false, nil
	}
	return Value{Type: t, data: t.encodeWide(z)}, true, nil
}
