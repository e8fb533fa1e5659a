package page

import (
	"html"
	"io"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/report"
)

// TestCaveats has each page say what makes its numbers less sure.
func TestCaveats(t *testing.T) {
	p := sampleProfile("/src/a.c")
	p.Caveats = report.Caveats{
		Partial: capture.Reasons{{Kind: capture.OnlyEvents, Text: "func(\"pa<rse\x1b\")"}, {Kind: capture.Paused}}, Lost: 1234,
		Damage: &capture.DamageError{Missing: 7}, Doubt: report.UnfollowedThen,
	}
	for name, write := range map[string]func(io.Writer) error{
		"WriteFlamegraph": func(w io.Writer) error { return WriteFlamegraph(w, p, report.Live) },
		"WriteTable":      func(w io.Writer) error { return WriteTable(w, p, report.Live) },
		"WriteTimeline":   func(w io.Writer) error { return WriteTimeline(w, p) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := html.UnescapeString(strings.NewReplacer(`\u003c`, "<", `\"`, `"`).Replace(b.String()))
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s has a control character", name)
		}
		for _, want := range []string{"only events with func(\"pa<rse\uFFFD\"); it was paused", "1,234 calls are missing", "7 events are missing", "blocks that appear live may be freed"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say: %s", name, want)
			}
		}
	}
}
