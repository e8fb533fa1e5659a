package pystacks

import (
	"testing"

	"hdb/internal/addr"
)

// TestCodeLoops asks of more addresses than are remembered as recent ones, twice each, and
// of those as PCs and as return addresses.
func TestCodeLoops(t *testing.T) {
	var l codeLoops
	odd := func(c addr.Code) bool { return (c.Lookup()>>4)%3 == 0 }
	for range 2 {
		for i := range addr.Run(3 * len(l.recent)) {
			for _, c := range []addr.Code{addr.PC(16 * i), addr.Return(16 * i)} {
				if got := l.has(c, odd); got != odd(c) {
					t.Fatalf("%v, a return address: %v: %v", c.Addr(), c.IsReturn(), got)
				}
			}
		}
	}
}

// BenchmarkPlaces looks for the interpreter's loop in a stack of 50 frames.
func BenchmarkPlaces(b *testing.B) {
	var x Stacks
	x.loops.all = map[addr.Code]bool{}
	code := func(i int) addr.Code { return addr.Return(addr.Run(0x400000 + 0x1234*i)) }
	for i := range 50 {
		x.loops.all[code(i)] = i%8 == 3
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(x.places(50, code)); n != 6 {
			b.Fatal(n)
		}
	}
}
