package console

import (
	"context"

	"hdb/console/shell"
	"hdb/session"
)

// A Desk is a shell with a session, and what the commands of all groups share: how stops, stacks, values
// and sources are shown. What the commands of a group keep has a type of its own.
type Desk struct {
	*shell.Shell
	s      *session.Session
	source *sourceViewer
	eval   *evaluator
	exit   exitStatus

	finishes    bool // the program that hdb has started is to run to its end after the startup commands
	childResult bool // the exit code is the inferior's own status

	stopped   map[int]string // the headline of the last stop of a process, by its ID
	explained bool           // the marks of frames were
}

// newDesk is the desk of a session, without a shell yet.
func newDesk(s *session.Session, finishes, childResult bool) *Desk {
	c := &Desk{s: s, finishes: finishes, childResult: childResult, stopped: map[int]string{}}
	c.source = &sourceViewer{c: c, missing: map[string]bool{}, newer: map[string]bool{}}
	c.eval = &evaluator{c: c}
	return c
}

// does has a command call a function of the console.
func (c *Desk) does(f func(ctx context.Context, c *Desk, in shell.Input) error) func(context.Context, shell.Input) error {
	return func(ctx context.Context, in shell.Input) error { return f(ctx, c, in) }
}
