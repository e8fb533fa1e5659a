package allocs

import (
	"strings"
	"testing"

	"hdb/console/screen"
	"hdb/heap/regions"
)

// TestLayerSums has hdb's memory outside of the sum, and warns only when the kernel's count differs by what can be seen.
func TestLayerSums(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		rss  uint64
		warn bool
	}{
		{42*mib + 4096, false},    // 42.0 MiB, too
		{42*mib + 200<<10, false}, // within what changes while it is read
		{50 * mib, true},
		{30 * mib, true},
	} {
		space := &layeredSpace{layers: []regions.Layer{
			{Name: "code", Regions: 1, Size: 40 * mib, Usage: regions.Usage{Resident: 40 * mib}},
			{Name: "hdb", Regions: 8, Size: 128 << 30, Usage: regions.Usage{Resident: 2 * mib}},
		}}
		s := addLayers(space)
		s.Rss = &c.rss
		var b strings.Builder
		s.Print(&screen.Output{W: &b})
		if got := strings.Contains(b.String(), "the kernel now counts"); got != c.warn {
			t.Errorf("the kernel has %d: warned %v\n%s", c.rss, got, b.String())
		}
		if s.Total.Size != 40*mib || strings.Index(b.String(), "hdb") < strings.Index(b.String(), "all") {
			t.Errorf("total %d\n%s", s.Total.Size, b.String())
		}
	}
}

// A layeredSpace has layers.
type layeredSpace struct{ layers []regions.Layer }

func (l *layeredSpace) Layers() (_ []regions.Layer, known, cut bool) { return l.layers, true, false }
func (l *layeredSpace) Space() *regions.Space                        { return &regions.Space{} }
