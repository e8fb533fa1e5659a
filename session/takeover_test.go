package session

import (
	"fmt"
	"testing"

	"hdb/capture"
	"hdb/inferior"
)

// checkCapture fails unless a capture is whole, as hdb capture check finds it.
func checkCapture(t *testing.T, path string) *capture.File {
	t.Helper()
	f, err := capture.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Check(); err != nil {
		t.Errorf("damage: %v", err)
	}
	for _, line := range f.Verify() {
		t.Errorf("wrong: %s", line)
	}
	return f
}

// The probe follows libraries with allocators that come and go, at the same addresses and at
// others, for longer than it has numbers for their functions.
func TestProbeOutlivesLibraries(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 20
	}
	for _, where := range []string{"", "apart"} {
		s := open(t, "storm_namespaces")
		s.Settings.Probe = ProbeOn
		s.Settings.Args = fmt.Sprintf("%d 0 0 %s > /dev/null", rounds, where)
		path := streamTo(t, s)
		if r := must(t)(s.Continue(1)); r.Reason != inferior.Exited || r.Exit.Code != 0 {
			t.Fatalf("ended by %v", r.Exit)
		}
		if p := s.Plane(); !p.Probe {
			t.Errorf("%q: plain breakpoints follow calls: %s", where, p.Reason)
		}
		st, err := s.EndStream()
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for e := range checkCapture(t, path).Events(0) {
			if e.Kind == capture.Alloc && e.Size == 1000 {
				seen++
			}
		}
		if seen != rounds || st.Lost != 0 {
			t.Errorf("%q: %d calls of the libraries' malloc of %d, %d lost", where, seen, rounds, st.Lost)
		}
	}
}
