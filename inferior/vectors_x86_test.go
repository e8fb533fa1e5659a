package inferior

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestVectors reads and changes the registers of floating point at a place where the
// program has just filled them.
func TestVectors(t *testing.T) {
	p, _ := launch(t, build(t, "vectors"))
	s := resume(t, p)
	if s.Signal == nil || s.Thread == nil {
		t.Fatalf("%v: no stop at the program's int3", s.Reason)
	}
	v, err := s.Thread.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	low := func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	if got := low(v.SSE(3)); got != 2.5 {
		t.Errorf("xmm3 is %v", got)
	}
	if n := len(v.SSE(3)); n != 16 && n != 32 {
		t.Errorf("xmm3 has %d bytes", n)
	}
	if b := v.X87(0); len(b) != 10 || binary.LittleEndian.Uint64(b) != 0xc000000000000000 || binary.LittleEndian.Uint16(b[8:]) != 16383 {
		t.Errorf("st(0) is %x, want 1.5", b)
	}
	if v.SSE(16) != nil || v.SSE(-1) != nil || v.X87(8) != nil {
		t.Error("there are no such registers")
	}
	if v.MXCSR() != 0x1f80 {
		t.Errorf("mxcsr is %#x", v.MXCSR())
	}
	if err := v.SetSSE(3, binary.LittleEndian.AppendUint64(nil, math.Float64bits(7.25))); err != nil {
		t.Fatal(err)
	}
	if err := v.SetSSE(3, make([]byte, 64)); err == nil {
		t.Error("64 bytes fit into a register")
	}
	if err := s.Thread.SetVectors(v); err != nil {
		t.Fatal(err)
	}
	wantExit(t, p, 29) // four times what xmm3 is
}
