package session

import (
	"strings"
	"testing"

	"hdb/capture"
	"hdb/internal/cond"
	"hdb/probe"
	"hdb/recording"
)

// TestGapsWhileRecording has answers about a recording under way say what it lacks, but
// not which part of the run it is of; reports say both.
func TestGapsWhileRecording(t *testing.T) {
	s := open(t, "basic")
	recordFromMain(t, s)
	setBreak(t, s, "basic.c:16")
	must(t)(s.Execution.Continue(1))
	if got := s.Recorded.Gaps(); len(got) != 0 {
		t.Errorf("of a recording that lacks nothing: %q", got)
	}
	if err := s.Recorder.Filter(get[*cond.Cond](t)(cond.Parse("size > 5"))); err != nil {
		t.Fatal(err)
	}
	s.account.Losses.EndProbe(probe.Stats{Lost: 12})
	got := s.Recorded.Gaps()
	if len(got) != 2 || !strings.HasSuffix(got[0], "of the run were recorded: only events with size > 5") || !strings.HasPrefix(got[1], "12 calls are missing") {
		t.Errorf("%q", got)
	}
	if c := s.Recorded.Caveats(); !c.Partial.Has(capture.StartedLate) || c.Lost != 12 || c.Whole() {
		t.Errorf("%+v", c)
	}
}

// TestGapsWithoutARecording has what an allocation stop keeps of a process that nobody records say whose events these are.
func TestGapsWithoutARecording(t *testing.T) {
	s := open(t, "basic")
	setBreak(t, s, "malloc")
	must(t)(s.Run(nil))
	const want = "of the run were recorded: record start was not used: only 1 of 11 events were recorded, those at which the program stopped and the ends of their blocks"
	if got := s.Recorded.Gaps(); len(got) != 1 || !strings.HasSuffix(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGapsOfABoundedRecording has a recording that goes to a file say at once what was
// lost.
func TestGapsOfABoundedRecording(t *testing.T) {
	s := open(t, "basic")
	if err := s.Recorder.Bound(recording.Bounds{MaxSize: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	recordFromMain(t, s)
	setBreak(t, s, "basic.c:16")
	must(t)(s.Execution.Continue(1))
	s.account.Losses.EndProbe(probe.Stats{Lost: 12})
	if got := s.Recorded.Gaps(); len(got) != 1 || !strings.HasPrefix(got[0], "12 calls are missing") {
		t.Errorf("%q", got)
	}
}
