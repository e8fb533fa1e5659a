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

// wide is the format of a floating-point type with more digits than a double. ok is false
// for other types.
func (t *Type) wide() (w wideFormat, ok bool) {
	switch size := t.Size(); {
	case !t.isFloat(), size != 10 && size != 12 && size != 16:
		return wideFormat{}, false
	case size == 16 && t.Strip().isQuad():
		return wideFormat{size, 113, 15}, true
	default:
		return wideFormat{size, 64, 9}, true
	}
}

// quad reports whether the numbers are IEEE 754's, whose first digit is not written.
func (w wideFormat) quad() bool { return w.digits == 113 }

// decode is the number in those bytes. It is false for infinity and for what is no number.
func (w wideFormat) decode(b []byte) (f *big.Float, ok bool) {
	last, digits := w.sign, w.digits
	if len(b) <= last {
		return nil, false
	}
	exp := int(b[last-1]) | int(b[last]&0x7f)<<8
	if exp == wideSpecial {
		return nil, false
	}
	mant := bigInt(b[:last-1], false)
	switch {
	case exp == 0:
		exp = 1 // subnormal
	case w.quad():
		mant.SetBit(mant, int(digits)-1, 1) // x87 writes that bit
	}
	f = new(big.Float).SetPrec(digits).SetInt(mant)
	f.SetMantExp(f, exp-wideBias-int(digits)+1)
	if b[last]&0x80 != 0 {
		f.Neg(f)
	}
	return f, true
}

// special is the infinity, or what is no number, in bytes that decode refuses.
func (w wideFormat) special(b []byte) float64 {
	mant := bigInt(b[:w.sign-1], false)
	switch {
	case mant.SetBit(mant, int(w.digits)-1, 0).Sign() != 0: // x87 writes that bit
		return math.NaN()
	case b[w.sign]&0x80 != 0:
		return math.Inf(-1)
	}
	return math.Inf(1)
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
			mant.Rsh(mant, uint(1-exp)) // subnormal
			exp = 0
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

// wideFloat is a number with all its digits. It is false for infinity and for what is no
// number.
func (r *Reader) wideFloat(v Value) (f *big.Float, ok bool, err error) {
	b, err := r.Bytes(v)
	w, wide := v.Type.wide()
	switch {
	case err != nil:
	case wide:
		f, ok = w.decode(b)
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

// toWide converts a number to a type of the format.
func (o operators) toWide(v Value, t *Type, w wideFormat) (Value, error) {
	f, ok, err := o.prog.wideFloat(v)
	if err != nil {
		return Value{}, err
	}
	if ok {
		return Value{Type: t, data: w.encode(f)}, nil
	}
	x, err := o.prog.float(v)
	if err != nil {
		return Value{}, err
	}
	b := w.encode(new(big.Float).SetInf(x < 0))
	if math.IsNaN(x) {
		b[w.sign-2] |= 0x40
		if w.quad() {
			b[w.sign-2] |= 0x80
		}
	}
	return Value{Type: t, data: b}, nil
}

// wideFloats computes with two numbers of which at least one is wide. It reports false if a
// double does as well: neither is wide, or the result is infinite or no number.
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
	z := new(big.Float).SetPrec(w.digits)
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
	return Value{Type: t, data: w.encode(z)}, true, nil
}
