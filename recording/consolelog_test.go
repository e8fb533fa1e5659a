package recording

import (
	"strings"
	"testing"
)

func TestConsoleLogIsBounded(t *testing.T) {
	l := new(ConsoleLog)
	l.Add(strings.Repeat("x", 3*maxConsoleLine), true)
	if got := l.Lines(); len(got) != 1 || !got[0].Typed || len(got[0].Text) != maxConsoleLine+3 {
		t.Fatalf("%d lines", len(got))
	}
	for range 2 * maxConsoleLines {
		l.Add("a line", false)
	}
	got := l.Lines()
	if n := len(got); n > maxConsoleLines+1 || n < maxConsoleLines/2 || !strings.HasSuffix(got[0].Text, " lines before are left out)") {
		t.Errorf("%d lines, the first is %q", n, got[0].Text)
	}
	for range 2 * maxConsoleBytes / maxConsoleLine {
		l.Add(strings.Repeat("y", maxConsoleLine), false)
	}
	bytes := 0
	for _, line := range l.Lines() {
		bytes += len(line.Text)
	}
	if bytes > maxConsoleBytes+100 {
		t.Errorf("%d bytes are kept", bytes)
	}
	l.Keep(false)
	l.Add("a secret", true)
	if got := l.Lines(); len(got) != 0 || l.Keeps() {
		t.Errorf("%d lines are kept with the log off", len(got))
	}
	l.Keep(true)
	l.Add("no secret", true)
	if got := l.Lines(); len(got) != 1 || got[0].Text != "no secret" {
		t.Errorf("%+v", got)
	}
}
