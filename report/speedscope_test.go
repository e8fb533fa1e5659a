package report

import (
	"encoding/json"
	"strings"
	"testing"

	"hdb/testprogs/node"
)

// TestSpeedscope opens files in speedscope itself: its own format and two more
// that it reads.
func TestSpeedscope(t *testing.T) {
	t.Parallel()
	p := sampleProfile("/src/a.c")
	out := node.Browse(t, nil, "speedscope.mjs", t.TempDir(), exported(t, "speedscope", p, Live), exported(t, "pprof", p, Live), exported(t, "collapsed", p, Bytes),
		exported(t, "speedscope", hugeProfile(500), Bytes), exported(t, "speedscope", &Profile{}, LiveBlocks))
	var shown [][]string
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	check := func(file, profile int, wants ...string) {
		t.Helper()
		text := strings.Join(strings.Fields(shown[file][profile]), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("file %d profile %d lacks %q:\n%s", file, profile, want, text)
			}
		}
	}
	if len(shown[0]) != int(numMeasures) {
		t.Fatalf("speedscope shows %d profiles: %q", len(shown[0]), shown[0])
	}
	check(0, 0, "live: bytes not freed (1/6)", "1.46 KB (100%) 0 B (<0.01%) _start", "1.27 KB (87%) 1.27 KB (87%) grab(unsigned long)", "200 B (13%) 200 B (13%) 0x7f0000001234")
	check(0, 1, "peak: bytes live at the peak (2/6)", "100 B (1.1%)")
	check(0, 3, "count: blocks allocated (4/6)", "19 (90%) 0 (<0.01%) _start")
	check(0, 5, "blocks: not freed (6/6)", "6 (100%)")
	check(1, 0, "1.27 KB (87%) 1.27 KB (87%) keep", "1.46 KB (100%) 0 B (<0.01%) _start") // of inlined lines it reads only the outermost
	check(2, 0, "10,500 (95%) 10,500 (95%) grab(unsigned long)", "[no CFI: \ufffd at 0x1000]")
	check(3, 0, "bytes: all that were allocated (3/6)")
	check(4, 0, "blocks: not freed (6/6)")
}
