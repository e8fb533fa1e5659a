package console

import (
	"strings"
	"testing"

	"hdb/capture"
	"hdb/console/allocs"
	"hdb/console/shell"
	"hdb/probe"
	"hdb/recording"
	"hdb/session"
	"hdb/session/recordings"
	"hdb/session/target"
)

// What a recording lacks is said with its meaning, as text and as JSON.
func TestRecordStatusTellsWhatIsMissing(t *testing.T) {
	st := recordings.RecordStatus{
		Recording: true, Paused: true, Filter: "size > 1024", Seen: 100, Recorded: 60, Stacks: 7, Truncated: 2, Sites: 18,
		LiveBytes: 3000, LiveBlocks: 4, PeakBytes: 5000, KeptBytes: 2000, KeptBlocks: 1,
		Plane: recordings.Plane{Reason: "seccomp"}, Lost: 4, Bytes: 4096,
		Losses: []recording.Loss{{Count: 3, Reason: capture.Reason{Kind: capture.RingFull}}, {Count: 1, Reason: capture.Reason{Kind: capture.ManyThreads}}},
		Probe:  probe.Stats{LostSt: 1, Waits: 5},
	}
	var out strings.Builder
	c := New(Config{Session: session.New(target.Config{}), NoInit: true, Options: shell.Options{Out: &out, Err: &out}})
	allocs.PrintRecord(c.Desk, c.Out, st)
	want := `recording paused: 60 events with 7 stacks kept, 100 events seen in this run
filter: size > 1024
live: 2.0 KiB (2000) in 1 recorded block, 2.9 KiB (3000) in all 4, peak of all 4.9 KiB (5000)
plain breakpoints (seccomp): on 18 allocator functions, at tens of microseconds a call
size: 4.0 KiB (4096) of encoded events
truncated: 2 of 7 stacks; bt #N tells why
lost: 3 calls, hdb was too slow: the ring had no room for them
lost: 1 call, made by more threads than the probe has places for
lost: 1 stack; their events have no stack
waits: 5 times for hdb to make room in the ring; nothing was lost
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	line := shell.JSONLine("record status", allocs.ViewRecord(st))
	for _, part := range []string{`"paused":true`, `"plane":"breakpoints"`, `"plane_reason":"seccomp"`, `"truncated_stacks":2`,
		`"live_bytes":3000,"live_blocks":4,"recorded_live_bytes":2000,"recorded_live_blocks":1`,
		`"lost_events":4`, `"losses":[{"count":3,"reason":"hdb was too slow: the ring had no room for them"},{"count":1`, `"lost_stacks":1`, `"waits":5`, `"capture_bytes":4096`} {
		if !strings.Contains(line, part) {
			t.Errorf("%s is not in %s", part, line)
		}
	}
}
