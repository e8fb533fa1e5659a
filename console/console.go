// Package console is hdb's words and screens: it reads command lines, finds
// them in one table, calls the session's verbs and prints what they return.
//
// Run and everything it calls stay on the caller's goroutine, which must be
// the one that owns the session. Two helpers run beside it and touch neither
// session nor output: one blocks in LineReader.ReadLine, one waits for signals
// and cancels the running command.
package console

import (
	"io"
)

// Config is what a console is made of. Only Out and Err are required.
type Config struct {
	In       LineReader // nil: only Startup is run
	Out, Err io.Writer  // data and messages
	Startup  []Startup  // run in order before the first prompt
	Getenv   func(string) string

	Echo              bool // print prompt and line before each command that is not typed at a terminal, as in a transcript
	Batch             bool // no prompts, paging, colour or questions; quit after Startup
	JSON              bool // one object per line for each command that prints data
	Quiet             bool // no greeting and notices
	NoInit            bool // read no configuration and no .hdb file
	ReturnChildResult bool // batch: exit with the inferior's own status
}

// Startup is one -ex command or one -x file of the command line.
type Startup struct {
	Text string // the command, or the file's name
	File bool
}

// Console is one interactive or scripted conversation.
type Console struct {
	cfg Config
}

// New prepares a console; nothing is read or printed before Run.
func New(cfg Config) *Console { return &Console{cfg: cfg} }

// Run reads and runs commands until the end of input, quit, or in batch mode
// the end of Startup. It returns the exit code: 0 all ran, 1 a command failed,
// 2 usage, 3 an assertion failed, 4 cannot launch or attach, 5 the inferior
// died by a signal.
func (c *Console) Run() int { return 0 }
