package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/session/target"
)

// checkCapture fails unless a capture is whole, as hdb capture check finds it.
func checkCapture(t *testing.T, path string) *file.File {
	t.Helper()
	f, err := file.OpenWhole(path)
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

// Plain breakpoints take over from the probe again and again while threads wait for room in
// its ring: what these tell comes from the probe's goroutine, beside the breakpoints' events.
func TestPlainBreakpointsTakeOver(t *testing.T) {
	times := 30
	if testing.Short() {
		times = 3
	}
	s := open(t, "storm_namespaces")
	s.Settings.Args = "1000000 3 > /dev/null"
	path := streamTo(t, s)
	late := uint64(0) // events that the probe told when it was disarmed
	var takeOver, giveBack func()
	soon := func(f func()) { time.AfterFunc(20*time.Millisecond, func() { s.target.Proc.Wake(f) }) }
	takeOver = func() {
		waits := s.target.Probe.Stats().Waits
		s.target.Exclusive(func() { time.Sleep(20 * time.Millisecond) }) // the ring fills up
		if s.target.Probe.Stats().Waits == waits {
			soon(takeOver) // the threads have not begun, or had no processor
			return
		}
		s.Planes.fallBack(errors.New("the test wants it"))
		if err := s.target.Proc.StopAll(s.Planes.arm); err != nil || s.target.Probe.Armed() || !s.Planes.tracer.Armed() {
			t.Errorf("plain breakpoints do not follow calls: %v", err)
		}
		late -= s.target.Probe.Stats().Events
		soon(giveBack)
	}
	giveBack = func() {
		late += s.target.Probe.Stats().Events
		if err := s.target.Proc.StopAll(s.Planes.Apply); err != nil || !s.target.Probe.Armed() || s.Planes.tracer.Armed() {
			t.Errorf("the probe does not follow calls: %v", err)
		}
		if times--; times > 0 && !t.Failed() {
			soon(takeOver)
		} else if err := s.Interrupt(); err != nil {
			t.Error(err)
		}
	}
	soon(takeOver)
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Interrupted {
		t.Errorf("stopped by %v", r.Reason)
	}
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	if late == 0 {
		t.Error("the probe had nothing to tell after it was disarmed")
	}
	t.Logf("%d events, %d of the disarmed probe", checkCapture(t, path).Len(), late)
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
		s.Settings.Probe = target.ProbeOn
		s.Settings.Args = fmt.Sprintf("%d 0 0 %s > /dev/null", rounds, where)
		path := streamTo(t, s)
		if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
			t.Fatalf("ended by %v", r.Exit())
		}
		if p := s.Planes.Plane(); !p.Probe {
			t.Errorf("%q: plain breakpoints follow calls: %s", where, p.Reason)
		}
		st, err := s.Recorder.EndStream()
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
