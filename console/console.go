// Package console is hdb's words and screens: it reads command lines, finds
// them in one table, calls the session's verbs and prints what they return.
//
// Run and everything it calls stay on the caller's goroutine, which must be
// the one that owns the session. Two helpers run beside it: one blocks in
// line.Reader.ReadLine and has the Tab key answered by the caller's goroutine, one
// waits for signals, cancels the running command and interrupts the inferior.
// Neither touches output or any other state. The split screen has one more, for
// the signals of the terminal.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hdb/capture"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/names"
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
	ReturnChildResult bool // exit with the inferior's own status, 128+n for signal n
}

// Startup is one -ex command or one -x file of the command line.
type Startup struct {
	Text string // the command, or the file's name
	File bool
}

// Console is one interactive or scripted conversation.
type Console struct {
	cfg Config
	s   *session.Session
	in  line.Reader
	out *screen.Output // data
	err *screen.Output // messages

	table    []*Command
	settings []*setting
	values   map[string]string // of settings that are not at their default
	hist     line.History
	aliases  map[string]string
	defined  map[string]*definition

	sources []lineSource    // where lines come from, innermost last
	unread  string          // a line typed for the prompt, at a question that it does not answer
	hooks   []*scriptSource // commands of the stop just reported, not yet run: a list for each breakpoint
	hooking bool            // the hooks are being run

	unwritten error           // of the recording, that was told last
	depth     int             // nested definitions and scripts
	last      repetition      // what an empty line does
	listing   listing         // where `list` and `list -` go on
	memory    memory          // where `x` goes on
	data      valueState      // what print and display keep
	missing   map[string]bool // sources that were reported missing
	newer     map[string]bool // and those that were reported newer than the program

	explained bool          // the marks of frames were
	tui       *screen.Split // never nil

	notices screen.Notices
	sig     signals
	running string // the full name of the command that runs or ran last
	quit    bool
	exit    exitStatus
}

//go:generate go test -run ^TestCommandsDoc$ -update

// New prepares a console; nothing is read or printed before Run.
func New(cfg Config) *Console {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	c := &Console{
		cfg: cfg, s: cfg.Session, in: cfg.In,
		table: commandTable(), settings: settingTable(),
		missing: map[string]bool{}, newer: map[string]bool{},
		values: map[string]string{}, aliases: map[string]string{}, defined: map[string]*definition{},
	}
	c.out, c.err = &screen.Output{W: cfg.Out, Notices: &c.notices}, &screen.Output{W: cfg.Err, Notices: &c.notices}
	surviveBrokenPipes()
	c.hist = line.History{Path: historyPath(cfg.Getenv), Limit: 1000}
	c.tui = newTUI(c)
	c.sig.beside = make(chan func(), 64)
	c.notices.LogTo(func(line string) { c.s.LogConsole(line, false) })
	c.screen()
	c.startDebuginfod()
	return c
}

// Run reads and runs commands until the end of input, quit, or in batch mode
// the end of Startup, and closes the session. It returns the exit code: 0 all
// ran, 1 a command failed, 3 an assertion failed, 4 cannot launch or attach, 5
// the inferior died by a signal.
func (c *Console) Run() int {
	c.sig.start(c.s.Interrupt)
	defer c.sig.stop()
	defer c.tui.Disable() // also when hdb panics
	c.prepareInput()
	if !c.cfg.NoInit {
		c.readConfig()
	}
	if c.cfg.Begin != nil {
		if err := c.cfg.Begin(); err != nil {
			return ExitLaunch
		}
	}
	if !c.cfg.NoInit {
		c.readProjectFile()
	}
	c.runStartup()
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
	c.in.SetCompleter(c.complete)
	c.out.More = c.askMore
}

// runStartup runs the -ex commands and -x files in the order given. The
// commands are lines of one source, so that `-ex commands -ex bt -ex end` works.
func (c *Console) runStartup() {
	src := &scriptSource{name: "-ex"}
	for _, st := range c.cfg.Startup {
		if st.File {
			st.Text = "source " + quoteArg(st.Text)
		}
		src.lines = append(src.lines, st.Text)
	}
	c.push(src)
	defer c.pop()
	for !c.quit {
		line, err := src.next("")
		if err != nil {
			return
		}
		c.top(line)
	}
}

// loop reads commands until quit or the end of input.
func (c *Console) loop() {
	src := &readerSource{c}
	c.push(src)
	defer c.pop()
	for !c.quit {
		c.askDebuginfod()
		typed, err := src.next(c.value("prompt"))
		switch {
		case errors.Is(err, line.ErrCancelled):
			continue
		case errors.Is(err, io.EOF):
			if c.in.Interactive() {
				c.out.Raw("quit\n")
				c.top("quit")
				if !c.quit {
					continue // the question was answered with no
				}
			}
			return
		case err != nil:
			c.fail(err)
			return
		}
		if c.in.Interactive() {
			if c.hist.Add(typed) {
				c.in.SetHistory(c.hist.Lines)
			}
			typed = c.repeated(typed)
		}
		c.top(typed)
	}
}

// top runs one line as the user's own: it can be interrupted, its error is
// printed, and the commands of the stop it led to run after it.
func (c *Console) top(line string) {
	c.perform(line, func(ctx context.Context) error { return c.execute(ctx, line) })
}

// perform does what a line of the outermost level asks for.
func (c *Console) perform(line string, do func(context.Context) error) {
	if c.sig.terminated() {
		c.quit = true
		return
	}
	ctx, done := c.sig.command()
	defer done()
	c.screen()
	c.out.Begin()
	c.logTyped(line)
	c.running = ""
	err := do(ctx)
	if err == nil {
		err = c.runHooks(ctx)
	}
	c.hooks = nil
	if err != nil {
		c.fail(err)
	}
	c.noteUnwritten()
	c.s.LogMoment()
	c.quit = c.quit || c.ending()
}

// noteUnwritten makes a recording that cannot be written any more count as a failure,
// once.
func (c *Console) noteUnwritten() {
	if err := c.s.StreamErr(); err != nil && err != c.unwritten {
		c.unwritten = err
		c.fail(fmt.Errorf("record: %w: the recording has ended; what was written before can be asked and saved", err))
	}
}

// ending tells whether no more commands may run: nobody reads what they print,
// or a signal asked hdb to end.
func (c *Console) ending() bool { return c.out.Err() != nil || c.sig.terminated() }

// execute runs one line: a comment, a definition or a command of the table.
func (c *Console) execute(ctx context.Context, line string) error {
	if err := ctx.Err(); err != nil {
		return errInterrupted
	}
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	line, err := c.expandAlias(line)
	if err != nil {
		return err
	}
	word, rest := commandWord(line)
	if def := c.defined[word]; def != nil {
		return c.runDefinition(ctx, def, rest)
	}
	cmd, rest, name, err := resolve(c.table, line)
	if err != nil {
		return err
	}
	return c.runCommand(ctx, cmd, Input{Raw: strings.TrimSpace(rest), Name: name})
}

// runCommand checks what the command needs, and runs it.
func (c *Console) runCommand(ctx context.Context, cmd *Command, in Input) error {
	c.running = in.Name
	if err := c.check(cmd.Needs); err != nil {
		return err
	}
	if !cmd.Raw {
		args, err := splitArgs(in.Raw)
		if err != nil {
			return err
		}
		in.Args = args
	}
	in.Repeated = c.last.running
	reading, done := c.read(ctx)
	defer done()
	err := cmd.Run(ctx, c, in)
	if reading.Cut() != nil {
		return errInterrupted
	}
	return withAdvice(err)
}

// withAdvice adds the next step to an error that knows no commands.
func withAdvice(err error) error {
	if errors.Is(err, names.ErrNoFiles) {
		return fmt.Errorf("%w: bt, allocs and list know what it kept", err)
	}
	return err
}

// read bounds what a command reads and prints by its context, and shows how far it
// is when that takes long.
func (c *Console) read(ctx context.Context) (*capture.Reading, func()) {
	reading := capture.NewReading(ctx)
	before, restore := c.s.Within(reading), c.out.Until(reading.GivenUp)
	stop := c.showReading(reading)
	return reading, func() {
		stop()
		restore()
		c.s.Within(before)
	}
}

// check tells whether the session is what a command works on.
func (c *Console) check(need Need) error {
	mode := session.Empty
	if c.s != nil {
		mode = c.s.Mode()
	}
	switch {
	case (need == NeedProgram || need == NeedRunnable) && mode == session.Empty:
		return session.ErrNoProgram
	case (need == NeedLive || need == NeedRunnable) && mode == session.Saved:
		return session.ErrSaved
	case need == NeedLive && mode != session.Live, (need == NeedData || need == NeedPast) && mode != session.Live && mode != session.Saved:
		return session.ErrNotRunning
	}
	return nil
}

// A repetition is what an empty line does after a command.
type repetition struct {
	line    string // "" nothing
	running bool   // it is being repeated now
}

// repeated turns a typed line into the one to run.
func (c *Console) repeated(line string) string {
	c.last.running = false
	if strings.TrimSpace(line) == "" {
		c.last.running = c.last.line != ""
		return c.last.line
	}
	c.last.line = ""
	full, err := c.expandAlias(strings.TrimSpace(line))
	if err != nil || full[0] == '#' {
		return line
	}
	if word, _ := commandWord(full); c.defined[word] != nil {
		c.last.line = line
		return line
	}
	cmd, _, name, err := resolve(c.table, full)
	if err != nil {
		return line
	}
	switch cmd.Repeat {
	case RepeatSame:
		c.last.line = line
	case RepeatNext:
		c.last.line = name
	}
	return line
}
