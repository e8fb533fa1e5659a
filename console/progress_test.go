package console

import (
	"strings"
	"testing"

	"hdb/session"
)

func TestProgressLine(t *testing.T) {
	var out strings.Builder
	width := 80
	p := &Progress{w: &out, width: func() int { return width }}
	st := session.RecordStatus{Seen: 36607217, Recorded: 36607217, LiveBytes: 1 << 30, LiveBlocks: 18295, Bytes: 3 << 20}
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
	var none *Progress // standard error is no terminal
	none.Show(st)
	none.Clear()
}

func TestRecordSummary(t *testing.T) {
	st := session.RecordStatus{Recorded: 1561, Stacks: 48, LiveBlocks: 1, LiveBytes: 71 << 10, Lost: 1, Bytes: 25600}
	want := "x.hdb: 1,561 events, 48 stacks, 1 block live at the end of 71 KiB (72704), 1 call lost, with symbols and source lines: 25.0 KiB"
	if got := RecordSummary(st, "x.hdb"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
