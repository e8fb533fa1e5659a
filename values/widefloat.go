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

// A wideFormat is how numbers of such a type are written: 10 bytes of x87, with what they
// are padded with, or 16 of IEEE 754.
type wideFormat struct {
	size   int64
	digits uint // binary ones
	sign   int  // the index of the byte with the sign
}

// The formats.
var (
	x87       = wideFormat{size: 10, digits: 64, sign: 9}
	binary128 = wideFormat{size: 16, digits: 113, sign: 15}
)

// wide is the format of a floating-point type with more digits than a double. ok is false
// for other types.
func (t *Type) wide() (w wideFormat, ok bool) {
	switch size := t.Size(); {
	case !t.isFloat(), size != 10 && size != 12 && size != 16:
		return wideFormat{}, false
	case size == 16 && isQuad(t.Strip()):
		return binary128, true
	default:
		return wideFormat{size: size, digits: x87.digits, sign: x87.sign}, true
	}
}

// quad reports whether the numbers are IEEE 754's, whose first digit is not written.
func (w wideFormat) quad() bool { return w.digits == 113 }

// decode is the number in those bytes, false for what is none.
func (w wideFormat) decode(b []byte) (f *big.Float, ok bool) {
	last, digits := w.sign, w.digits
	if len(b) <= last {
		return nil, false
	}
	exp, negative := int(b[last-1])|int(b[last]&0x7f)<<8, b[last]&0x80 != 0
	mant := bigInt(b[:last-1], false)
	switch {
	case exp == wideSpecial: // except the bit that x87 writes, infinity has no digits
		if mant.SetBit(mant, int(digits)-1, 0).Sign() != 0 {
			return nil, false
		}
		return new(big.Float).SetInf(negative), true
	case exp == 0:
		exp = 1 // subnormal
	case w.quad():
		mant.SetBit(mant, int(digits)-1, 1) // x87 writes that bit
	}
	f = new(big.Float).SetPrec(digits).SetInt(mant)
	f.SetMantExp(f, exp-wideBias-int(digits)+1)
	if negative {
		f.Neg(f)
	}
	return f, true
}

// encode is the bytes of a number.
func (w wideFormat) encode(f *big.Float) []byte {
	digits, last := w.digits, w.sign
	f = new(big.Float).SetPrec(digits).Set(f)
	mant, exp := new(big.Int), 0
	switch part := new(big.Float); {
	case f.IsInf():
	case f.Sign() != 0:
		exp = f.MantExp(part) - 1 + wideBias
		part.SetMantExp(part, int(digits)).Abs(part).Int(mant)
		if exp < 1 {
			shift := uint(1 - exp) // subnormal
			mant.Add(mant, new(big.Int).Lsh(big.NewInt(1), shift-1)).Rsh(mant, shift)
			exp = mant.BitLen() / int(digits) // 1 if it was rounded up to the smallest number that is not
		}
	}
	if f.IsInf() || exp >= wideSpecial {
		exp = wideSpecial
		mant.Lsh(big.NewInt(1), digits-1)
	}
	if w.quad() {
		mant.SetBit(mant, int(digits)-1, 0)
	}
	b := make([]byte, w.size)
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

// wideFloat is a number with all its digits, false for what is none.
func (r *Reader) wideFloat(v Value) (f *big.Float, ok bool, err error) {
	b, err := r.Bytes(v)
	w, wide := v.Type.wide()
	switch {
	case err != nil:
	case wide:
		f, ok = w.decode(b)
	case v.Type.isFloat():
		var x float64
		if x, err = r.float(v); err == nil && !math.IsNaN(x) {
			f, ok = new(big.Float).SetFloat64(x), true
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

// toWide converts a number to a type of the format.
func (o operators) toWide(v Value, t *Type, w wideFormat) (Value, error) {
	f, ok, err := o.prog.wideFloat(v)
	if err != nil {
		return Value{}, err
	}
	if ok {
		return Value{Type: t, data: w.encode(f)}, nil
	}
	b := w.encode(new(big.Float).SetInf(false)) // what is not a number has other digits
	b[w.sign-2] |= 0x40
	if w.quad() {
		b[w.sign-2] |= 0x80
	}
	return Value{Type: t, data: b}, nil
}

// wideFloats computes with two numbers of which at least one is wide. It reports false if
// none is, if one is no number, or for another operator.
func (o operators) wideFloats(op string, a, b Value) (v Value, ok bool, err error) {
	t := a.Type.Strip()
	w, ok := a.Type.wide()
	if other, wide := b.Type.wide(); wide && (!ok || other.quad()) {
		t, w, ok = b.Type.Strip(), other, true
	}
	if !ok {
		return Value{}, false, nil
	}
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
	if x.IsInf() || y.IsInf() || op == "/" && y.Sign() == 0 {
		v, err := o.floats(op, signed(o.prog, x), signed(o.prog, y)) // the sign decides, and infinity
		if err == nil {
			v, err = o.toWide(v, t, w)
		}
		return v, true, err
	}
	z := new(big.Float).SetPrec(w.digits)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "/":
		z.Quo(x, y)
	default:
		return Value{}, false, nil
	}
	return Value{Type: t, data: w.encode(z)}, true, nil
}

// signed is a double that is infinite as f is, or else -1, 0 or 1 by its sign.
func signed(p *Program, f *big.Float) Value {
	x := float64(f.Sign())
	if f.IsInf() {
		x = math.Inf(f.Sign())
	}
	return Number(p.cType("double"), math.Float64bits(x))
}
