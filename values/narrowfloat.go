package values

import (
	"math"
	"strings"
)

// A narrowFormat is the widths of a floating-point number of 16 bits.
type narrowFormat struct{ exponent, mantissa uint }

// narrow is the format of a floating-point type of 16 bits: IEEE 754's binary16, or
// bfloat16 by its name.
func narrow(name string) narrowFormat {
	if strings.Contains(strings.ToLower(name), "bf") {
		return narrowFormat{8, 7}
	}
	return narrowFormat{5, 10}
}

// decode is the number that has those bits.
func (w narrowFormat) decode(bits uint64) float64 {
	mant := bits & (1<<w.mantissa - 1)
	exp := int(bits >> w.mantissa & (1<<w.exponent - 1))
	bias := 1<<(w.exponent-1) - 1
	var f float64
	switch {
	case exp == 1<<w.exponent-1 && mant == 0:
		f = math.Inf(1)
	case exp == 1<<w.exponent-1:
		f = math.NaN()
	case exp == 0:
		f = math.Ldexp(float64(mant), 1-bias-int(w.mantissa))
	default:
		f = math.Ldexp(float64(mant|1<<w.mantissa), exp-bias-int(w.mantissa))
	}
	if bits>>15&1 != 0 {
		f = -f
	}
	return f
}

// encode is the bits of a number, rounded to the nearest one.
func (w narrowFormat) encode(f float64) uint64 {
	bias := 1<<(w.exponent-1) - 1
	infinite := uint64(1<<w.exponent-1) << w.mantissa
	sign := uint64(0)
	if math.Signbit(f) {
		sign, f = 1<<15, -f
	}
	if math.IsNaN(f) {
		return sign | infinite | 1<<(w.mantissa-1)
	}
	_, exp := math.Frexp(f)
	exp = max(exp-1, 1-bias) // below are the subnormal ones
	mant := math.RoundToEven(math.Ldexp(f, int(w.mantissa)-exp))
	bits := uint64(infinite)
	if exp <= bias && !math.IsInf(f, 0) {
		bits = uint64(exp+bias-1)<<w.mantissa + uint64(mant) // the first digit counts up the exponent
	}
	return sign | min(bits, infinite)
}

// floating makes a number of a floating-point type of 8 bytes at most.
func floating(t *Type, f float64) Value {
	if t.Size() == 2 {
		return Number(t, narrow(t.Strip().Name).encode(f))
	}
	return Number(t, floatBits(f, int(t.Size())))
}
