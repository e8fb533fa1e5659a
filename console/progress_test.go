package console

import (
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/session/recordings"
)

func TestProgressLine(t *testing.T) {
	var out strings.Builder
	width := 80
	p := &desk.Progress{W: &out, Width: func() int { return width }}
	st := recordings.RecordStatus{Seen: 36607217, Recorded: 36607217, LiveBytes: 1 << 30, LiveBlocks: 18295, Bytes: 3 << 20}
	for _, tc := range []struct {
		lost  uint64
		width int
		want  string
	}{
		{0, 80, "36,607,217 events, 1.0 GiB live, file 3.0 MiB\x1b[K"},
		{12, 80, "36,607,217 events, 1.0 GiB live, 12 lost, file 3.0 MiB\x1b[K"},
		{12, 20, "\x1b[K"},
	} {
		out.Reset()
		st.Lost, width = tc.lost, tc.width
		p.Show(st)
		got := out.String()
		if !strings.HasPrefix(got, "\r") || !strings.HasSuffix(got, tc.want) || len(got) >= tc.width+len("\r\x1b[K") {
			t.Errorf("%q does not end with %q in %d columns", got, tc.want, tc.width)
		}
	}
	out.Reset()
	p.Clear()
	p.Clear()
	if got := out.String(); got != "\r\x1b[K" {
		t.Errorf("cleared by %q", got)
	}
	var none *desk.Progress // standard error is no terminal
	none.Show(st)
	none.Clear()
}

func TestRecordSummary(t *testing.T) {
	full := recordings.RecordStatus{Seen: 1561, Recorded: 1561, Stacks: 48, LiveBlocks: 1, LiveBytes: 71 << 10, KeptBlocks: 1, KeptBytes: 71 << 10, Lost: 1, Bytes: 25600}
	filtered := full
	filtered.Seen, filtered.LiveBlocks, filtered.LiveBytes = 20000, 1200, 1<<20
	dropped := full
	dropped.Seen, dropped.Recorded, dropped.Left = 20000, 20000, 1561
	for _, tc := range []struct {
		st   recordings.RecordStatus
		want string
	}{
		{dropped, "x.hdb: 1,561 of 20,000 events, 48 stacks, live at the end 71.0 KiB (72704) in 1 block, of the whole run, 1 call lost, with symbols and source lines: 25.0 KiB"},
		{full, "x.hdb: 1,561 events, 48 stacks, live at the end 71.0 KiB (72704) in 1 block, 1 call lost, with symbols and source lines: 25.0 KiB"},
		{filtered, "x.hdb: 1,561 of 20,000 events, 48 stacks, live at the end 71.0 KiB (72704) in 1 recorded block, 1.0 MiB (1048576) in all 1,200, 1 call lost, with symbols and source lines: 25.0 KiB"},
		{recordings.RecordStatus{Stacks: 1, Bytes: 10}, "x.hdb: 0 events, 1 stack, no block live at the end, with symbols and source lines: 10 B"},
		{recordings.RecordStatus{Unfollowed: true, Bytes: 10}, "x.hdb: 0 events, 0 stacks, no allocator function was known in the program: what it allocates is not counted; alloc add names such functions, with symbols and source lines: 10 B"},
	} {
		if got := desk.RecordSummary(tc.st, "x.hdb"); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
	if line := desk.ProgressLine(filtered, 5); line != "5 events/s, 1,561 of 20,000 events, whole heap 1.0 MiB live, 1 lost, file 25.0 KiB" {
		t.Errorf("progress %s", line)
	}
	if line := desk.ProgressLine(recordings.RecordStatus{Unfollowed: true}, 0); line != "0 events/s, 0 events, no allocator function is known, file 0 B" {
		t.Errorf("progress %s", line)
	}
}
