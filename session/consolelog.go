package session

import (
	"fmt"
	"sync"
	"time"

	"hdb/capture"
)

// What the console log keeps at most: the oldest lines are dropped.
const (
	maxConsoleLines = 1 << 15
	maxConsoleBytes = 1 << 20 // of text
	maxConsoleLine  = 4096    // bytes of one
)

// consoleLog is what was typed and printed in this session, for captures. Notices
// come from any goroutine.
type consoleLog struct {
	mu    sync.Mutex
	off   bool
	lines []capture.ConsoleLine
	bytes int // of their text
	left  int // lines that were dropped

	// The moment of what is added: the last recorded event, and its time.
	seq  uint64
	time time.Duration
}

// LogConsole adds lines to the console log: what the user typed, or what was printed.
// Any goroutine may call it. text must be fit to print.
func (s *Session) LogConsole(text string, typed bool) {
	l := &s.console
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return
	}
	if len(text) > maxConsoleLine {
		text = text[:maxConsoleLine] + "..."
	}
	l.lines = append(l.lines, capture.ConsoleLine{Seq: l.seq, Time: l.time, Typed: typed, Text: text})
	l.bytes += len(text)
	if len(l.lines) > maxConsoleLines || l.bytes > maxConsoleBytes {
		l.drop()
	}
}

// drop drops the older half, so that it need not be done for each line.
func (l *consoleLog) drop() {
	half := len(l.lines) / 2
	for _, line := range l.lines[:half] {
		l.bytes -= len(line.Text)
	}
	l.left += half
	l.lines = append([]capture.ConsoleLine(nil), l.lines[half:]...)
}

// all are the lines so far.
func (l *consoleLog) all() []capture.ConsoleLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []capture.ConsoleLine
	if l.left > 0 {
		lines = append(lines, capture.ConsoleLine{Text: fmt.Sprintf("(%d lines before are left out)", l.left)})
	}
	return append(lines, l.lines...)
}

// begin says that what comes belongs to a new recording: the moments of the lines so
// far meant nothing in it.
func (l *consoleLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.lines {
		l.lines[i].Seq, l.lines[i].Time = 0, 0
	}
	l.seq, l.time = 0, 0
}

// LogMoment has what is added to the console log from here on belong to this moment
// of the recording.
func (s *Session) LogMoment() {
	var seq uint64
	var now time.Duration
	if s.saved == nil && s.rec != nil {
		s.exclusive(func() { seq, now = s.trace.last, max(s.now(), s.trace.time) })
	}
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	s.console.seq, s.console.time = seq, now
}

// KeepConsole says whether a console log is kept. Without one, what there was is
// forgotten.
func (s *Session) KeepConsole(on bool) {
	l := &s.console
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off = !on; l.off {
		l.lines, l.bytes, l.left = nil, 0, 0
	}
}

// KeepsConsole tells whether a console log is kept.
func (s *Session) KeepsConsole() bool {
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	return !s.console.off
}

// ConsoleLog is what was typed and printed: in this session, or while the capture
// was made.
func (s *Session) ConsoleLog() []capture.ConsoleLine {
	if s.saved != nil {
		return s.saved.Console()
	}
	return s.console.all()
}
