package inspect

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestScalars writes numpy's floats and complex numbers as numpy 1.24 does.
func TestScalars(t *testing.T) {
	single := func(parts ...float32) (b []byte) {
		for _, f := range parts {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
		return b
	}
	double := func(parts ...float64) (b []byte) {
		for _, f := range parts {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		}
		return b
	}
	for _, c := range []struct {
		dtype string
		bytes []byte
		want  string
	}{
		{"float64", double(1), "1.0"},
		{"float64", double(-2.5e-7), "-2.5e-07"},
		{"float32", single(1234567), "1234567.0"},
		{"float32", single(0.1), "0.1"},
		{"float32", single(float32(math.Inf(-1))), "-inf"},
		{"complex128", double(1, 2), "(1+2j)"},
		{"complex128", double(0, 1234567), "1234567j"},
		{"complex64", single(0.1, -2000000), "(0.1-2000000j)"},
	} {
		if got, ok := scalarText(c.dtype, c.bytes, false); !ok || got != c.want {
			t.Errorf("%s: %s, want %s", c.dtype, got, c.want)
		}
	}
}
