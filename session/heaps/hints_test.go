package heaps

import (
	"reflect"
	"testing"

	"hdb/heap/glibc"
)

// TestTrimHints: fewer arenas are advised for what their ends keep, and for nothing else.
func TestTrimHints(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name   string
		others int
		trim   glibc.Trim
		want   []AllocatorHint
	}{
		{"fastbins that merge", 4, glibc.Trim{Returned: 50 * mib}, []AllocatorHint{{Kind: HintTrim, Bytes: 50 * mib}}},
		{"between live blocks", 4, glibc.Trim{Returned: mib / 2, Pinned: 55 * mib}, []AllocatorHint{{Kind: HintPools, Bytes: 55 * mib}}},
		{"ends of arenas", 4, glibc.Trim{Tops: 30 * mib}, []AllocatorHint{{Kind: HintArenas, Bytes: 30 * mib, N: 4}}},
		{"ends of two arenas", 2, glibc.Trim{Tops: 30 * mib}, nil},
		{"a small share", 4, glibc.Trim{Returned: mib, Tops: 14 * mib, Pinned: 20 * mib}, nil},
	} {
		a := AllocatorAnswer{Resident: 57 * mib}
		a.trimHints(c.others, c.trim)
		if !reflect.DeepEqual(a.Hints, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, a.Hints, c.want)
		}
	}
}
