package console

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"hdb/console/screen"
	"hdb/inferior"
	"hdb/session"
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

// exitStatus gathers what the exit code will say.
type exitStatus struct {
	code     int // of the first failed command
	given    *int
	child    inferior.ExitStatus // of the last inferior that ended by itself
	hasChild bool
	fatal    bool // the inferior stands at a fatal signal
}

// errAssertion is wrapped by errors of commands that check something.
var errAssertion = errors.New("assertion failed")

// errUndecided is wrapped by errors of assertions that cannot be decided, because calls
// are missing from the recording.
var errUndecided = errors.New("assertion undecided")

// fail prints an error and remembers that there was one.
func (c *Console) fail(err error) {
	code := ExitFailed
	var launch *inferior.LaunchError
	var attach *inferior.AttachError
	switch {
	case errors.As(err, &launch), errors.As(err, &attach):
		code = ExitLaunch
	case errors.As(err, new(*screen.TerminalError)):
		code = ExitUsage
	case errors.Is(err, errAssertion):
		code = ExitAssertion
	case errors.Is(err, errUndecided):
		code = ExitUndecided
	}
	if c.exit.code == ExitOK {
		c.exit.code = code
	}
	if c.cfg.JSON {
		c.out.Raw(jsonLine(c.running, failure{err.Error()}))
	}
	// Joined errors are one message: a newline of a foreign name is escaped.
	var joined interface{ Unwrap() []error }
	text := err.Error()
	if errors.As(err, &joined) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	c.err.Line(screen.Warning("error: "), screen.Plain(text))
}

// warn prints an error that fails no command.
func (c *Console) warn(err error) {
	c.err.Line(screen.Warning("warning: "), screen.Plain(err.Error()))
}

// noteReport keeps what a report says about the exit code.
func (c *Console) noteReport(r *session.Report) {
	c.exit.fatal = r.Signal != nil && r.Signal.Fatal
	if r.Reason == inferior.Exited || r.Reason == inferior.Gone {
		c.exit.child, c.exit.hasChild = r.Exit, true
	}
}

// status is the exit code of Run. An interactive console that was left by
// `quit` has done what it was asked to.
func (c *Console) status() int {
	switch {
	case c.exit.given != nil:
		return *c.exit.given
	case c.cfg.ReturnChildResult && c.exit.hasChild:
		if c.exit.child.Signal != 0 {
			return 128 + c.exit.child.Signal
		}
		return c.exit.child.Code
	case c.in != nil && c.in.Interactive() && !c.cfg.Batch:
		return ExitOK
	case c.exit.code != ExitOK:
		return c.exit.code
	case c.exit.fatal, c.exit.hasChild && c.exit.child.Signal != 0:
		return ExitSignal
	}
	return ExitOK
}

// noteOutput makes lost output count as a failure. It is worth a message
// unless the reader has just gone, as head does.
func (c *Console) noteOutput() {
	switch {
	case c.out.Err() == nil:
	case errors.Is(c.out.Err(), syscall.EPIPE):
		if c.exit.code == ExitOK {
			c.exit.code = ExitFailed
		}
	default:
		c.fail(fmt.Errorf("output: %w", c.out.Err()))
	}
}

// finish ends the session, writes the history and gives the terminal back.
func (c *Console) finish() int {
	c.out.EndPaging()
	c.tui.Disable()
	c.noteOutput()
	pid, _, _, _ := c.s.Process()
	outlives := c.s.Outlives()
	if err := c.s.Close(); err != nil {
		c.fail(err)
	} else if outlives {
		c.say("detached from process %d", pid)
	}
	if c.in != nil {
		if c.in.Interactive() && c.flag("history save") {
			if err := c.hist.Save(); err != nil {
				c.warn(err)
			}
		}
		if err := c.in.Close(); err != nil {
			c.warn(err)
		}
	}
	return c.status()
}
