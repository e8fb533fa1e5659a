// Package console is hdb's words and screens: it reads command lines, finds
// them in one table, calls the session's verbs and prints what they return.
//
// Run and everything it calls stay on the caller's goroutine, which must be
// the one that owns the session. Two helpers run beside it: one blocks in
// line.Reader.ReadLine and has the Tab key answered by the caller's goroutine, one
// waits for signals, cancels the running command and interrupts the inferior.
// Neither touches output or any other state. While the program runs in the background the
// caller's goroutine is inside of the command that runs it; a third helper then reads the
// lines, runs commands of the shell between them, and has all else run there by
// session.Beside; it hands the line that is open over when it ends, for which the command
// waits. The split screen has one more, for the
// signals of the terminal.
package console

import (
	"errors"
	"fmt"
	"io"
	"os"

	"hdb/console/line"
	"hdb/console/screen"
	"hdb/inferior"
	"hdb/session"
)

// Config is what a console is made of. Session, Out and Err are required.
type Config struct {
	Session  *session.Session
	In       line.Reader  // nil: only Startup is run
	Out, Err io.Writer    // data and messages
	Begin    func() error // loads, attaches or opens, once the config files were read; an error, which it says, ends Run
	Startup  []Startup    // run in order before the first prompt
	Getenv   func(string) string
	Version  string

	Echo              bool // print prompt and line before each command that is not typed at a terminal, as in a transcript
	Batch             bool // no prompts, paging, colour or questions; quit after Startup
	JSON              bool // one object per line for each command that prints data
	Quiet             bool // no greeting
	NoInit            bool // read no configuration and no .hdb file
	Finish            bool // let the program that hdb has started run to its end after the startup commands
	ReturnChildResult bool // exit with the inferior's own status, 128+n for signal n
}

// Startup is one -ex command or one -x file of the command line.
type Startup struct {
	Text string // the command, or the file's name
	File bool
}

// A Console is one interactive or scripted conversation. It owns what the commands share.
// What a group of commands keeps has a type of its own.
type Console struct {
	cfg Config
	s   *session.Session
	in  line.Reader
	out *screen.Output // data
	err *screen.Output // messages

	set    *settings
	interp *interpreter
	bg     *background // the command that runs in the background, nil: none
	source *sourceViewer
	eval   *evaluator
	hist   line.History
	tui    *screen.Split

	startup   *scriptSource // the -ex commands and -x files
	unread    string        // a line typed for the prompt, at a question that it does not answer
	unwritten error         // of the recording, that was told last
	explained bool          // the marks of frames were

	stopped map[int]string // the headline of the last stop of a process, by its ID

	notices screen.Notices
	logging loggingFile
	sig     signals
	exit    exitStatus
}

//go:generate go test -run ^TestCommandsDoc$ -update

// New prepares a console; nothing is read or printed before Run.
func New(cfg Config) *Console {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	c := &Console{cfg: cfg, s: cfg.Session, in: cfg.In, stopped: map[int]string{}}
	c.set = &settings{c: c, table: settingTable(), values: map[string]string{}}
	c.interp = &interpreter{c: c, table: commandTable(), aliases: map[string]string{}, defined: map[string]*definition{}}
	c.startup = &scriptSource{} // whose errors tell no place
	c.source = &sourceViewer{c: c, missing: map[string]bool{}, newer: map[string]bool{}}
	c.eval = &evaluator{c: c}
	c.out, c.err = &screen.Output{W: cfg.Out, Notices: &c.notices}, &screen.Output{W: cfg.Err, Notices: &c.notices}
	c.hist = line.History{Path: historyPath(cfg.Getenv), Limit: 1000}
	c.tui = newTUI(c)
	c.sig.beside = make(chan func(), 64)
	c.notices.LogTo(func(line string) {
		c.s.ConsoleLog.Add(line, false)
		c.logging.add(line)
	})
	c.layout()
	startDebuginfod(c)
	return c
}

// Run reads and runs commands until the end of input, quit, or in batch mode
// the end of Startup, and closes the session. It returns the exit code: 0 all
// ran, 1 a command failed, 3 an assertion failed, 4 cannot launch or attach, 5
// the inferior died by a signal.
func (c *Console) Run() int {
	c.sig.going = c.s.Going
	c.sig.start(c.s.Interrupt)
	defer c.sig.stop()
	defer c.tui.Disable() // also when hdb panics
	c.prepareInput()
	readConfig(c)
	if c.cfg.Begin != nil {
		if err := c.cfg.Begin(); err != nil {
			return ExitLaunch
		}
	}
	if !c.cfg.NoInit {
		readProjectFile(c)
	}
	c.runStartup()
	if c.cfg.Finish {
		c.runOut()
	}
	if c.in != nil && !c.cfg.Batch {
		c.loop()
	}
	return c.finish()
}

// prepareInput connects the reader with history and completion.
func (c *Console) prepareInput() {
	if c.in == nil || !c.in.Interactive() {
		return
	}
	if err := c.hist.Load(); err != nil {
		c.warn(err)
	}
	c.in.SetHistory(c.hist.Lines)
	c.in.SetCompleter(completer{c}.complete)
	c.out.More = c.askMore
}

// runStartup runs the -ex commands and -x files in the order given. The
// commands are lines of one source, so that `-ex commands -ex bt -ex end` works.
func (c *Console) runStartup() {
	for _, st := range c.cfg.Startup {
		if st.File {
			st.Text = "source " + quoteArg(st.Text)
		}
		c.startup.lines = append(c.startup.lines, st.Text)
	}
	c.interp.push(c.startup)
	defer c.interp.pop()
	for !c.interp.quit {
		text, err := c.startup.next("")
		if err != nil {
			return
		}
		c.obey(text)
	}
}

// runOut lets a program that hdb has started run to its end, unless Ctrl-C stops it: what it has not written yet is not lost.
func (c *Console) runOut() {
	for {
		if _, _, attached, live := c.s.Process(); !live || attached {
			return
		}
		r, err := c.s.Execution.Continue(1)
		if err != nil {
			c.warn(err)
			return
		}
		c.report(Input{Name: "continue"}, r)
		if r.Reason == inferior.Interrupted {
			return
		}
	}
}

// loop reads commands until quit or the end of input.
func (c *Console) loop() {
	src := &readerSource{c}
	c.interp.push(src)
	defer c.interp.pop()
	for !c.interp.quit {
		askDebuginfod(c)
		typed, err := src.next(c.set.value("prompt"))
		switch {
		case errors.Is(err, line.ErrCancelled):
			continue
		case errors.Is(err, io.EOF):
			if c.in.Interactive() {
				c.out.Raw("quit\n")
				c.interp.top("quit")
				if !c.interp.quit {
					continue // the question was answered with no
				}
			}
			return
		case err != nil:
			c.fail(err)
			return
		}
		c.typed(typed, true)
	}
}

// typed runs a line of the user's, or one of the command line's.
func (c *Console) typed(text string, typed bool) {
	if typed && c.in.Interactive() {
		if c.hist.Add(text) {
			c.in.SetHistory(c.hist.Lines)
		}
		text = c.interp.repeated(text)
	}
	c.obey(text)
}

// noteUnwritten makes a recording or a copy of the output that cannot be written any more
// count as a failure, once.
func (c *Console) noteUnwritten() {
	if err := c.logging.failed(); err != nil {
		c.fail(fmt.Errorf("logging has ended: %w", err))
	}
	if err := c.s.Recorder.Err(); err != nil && err != c.unwritten {
		c.unwritten = err
		c.fail(fmt.Errorf("record: %w: the recording has ended; what was written before can be asked and saved", err))
	}
}

// Greet tells a person what can be typed where nothing was named on the command line.
func (c *Console) Greet() {
	if c.in != nil && c.in.Interactive() && !c.cfg.Quiet {
		c.out.Printf("hdb %s: `file PROGRAM`, `attach PID` or `open CAPTURE` to begin, `help` for more\n", c.cfg.Version)
	}
}

// ending tells whether no more commands may run: nobody reads what they print,
// or a signal asked hdb to end.
func (c *Console) ending() bool { return c.out.Err() != nil || c.sig.terminated() }
