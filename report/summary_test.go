package report

import (
	"strings"
	"testing"
)

// TestSummaryOfRuntime does not begin with what the C++ runtime keeps for itself, and says whose it is.
func TestSummaryOfRuntime(t *testing.T) {
	p := leakyProfile()
	s := SummaryOf(p)
	if s.RuntimeLive != 73_728+4096 || s.RuntimeBlocks != 2 {
		t.Errorf("language runtimes keep %d bytes in %d blocks", s.RuntimeLive, s.RuntimeBlocks)
	}
	own := false
	for i, f := range s.Functions { // main has nothing but stdio's buffer
		if want := f.Place.Function == "0x8000" || f.Place.Function == "main"; f.Runtime != want {
			t.Errorf("%s: %v", f.Place.Function, f.Runtime)
		}
		if own = own || f.Runtime; own && !f.Runtime || i == 0 && f.Runtime {
			t.Errorf("row %d, of %s, stands before the program's", i, f.Place.Function)
		}
	}
	var b strings.Builder
	if err := WriteSummary(&b, p, Text{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"language runtimes keep 76.0 KiB (77824) in 2 blocks of that", "for a language runtime's own use"} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}
