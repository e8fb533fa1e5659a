package session

import (
	"strings"
	"testing"
)

func TestConsoleLogIsBounded(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	s.LogConsole(strings.Repeat("x", 3*maxConsoleLine), true)
	if got := s.ConsoleLog(); len(got) != 1 || !got[0].Typed || len(got[0].Text) != maxConsoleLine+3 {
		t.Fatalf("%d lines", len(got))
	}
	for range 2 * maxConsoleLines {
		s.LogConsole("a line", false)
	}
	got := s.ConsoleLog()
	if n := len(got); n > maxConsoleLines+1 || n < maxConsoleLines/2 || !strings.HasSuffix(got[0].Text, " lines before are left out)") {
		t.Errorf("%d lines, the first is %q", n, got[0].Text)
	}
	for range 2 * maxConsoleBytes / maxConsoleLine {
		s.LogConsole(strings.Repeat("y", maxConsoleLine), false)
	}
	bytes := 0
	for _, l := range s.ConsoleLog() {
		bytes += len(l.Text)
	}
	if bytes > maxConsoleBytes+100 {
		t.Errorf("%d bytes are kept", bytes)
	}
	s.KeepConsole(false)
	s.LogConsole("a secret", true)
	if got := s.ConsoleLog(); len(got) != 0 || s.KeepsConsole() {
		t.Errorf("%d lines are kept with the log off", len(got))
	}
	s.KeepConsole(true)
	s.LogConsole("no secret", true)
	if got := s.ConsoleLog(); len(got) != 1 || got[0].Text != "no secret" {
		t.Errorf("%+v", got)
	}
}
