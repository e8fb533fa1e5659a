// Package desk is what the commands of all groups share: how stops, stacks, events, values and sources are
// shown, and what the exit code will say. It has no command but x, of which
// display is another form.
package desk

import (
	"context"

	"hdb/console/shell"
	"hdb/session"
)

// A Desk is a shell with a session, and what the commands of all groups share: how stops, stacks, values
// and sources are shown. What the commands of a group keep has a type of its own.
type Desk struct {
	*shell.Shell
	Session *session.Session
	Source  *SourceViewer
	Eval    *Evaluator
	Exit    ExitStatus

	Finishes    bool // the program that hdb has started is to run to its end after the startup commands
	ChildResult bool // the exit code is the inferior's own status

	Stopped   map[int]string // the headline of the last stop of a process, by its ID
	explained bool           // the marks of frames were
	passing   passing
}

// New is the desk of a session, without a shell yet.
func New(s *session.Session, finishes, childResult bool) *Desk {
	c := &Desk{Session: s, Finishes: finishes, ChildResult: childResult, Stopped: map[int]string{}}
	c.Source = &SourceViewer{c: c, Missing: map[string]bool{}, newer: map[string]bool{}}
	c.Eval = &Evaluator{c: c}
	return c
}

// Does has a command call a function of the console.
func (c *Desk) Does(f func(ctx context.Context, c *Desk, in shell.Input) error) func(context.Context, shell.Input) error {
	return func(ctx context.Context, in shell.Input) error { return f(ctx, c, in) }
}
