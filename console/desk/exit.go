package desk

import (
	"errors"
	"fmt"

	"hdb/console/screen"
	"hdb/inferior"
	"hdb/session"
	"hdb/session/stopped"
)

// The exit codes of batch mode, a promise to scripts.
const (
	ExitOK        = 0
	ExitFailed    = 1 // a command failed
	ExitUsage     = 2 // the command line made no sense, main's; or a command needs a terminal and there is none
	ExitAssertion = 3 // an assertion of the user's did not hold
	ExitLaunch    = 4 // cannot launch or attach; main's for a capture, too
	ExitSignal    = 5 // the inferior died by a signal, or was left at a fatal one
	ExitUndecided = 6 // an assertion cannot be decided: the recording is not whole
)

// ExitStatus gathers what the exit code will say.
type ExitStatus struct {
	code     int // of the failed command that counts
	Given    *int
	child    inferior.ExitStatus // of the last inferior that ended by itself
	hasChild bool
	fatal    bool // the inferior is at a fatal signal
}

// ErrAssertion is wrapped by errors of commands that check something.
var ErrAssertion = errors.New("assertion failed")

// ErrUndecided is wrapped by errors of assertions that cannot be decided, because calls
// are missing from the recording.
var ErrUndecided = errors.New("assertion undecided")

// An undecidedError has the words of another error, and counts as ErrUndecided.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() []error { return []error{e.error, ErrUndecided} }

// Undecided is an error with the words of another one that counts as ErrUndecided.
func Undecided(err error) error { return undecidedError{err} }

// Failed remembers that a command failed by err. What became of an assertion goes before
// other failures, and the first of these before later ones.
func (x *ExitStatus) Failed(err error) {
	if ended := (*session.CallEndedError)(nil); errors.As(err, &ended) {
		x.Reported(ended.Report)
	}
	switch code := failureCode(err); {
	case x.code == ExitOK, code == ExitAssertion, code == ExitUndecided && x.code != ExitAssertion:
		x.code = code
	}
}

// failureCode is the exit code that an error leads to.
func failureCode(err error) int {
	var launch *inferior.LaunchError
	var attach *inferior.AttachError
	switch {
	case errors.As(err, &launch), errors.As(err, &attach):
		return ExitLaunch
	case errors.As(err, new(*screen.TerminalError)):
		return ExitUsage
	case errors.Is(err, ErrAssertion):
		return ExitAssertion
	case errors.Is(err, ErrUndecided):
		return ExitUndecided
	}
	return ExitFailed
}

// Reported keeps what a report says about the exit code.
func (x *ExitStatus) Reported(r *stopped.Report) {
	x.fatal = r.Signal() != nil && r.Signal().Fatal
	if r.Reason == inferior.Exited || r.Reason == inferior.Gone {
		x.child, x.hasChild = r.Exit(), true
	}
}

// childCode is the inferior's own status, 128+n for signal n.
func (x *ExitStatus) childCode() int {
	if x.child.Signal != 0 {
		return 128 + x.child.Signal
	}
	return x.child.Code
}

// Total is the exit code of Run. An interactive console that was left by `quit` has done
// what it was asked to. childResult wants the inferior's own status.
func (x *ExitStatus) Total(interactive, childResult bool) int {
	switch {
	case x.Given != nil:
		return *x.Given
	case childResult && x.hasChild:
		return x.childCode()
	case interactive:
		return ExitOK
	case x.code != ExitOK:
		return x.code
	case x.fatal, x.hasChild && x.child.Signal != 0:
		return ExitSignal
	}
	return ExitOK
}

// Live is the exit code of the live view.
func (x *ExitStatus) Live(childResult bool) int {
	switch {
	case x.code != ExitOK:
		return x.code
	case childResult && x.hasChild:
		return x.childCode()
	case x.hasChild && x.child.Signal != 0:
		return ExitSignal
	}
	return ExitOK
}

// noteOutput makes lost output count as a failure.
func (c *Desk) noteOutput() {
	if err := c.Out.Err(); err != nil {
		c.Fail(fmt.Errorf("output: %w", err))
	}
}

// Finish ends the session, writes the history and gives the terminal back.
func (c *Desk) Finish() int {
	c.Out.EndPaging()
	c.Split.Disable()
	c.noteOutput()
	pid, _, _, _ := c.Session.Process()
	outlives := c.Session.Outlives()
	if err := c.Session.Close(); err != nil {
		c.Fail(err)
	} else if outlives {
		c.Say("detached from process %d", pid)
	}
	c.Close()
	return c.Exit.Total(c.In != nil && c.In.Interactive() && !c.Opt.Batch, c.ChildResult)
}
