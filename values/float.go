package values

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// typedFloat is the text of a floating-point number. The format depends on the type's name,
// because types of the same size can have different formats.
func typedFloat(name string, b []byte) string {
	name = strings.ToLower(name)
	switch {
	case len(b) == 2 && strings.Contains(name, "bf"): // bfloat16, __bf16
		return ieee(b, 8, 7)
	case len(b) == 2:
		return ieee(b, 5, 10)
	case len(b) == 16 && strings.Contains(name, "float128"):
		return ieee(b, 15, 112)
	}
	return FloatText(b)
}

// ieee is a number of IEEE 754's binary interchange formats: a sign, an exponent and a
// mantissa of the given widths.
func ieee(b []byte, expBits, mantBits uint) string {
	n := bigInt(b, false)
	mant := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), mantBits), big.NewInt(1)))
	exp := int(new(big.Int).Rsh(n, mantBits).Uint64() & (1<<expBits - 1))
	sign := ""
	if n.Bit(int(expBits+mantBits)) == 1 {
		sign = "-"
	}
	switch {
	case exp == 1<<expBits-1 && mant.Sign() == 0:
		return sign + "inf"
	case exp == 1<<expBits-1:
		return fmt.Sprintf("%snan(%#x)", sign, mant)
	case exp == 0 && mant.Sign() == 0:
		return sign + "0"
	case exp == 0:
		exp = 1 // subnormal
	default:
		mant.SetBit(mant, int(mantBits), 1)
	}
	f := new(big.Float).SetPrec(mantBits + 1).SetInt(mant)
	f.SetMantExp(f, exp-(1<<(expBits-1)-1)-int(mantBits))
	return sign + f.Text('g', 1+int(math.Ceil(float64(mantBits)*math.Log10(2))))
}

// FloatText is the shortest decimal text that identifies a floating-point number. The length
// of b says which format it has.
func FloatText(b []byte) string {
	switch len(b) {
	case 4:
		f := math.Float32frombits(uint32(decodeUint(b)))
		if s := special(float64(f), uint64(math.Float32bits(f))&(1<<23-1), math.Float32bits(f)>>31 != 0); s != "" {
			return s
		}
		return strconv.FormatFloat(float64(f), 'g', 9, 64)
	case 8:
		f := math.Float64frombits(decodeUint(b))
		if s := special(f, decodeUint(b)&(1<<52-1), decodeUint(b)>>63 != 0); s != "" {
			return s
		}
		return strconv.FormatFloat(f, 'g', 17, 64)
	case 16, 12, 10:
		return extended(b)
	}
	return fmt.Sprintf("<floating-point number of %d bytes>", len(b))
}

func special(f float64, mantissa uint64, negative bool) string {
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case math.IsNaN(f):
		return fmt.Sprintf("%snan(%#x)", sign, mantissa)
	case math.IsInf(f, 0):
		return sign + "inf"
	}
	return ""
}

// extended is x87's format of 80 bits (System V ABI, section 3.1.2).
func extended(b []byte) string {
	mant := decodeUint(b[:8])
	exp := int(b[8]) | int(b[9]&0x7f)<<8
	sign := ""
	if b[9]&0x80 != 0 {
		sign = "-"
	}
	switch {
	case exp == 0x7fff && mant<<1 == 0:
		return sign + "inf"
	case exp == 0x7fff:
		return fmt.Sprintf("%snan(%#x)", sign, mant)
	case mant == 0:
		return sign + "0"
	}
	f, _ := x87.decode(b)
	return f.Text('g', 21)
}

// roundExtended rounds a number in x87's format to a float or double.
func roundExtended(b []byte, size int64) ([]byte, bool) {
	if len(b) < 10 || size != 4 && size != 8 {
		return nil, false
	}
	f, err := strconv.ParseFloat(extended(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		f = math.NaN()
	}
	return encodeUint(floatBits(f, int(size)), int(size)), true
}
