package recording

import (
	"sync"
	"time"

	"hdb/capture"
	"hdb/internal/units"
)

// What the console log keeps at most: the oldest lines are dropped.
const (
	maxConsoleLines = 1 << 15
	maxConsoleBytes = 1 << 20 // of text
	maxConsoleLine  = 4096    // bytes of one
)

// A ConsoleLog is what was typed and printed in a session, for captures. It is safe for
// concurrent use: notices come from any goroutine. The zero value is an empty log.
type ConsoleLog struct {
	mu      sync.Mutex
	off     bool
	lines   []capture.ConsoleLine
	bytes   int // of their text
	dropped int // lines

	// The moment of what is added: the last recorded event, and its time.
	seq  uint64
	time time.Duration
}

// Add adds a line: what the user typed, or what was printed. text must be fit to print.
func (l *ConsoleLog) Add(text string, typed bool) {
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
func (l *ConsoleLog) drop() {
	half := len(l.lines) / 2
	for _, line := range l.lines[:half] {
		l.bytes -= len(line.Text)
	}
	l.dropped += half
	l.lines = append([]capture.ConsoleLine(nil), l.lines[half:]...)
}

// Lines are the lines so far.
func (l *ConsoleLog) Lines() []capture.ConsoleLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []capture.ConsoleLine
	if l.dropped > 0 {
		lines = append(lines, capture.ConsoleLine{Text: "(" + units.CountVerb(l.dropped, "line", "before is", "before are") + " left out)"})
	}
	return append(lines, l.lines...)
}

// Begin says that what comes belongs to a new recording: the moments of the lines so
// far mean nothing in it.
func (l *ConsoleLog) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.lines {
		l.lines[i].Seq, l.lines[i].Time = 0, 0
	}
	l.seq, l.time = 0, 0
}

// At has what is added from here on belong to this moment of the recording.
func (l *ConsoleLog) At(seq uint64, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq, l.time = seq, now
}

// Keep says whether lines are kept. If not, those so far are forgotten.
func (l *ConsoleLog) Keep(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off = !on; l.off {
		l.lines, l.bytes, l.dropped = nil, 0, 0
	}
}

// Keeps reports whether lines are kept.
func (l *ConsoleLog) Keeps() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.off
}
