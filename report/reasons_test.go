package report

import (
	"strings"
	"testing"

	"hdb/capture"
)

// TestReasonText has words for every kind, and the text where the kind has one.
func TestReasonText(t *testing.T) {
	unknown := ReasonText(capture.Reason{Kind: 255})
	said := map[string]capture.ReasonKind{unknown: 255}
	for kind := capture.BeganLate; kind <= capture.NoAllocator; kind++ {
		text := ReasonText(capture.Reason{Kind: kind})
		if other, ok := said[text]; ok {
			t.Errorf("kinds %d and %d are %q", kind, other, text)
		}
		said[text] = kind
	}
	for kind, want := range map[capture.ReasonKind]string{
		capture.OnlyEvents: "only events with size > 5", capture.Failed: "hdb failed while it recorded: size > 5",
		capture.NotFollowed: "plain breakpoints could not follow them: size > 5", capture.Paused: "it was paused",
	} {
		if got := ReasonText(capture.Reason{Kind: kind, Text: "size > 5"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := strings.Join(ReasonTexts(capture.Reasons{{Kind: capture.Trimmed}, {Kind: capture.Paused}}), "; "); got != "it was trimmed; it was paused" {
		t.Errorf("%q", got)
	}
}
