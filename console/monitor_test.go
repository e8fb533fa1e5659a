package console

import (
	"testing"

	"hdb/console/desk"
)

// Without a terminal there is one clear line, and the exit code of bad use.
func TestMonitorNeedsATerminal(t *testing.T) {
	st := newStage(t, nil)
	if code := st.Console.Live(func() error { t.Error("begun"); return nil }); code != desk.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	const want = "error: live: the live view needs a terminal that can move its cursor, without -batch and --json\n"
	if st.out.String() != "" || st.err.String() != want {
		t.Errorf("printed %q and %q", st.out.String(), st.err.String())
	}
}
