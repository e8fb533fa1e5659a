package session

import (
	"slices"
	"testing"
	"time"

	"hdb/names"
	"hdb/session/target"
	"hdb/testprogs"
)

// A program that is interrupted may stand in the probe's own code: its stack begins
// with the function that allocates.
func TestStackOfAThreadInTheProbe(t *testing.T) {
	s := open(t, "spin")
	s.Settings.Probe, s.Settings.PastMain = target.ProbeOn, true
	recordFromMain(t, s)
	seen := 0
	for deadline := testprogs.Deadline(t); seen < 5 && time.Now().Before(deadline); {
		timer := time.AfterFunc(time.Millisecond+time.Duration(seen*100)*time.Microsecond, func() { _ = s.Interrupt() })
		if _, err := s.Execution.Continue(1); err != nil {
			t.Fatal(err)
		}
		timer.Stop()
		st, err := s.Selection.Stack(0)
		if err != nil || len(st.Frames) == 0 {
			t.Fatal(err)
		}
		last := st.Frames[len(st.Frames)-1]
		if st.Truncated != "" || last.Function != "_start" {
			t.Fatalf("the stack ends in %s at %v: %s", last.Function, st.Frames[0].Code.Addr(), st.Truncated)
		}
		if slices.ContainsFunc(st.Frames, func(f names.Frame) bool { return f.Module == "hdb's probe" }) {
			t.Fatalf("shows the probe's own frames: %+v", st.Frames)
		}
		if rows, err := s.Selection.Threads(); err != nil || rows[0].Frame.Module == "hdb's probe" {
			t.Errorf("%v: the thread stands in %+v", err, rows)
		}
		if _, in := s.Selection.InProbe(); in {
			seen++
			// turn jumps to free instead of calling it, and what the program prints first needs a buffer.
			if by := st.Frames[0].Function; !slices.Contains([]string{"turn", "main", "malloc", "free", "__libc_free", "_IO_file_doallocate"}, by) {
				t.Errorf("the probe was called by %q", by)
			}
		}
	}
	if seen == 0 {
		t.Error("the program was never found in the probe")
	}
}
