package allocs

import (
	"bytes"
	"strings"
	"testing"

	"hdb/console/screen"
	"hdb/session/heaps"
)

// TestLongPath: a way through a long list has its beginning and its end, and says how much is between.
func TestLongPath(t *testing.T) {
	for steps, lines := range map[int]int{1: 2, pathBegin + pathEnd + 1: 2 * (pathBegin + pathEnd + 1), 1000: 2*(pathBegin+pathEnd) + 1} {
		a := &heaps.PathAnswer{Steps: make([]heaps.PathStep, steps)}
		a.Steps[0].Holder = heaps.Holder{Kind: heaps.HeldByRegister, Name: "rbx", Thread: 1}
		var out bytes.Buffer
		printPath(&screen.Output{W: &out}, a)
		text := out.String()
		if n := strings.Count(text, "\n"); n != lines {
			t.Errorf("%d steps have %d lines, want %d:\n%s", steps, n, lines, text)
		}
		if strings.Contains(text, "980 steps more") != (steps == 1000) {
			t.Errorf("%d steps: %s", steps, text)
		}
	}
}
