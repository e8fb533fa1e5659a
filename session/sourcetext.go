package session

import (
	"os"
	"slices"
	"time"

	"hdb/capture"
)

// SourceText is a source file, or the parts of it that a capture kept.
type SourceText struct {
	Path  string
	lines []string
	kept  []capture.Excerpt
	// Changed: the file is here, but not as it was when the capture kept these lines.
	Changed bool
}

// agree tells whether the lines that a capture kept are those of the file.
func agree(lines []string, kept []capture.Excerpt) bool {
	for _, x := range kept {
		if x.First < 1 || x.First-1+len(x.Lines) > len(lines) || !slices.Equal(lines[x.First-1:][:len(x.Lines)], x.Lines) {
			return false
		}
	}
	return true
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

// Newer tells whether the source file was changed after everything that is
// loaded was built: then its lines are not those that the program was built from.
func (s *Session) Newer(src *SourceText) bool {
	if s.saved != nil || !src.Whole() {
		return false
	}
	st, err := os.Stat(src.Path)
	if err != nil {
		return false
	}
	var built time.Time
	for _, m := range s.objects() {
		if f, err := os.Stat(m.path); err == nil && f.ModTime().After(built) {
			built = f.ModTime()
		}
	}
	return !built.IsZero() && st.ModTime().After(built)
}

// Whole tells a file from excerpts of one.
func (t *SourceText) Whole() bool { return t.kept == nil }
