package recording

import (
	"time"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

// A Process is what a Recording asks about the process that it records.
type Process interface {
	// Frames answers what the filter asks of a stack. The stack is good until Frames has
	// answered its first question.
	Frames(capture.Stack) Frames
	// GoType reports whether the type that a Go runtime was given for a block of size bytes, by
	// code at an address, matches a pattern; at 0: by code that is not known.
	GoType(code addr.Run, aux capture.GoAux, size uint64, pattern string) bool
	// Numbered is called when an event has got a number that no call made.
	Numbered()
	// Guessed is called when a stack with guessed frames was recorded.
	Guessed()
	// Interpreted is the position in an interpreted program that a code address represents.
	Interpreted(addr.Run) (capture.Frame, bool)
	// Resident is how many bytes of the process's memory are resident.
	Resident(pid int) (uint64, error)
}

// Frames answers what conditions ask of a stack, as cond.Env does.
type Frames interface {
	Func(pattern string) bool
	Module(name string) bool
	Caller(name string) bool
	PyFile(pattern string) bool
	Like(event string) bool
}

// A Thread is a thread of the process.
type Thread interface {
	ID() int32    // the kernel's
	Number() int  // the debugger's, never used again
	Name() string // now; "" if the thread is gone
}

// An Origin is where a call comes from that the owner of the process follows.
type Origin interface {
	Frames
	Thread() Thread
	// Stack is walked when it is asked for first.
	Stack() capture.Stack
	// Stops reports whether a stop wants the event, which env tells conditions about.
	Stops(e *Event, env cond.Env) bool
}

// nameLag is how long a thread's name is taken to be what it was: an event of
// the probe is seen later than that anyway.
const nameLag = 10 * time.Millisecond

// knownThread is a thread with its name as of some moment.
type knownThread struct {
	Thread
	name string
	at   time.Time
}

// recentName is the thread's name, not older than nameLag; of one that is gone the last
// that is known.
func (t *knownThread) recentName() string {
	if now := time.Now(); now.Sub(t.at) > nameLag {
		if name := t.Name(); name != "" {
			t.name = name
		}
		t.at = now
	}
	return t.name
}
