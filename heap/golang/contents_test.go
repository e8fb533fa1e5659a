package golang

import "testing"

// TestMadeOfMap follows a map of Go 1.24 and later, which has a struct with a tag for its value, through what the
// runtime makes of it.
func TestMadeOfMap(t *testing.T) {
	_, src := fake(layout(t, "27"))
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	const name = `map[string]struct { N int "json:\"n\" table:\"n\"" }`
	of := &Type{At: 1 << 20, Name: name, Kind: Map, Size: 8, PtrBytes: 8, Group: atPair}
	directory := func(uint64) uint64 { return 2 }
	c := Content{Type: of}
	for _, step := range []struct {
		off  uint64
		want string
	}{{0, name}, {mapDir, name + " tables"}, {8, name + " table"}, {tableGroups, "[]main.pair"}} {
		to, ok := h.Types.Target(c, step.off, directory)
		if !ok || to.String() != step.want {
			t.Fatalf("%v leads to %v at %d, want %s", c, to, step.off, step.want)
		}
		c = to
	}
	if typ := h.Types.bytes(); typ.Kind != Uint8 || typ.Pointer(0) {
		t.Errorf("%+v", typ)
	}
}
