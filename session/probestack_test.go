package session

import (
	"slices"
	"testing"
	"time"
)

// A program that is interrupted may stand in the probe's own code: its stack goes
// on to the function that allocates, and the frame says whose it is.
func TestStackOfAThreadInTheProbe(t *testing.T) {
	s := open(t, "spin")
	s.Settings.Probe = ProbeOn
	recordFromMain(t, s)
	seen := 0
	for deadline := time.Now().Add(20 * time.Second); seen < 5 && time.Now().Before(deadline); {
		timer := time.AfterFunc(time.Millisecond+time.Duration(seen*100)*time.Microsecond, func() { _ = s.Interrupt() })
		if _, err := s.Continue(1); err != nil {
			t.Fatal(err)
		}
		timer.Stop()
		st, err := s.Stack(0)
		if err != nil || len(st.Frames) == 0 {
			t.Fatal(err)
		}
		last := st.Frames[len(st.Frames)-1]
		if st.Truncated != "" || last.Function != "_start" {
			t.Fatalf("the stack ends in %s at %v: %s", last.Function, st.Frames[0].Code.Addr(), st.Truncated)
		}
		if st.Frames[0].Module == "hdb's probe" {
			seen++
			// turn jumps to free instead of calling it, and what the program prints first needs a buffer.
			if by := st.Frames[1].Function; !slices.Contains([]string{"turn", "main", "malloc", "free", "__libc_free", "_IO_file_doallocate"}, by) {
				t.Errorf("the probe was called by %q", by)
			}
		}
	}
	if seen == 0 {
		t.Error("the program was never found in the probe")
	}
}
