package session

import (
	"time"

	"hdb/capture"
)

// LogConsole adds lines to the console log: what the user typed, or what was printed.
// Any goroutine may call it. text must be fit to print.
func (s *Session) LogConsole(text string, typed bool) { s.console.Add(text, typed) }

// LogMoment has what is added to the console log from here on belong to this moment
// of the recording.
func (s *Session) LogMoment() {
	var seq uint64
	var now time.Duration
	if s.saved == nil {
		s.exclusive(func() { seq, now = s.rec.Moment(s.now()) })
	}
	s.console.At(seq, now)
}

// KeepConsole says whether a console log is kept. Without one, what there was is
// forgotten.
func (s *Session) KeepConsole(on bool) { s.console.Keep(on) }

// KeepsConsole tells whether a console log is kept.
func (s *Session) KeepsConsole() bool { return s.console.Keeps() }

// ConsoleLog is what was typed and printed: in this session, or while the capture
// was made.
func (s *Session) ConsoleLog() []capture.ConsoleLine {
	if s.saved != nil {
		return s.saved.Console()
	}
	return s.console.Lines()
}
