package console

import (
	"slices"
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
