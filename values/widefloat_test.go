package values

import (
	"math/big"
	"testing"
)

// TestWideFormat reads and writes what no double holds: gdb prints the same of x87's.
func TestWideFormat(t *testing.T) {
	for _, tc := range []struct {
		bytes []byte
		want  string
	}{
		{[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "3.64519953188247460253e-4951"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0x80}, "-1.68105157155604675313e-4932"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f}, "inf"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xff}, "-inf"},
	} {
		if got := extended(tc.bytes); got != tc.want {
			t.Errorf("%x is %s, want %s", tc.bytes, got, tc.want)
		}
		f, ok := x87.decode(tc.bytes)
		if !ok {
			t.Errorf("%x is no number", tc.bytes)
			continue
		}
		if got := x87.encode(f); string(got) != string(tc.bytes) {
			t.Errorf("%v in x87's format is %x, want %x", f, got, tc.bytes)
		}
	}
	if _, ok := x87.decode([]byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x7f}); ok {
		t.Error("what is no number is one")
	}
	for _, w := range []wideFormat{x87, binary128} {
		for exp := -16500; exp < 16300; exp += 37 {
			f := new(big.Float).SetMantExp(big.NewFloat(-0.75), exp)
			got, ok := w.decode(w.encode(f))
			if smallest := -16382 - int(w.digits) + 2; exp > smallest+2 && (!ok || got.Cmp(f) != 0) {
				t.Fatalf("%d digits: %v became %v", w.digits, f, got)
			}
		}
	}
}
