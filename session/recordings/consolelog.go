package recordings

import (
	"time"

	"hdb/capture"
	"hdb/recording"
	"hdb/session/target"
)

// ConsoleLog keeps what was typed and printed for the capture.
type ConsoleLog struct {
	target  *target.Target
	account *target.Account
	Log     recording.ConsoleLog
}

// NewConsoleLog keeps what is typed and printed together with the recording of a target.
func NewConsoleLog(t *target.Target, a *target.Account) *ConsoleLog {
	return &ConsoleLog{target: t, account: a}
}

// Add adds lines to the console log: what the user typed, or what was printed.
// Any goroutine may call it. text must be fit to print.
func (l *ConsoleLog) Add(text string, typed bool) { l.Log.Add(text, typed) }

// Moment has what is added to the console log from here on belong to this moment
// of the recording.
func (l *ConsoleLog) Moment() {
	var seq uint64
	var now time.Duration
	if l.target.Saved == nil {
		l.target.Exclusive(func() { seq, now = l.account.Rec.Moment(l.target.Now()) })
	}
	l.Log.At(seq, now)
}

// Keep says whether a console log is kept. Without one, what there was is
// forgotten.
func (l *ConsoleLog) Keep(on bool) { l.Log.Keep(on) }

// Keeps reports whether a console log is kept.
func (l *ConsoleLog) Keeps() bool { return l.Log.Keeps() }

// Lines is what was typed and printed: in this session, or while the capture
// was made.
func (l *ConsoleLog) Lines() []capture.ConsoleLine {
	if l.target.Saved != nil {
		return l.target.Saved.Console()
	}
	return l.Log.Lines()
}
