// Package console is hdb's words and screens: the commands of a shell, which call the session's
// verbs and print what they return.
//
// Run and everything it calls stay on the caller's goroutine, which must be the one that owns the
// session. The shell's helpers run at the same time; the split screen has one more, for the signals
// of the terminal.
package console

import (
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/inferior"
	"hdb/session"
)

// Config is what a console is made of. Session, Out and Err are required.
type Config struct {
	shell.Options
	Session *session.Session
	Begin   func() error // loads, attaches or opens, once the config files were read; an error, which it says, ends Run

	Early             []shell.Startup // commands before Begin
	NoInit            bool            // read no configuration and no .hdb file
	NoHome            bool            // read no configuration of the user
	Finish            bool            // let the program that hdb has started run to its end after the startup commands
	ReturnChildResult bool            // exit with the inferior's own status, 128+n for signal n
}

// A Console is a desk with the commands of all groups.
type Console struct {
	*desk.Desk
	cfg Config
}

//go:generate go test -run ^TestCommandsDoc$ -update

// New prepares a console; nothing is read or printed before Run.
func New(cfg Config) *Console {
	d := desk.New(cfg.Session, cfg.Finish, cfg.ReturnChildResult)
	d.Shell = shell.New(cfg.Options, &host{Desk: d})
	d.Use(commandTable(d), settingTable(d))
	d.Split = data.NewTUI(d)
	d.Layout()
	data.StartDebuginfod(d)
	return &Console{Desk: d, cfg: cfg}
}

// Run reads and runs commands until the end of input, quit, or in batch mode
// the end of Startup, and closes the session. It returns the exit code: 0 all
// ran, 1 a command failed, 3 an assertion failed, 4 cannot launch or attach, 5
// the inferior died by a signal.
func (c *Console) Run() int {
	defer c.Start()()
	c.PrepareInput()
	c.ReadConfig(c.cfg.NoInit, c.cfg.NoHome)
	c.RunStartup(c.cfg.Early)
	if c.cfg.Begin != nil {
		if err := c.cfg.Begin(); err != nil {
			return desk.ExitLaunch
		}
	}
	if !c.cfg.NoInit {
		c.ReadProjectFile()
	}
	c.RunStartup(c.Opt.Startup)
	if c.cfg.Finish {
		c.Unattended(c.runOut)
	}
	if c.In != nil && !c.Opt.Batch {
		c.Loop()
	}
	return c.Finish()
}

// runOut lets a program that hdb has started run to its end, unless hdb is asked to end: what it has not written yet is not lost.
func (c *Console) runOut() {
	for _, name := range []string{"SIGINT", "SIGTRAP", "SIGTSTP", "SIGCONT"} {
		if err := c.Session.Catches.HandleSignal(name, inferior.Policy{Pass: true, Hold: name == "SIGTSTP"}); err != nil {
			c.Warn(err)
		}
	}
	for !c.Terminated() {
		if _, _, attached, live := c.Session.Process(); !live || attached {
			return
		}
		r, err := c.Session.Execution.Continue(1)
		if err != nil {
			c.Warn(err)
			return
		}
		if !c.Suspended(r) {
			c.Report(shell.Input{Name: "continue"}, r)
		}
	}
}
