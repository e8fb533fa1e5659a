package names

import (
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
)

// A position has one address, which is no other's, not that of the byte before it, and that of no process.
func TestInterpreted(t *testing.T) {
	var all Interpreted
	known := map[addr.Run]capture.Frame{}
	for line := range 2000 {
		f := capture.Frame{Function: "handler", File: "/srv/app.py", Line: line, Source: "python"}
		a := all.Address(f)
		if other, taken := known[a]; taken || !capture.IsInterpreted(a) || !capture.IsInterpreted(addr.Return(a).Lookup()) {
			t.Fatalf("line %d has the address %v, as has %+v", line, a, other)
		}
		known[a] = f
		if all.Address(f) != a || capture.InterpretedAddress(&f, 0) != a {
			t.Fatalf("line %d: the address changes", line)
		}
		if at, ok := all.At(a); !ok || at != f {
			t.Fatalf("%v is %+v, %v, want %+v", a, at, ok, f)
		}
	}
	for _, a := range []addr.Run{0, 0x7fffffffe000, 0xffffffff81000000} {
		if _, ok := all.At(a); ok || capture.IsInterpreted(a) {
			t.Errorf("%v is taken for a position in Python", a)
		}
	}
}

// Two positions whose hashes are the same have addresses of their own.
func TestInterpretedCollide(t *testing.T) {
	var all Interpreted
	f := capture.Frame{Function: "f", File: "f.py", Line: 1}
	g := capture.Frame{Function: "g", File: "g.py", Line: 2}
	all.frames = map[addr.Run]capture.Frame{capture.InterpretedAddress(&f, 0): g}
	if a := all.Address(f); a != capture.InterpretedAddress(&f, 1) {
		t.Errorf("the address is %v, want the next one, %v", a, capture.InterpretedAddress(&f, 1))
	}
}
