package session

import "hdb/capture"

// SourceText is a source file, or the parts of it that a capture kept.
type SourceText struct {
	Path  string
	lines []string
	kept  []capture.Excerpt
}

// Line is line n, counted from 1; ok is false when it is not there.
func (t *SourceText) Line(n int) (text string, ok bool) {
	if t.kept != nil {
		return capture.Line(t.kept, n)
	}
	if n < 1 || n > len(t.lines) {
		return "", false
	}
	return t.lines[n-1], true
}

// Last is the number of the last line.
func (t *SourceText) Last() int {
	if n := len(t.kept); n > 0 {
		return t.kept[n-1].First + len(t.kept[n-1].Lines) - 1
	}
	return len(t.lines)
}

// Whole tells a file from excerpts of one.
func (t *SourceText) Whole() bool { return t.kept == nil }
