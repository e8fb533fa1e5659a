package screen

import (
	"slices"
	"strings"
	"testing"
)

func TestLogTakesWholeLines(t *testing.T) {
	var lines []string
	l := consoleLines{to: func(line string) { lines = append(lines, line) }}
	l.add("\x1b[1mone\x1b[0m two\nth")
	l.add("ree\n\nunfinished")
	l.off = true
	l.add("not this\n")
	if want := []string{"one two", "three", ""}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// TestLongLinesOfTheLog are put together from parts, up to what is kept.
func TestLongLinesOfTheLog(t *testing.T) {
	var lines []string
	l := consoleLines{to: func(line string) { lines = append(lines, line) }}
	part := strings.Repeat("x", 1000)
	for range 1000 {
		l.add(part)
	}
	l.add("\nnext\n")
	if len(lines) != 2 || len(lines[0]) < maxLogged || len(lines[0]) > maxLogged+1000 || lines[1] != "next" {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}
