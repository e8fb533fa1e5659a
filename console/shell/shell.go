// Package shell reads command lines, finds them in a table and runs what the table has for
// them: aliases, scripts, settings, help, completion, paging, signals and the log of what was
// typed. It knows no command but its own, `commands` and `quit`, and no program: these come with the Table and the Host.
//
// Everything stays on the goroutine of the Host but for two helpers: one blocks in
// line.Reader.ReadLine and has the Tab key answered by that goroutine, one waits for signals,
// cancels the running command and interrupts the program. Neither touches output or any other
// state. While the program runs in the background that goroutine is inside of the command that
// runs it; a third helper then reads the lines, runs commands of the user's shell between them, and
// has all else run there by Host.Alongside; it hands the line that is open over when it ends, for
// which the command waits.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"hdb/capture"
	"hdb/console/line"
	"hdb/console/screen"
)

// Options are how a shell reads and prints.
type Options struct {
	In       line.Reader         // nil: only Startup is run
	Out, Err io.Writer           // data and messages
	Startup  []Startup           // run in order before the first prompt
	Getenv   func(string) string // nil: os.Getenv
	Version  string

	Echo  bool // print prompt and line before each command that is not typed at a terminal, as in a transcript
	Batch bool // no prompts, paging, colour or questions; quit after Startup
	JSON  bool // one object per line for each command that prints data
	Quiet bool // no greeting
}

// Startup is one -ex command or one -x file of the command line.
type Startup struct {
	Text string // the command, or the file's name
	File bool
}

// A Host is the program that a shell controls.
type Host interface {
	Check(Need) error   // why a command with this need cannot run, nil: it can
	Advise(error) error // a command's error, with the next step if the host knows one
	Failed(error)       // a command has failed
	Lost() error        // what the host cannot write any more, told once
	BeforePrompt()      // a prompt comes next

	Interrupt() error                         // stops the program; any goroutine may call it
	Pass(syscall.Signal) bool                 // gives the program a signal that hdb got, false: it is hdb's own; any goroutine may call it
	Going() bool                              // the program runs; any goroutine may call it
	Alongside(func())                         // has the host's goroutine call the function while the program runs
	KeepTerminal(bool)                        // the terminal stays hdb's while the program runs
	StepsTaken() func() uint64                // counts the program's single steps, nil: they are not counted
	Within(*capture.Reading) (restore func()) // bounds what is read until restore is called

	Moment()                        // what is logged next belongs to the program's state of now
	Logged(line string, typed bool) // a line was typed or printed; any goroutine may call it

	Holds(expr string) (bool, error)             // an expression is true
	Assign(text string) (done bool, err error)   // set var and set $NAME; not done: the line asks for neither
	ShowVariables(Input) error                   // the debugger's own, as show convenience does
	History(ctx context.Context, in Input) error // the events about an address

	Words(kind ArgKind, word string) []string                               // completions of a word of the program's
	Expression(kind ArgKind, left, expr string) (start int, words []string) // and of an expression's last word
}

// A Shell is one interactive or scripted conversation.
type Shell struct {
	*Printer
	host   Host
	Table  *Table
	In     line.Reader
	Set    *Settings
	interp *interpreter
	Bg     *Background // the command that runs in the background, nil: none
	Hist   line.History
	Split  *screen.Split

	startup *scriptSource // the -ex commands and -x files
	unread  string        // a line typed for the prompt, at a question that it does not answer

	logging loggingFile
	sig     signals
}

// New prepares a shell without commands; nothing is read or printed yet. Without a host it only prints.
func New(opt Options, host Host) *Shell {
	c := &Shell{Printer: NewPrinter(opt), host: host, In: opt.In}
	c.Set = &Settings{c: c, values: map[string]string{}}
	c.interp = &interpreter{c: c, aliases: map[string]string{}, defined: map[string]*definition{}}
	c.startup = &scriptSource{} // whose errors tell no place
	c.Hist = line.History{Path: historyPath(c.Opt.Getenv), Limit: 1000}
	c.sig.calls = make(chan func(), 64)
	if host != nil {
		c.Notices.LogTo(func(line string) {
			c.host.Logged(line, false)
			c.logging.add(line)
		})
	}
	return c
}

// Use gives the shell its commands and settings.
func (c *Shell) Use(table *Table, settings []*Setting) { c.Table, c.Set.Table = table, settings }

// Start handles signals from now on, until stop is called.
func (c *Shell) Start() (stop func()) {
	c.sig.going, c.sig.pass = c.host.Going, c.host.Pass
	c.sig.start(c.host.Interrupt)
	return func() {
		c.Split.Disable() // also when hdb panics
		c.sig.stop()
	}
}

// PrepareInput connects the reader with history and completion.
func (c *Shell) PrepareInput() {
	if c.In == nil || !c.In.Interactive() {
		return
	}
	if err := c.Hist.Load(); err != nil {
		c.Warn(err)
	}
	c.In.SetHistory(c.Hist.Lines)
	c.In.SetCompleter(completer{c}.complete)
	c.Out.More = c.askMore
}

// RunStartup runs commands of the command line and files of them in the order given. The
// commands are lines of one source, so that `-ex commands -ex bt -ex end` works.
func (c *Shell) RunStartup(all []Startup) {
	for _, st := range all {
		if st.File {
			st.Text = "source " + QuoteArg(st.Text)
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

// Loop reads commands until quit or the end of input.
func (c *Shell) Loop() {
	src := &readerSource{c}
	c.interp.push(src)
	defer c.interp.pop()
	for !c.interp.quit {
		c.host.BeforePrompt()
		typed, err := src.next(c.Set.Value("prompt"))
		switch {
		case errors.Is(err, line.ErrCancelled):
			continue
		case errors.Is(err, io.EOF):
			if c.In.Interactive() {
				c.Out.Raw("quit\n")
				c.interp.top("quit")
				if !c.interp.quit {
					continue // the question was answered with no
				}
			}
			return
		case err != nil:
			c.Fail(err)
			return
		}
		c.typed(typed, true)
	}
}

// typed runs a line of the user's, or one of the command line's.
func (c *Shell) typed(text string, typed bool) {
	if typed && c.In.Interactive() {
		if c.Hist.Add(text) {
			c.In.SetHistory(c.Hist.Lines)
		}
		text = c.interp.repeated(text)
	}
	c.obey(text)
}

// Greet tells a person what can be typed where nothing was named on the command line.
func (c *Shell) Greet() {
	if c.In != nil && c.In.Interactive() && !c.Opt.Quiet {
		c.Out.Printf("hdb %s: `file PROGRAM`, `attach PID` or `open CAPTURE` to begin, `help` for more\n", c.Opt.Version)
	}
}

// ending reports whether no more commands may run: what they print is not read, or a signal asked
// hdb to end.
func (c *Shell) ending() bool { return c.Out.Err() != nil || c.sig.terminated() }

// noteUnwritten makes what cannot be written any more count as a failure, once.
func (c *Shell) noteUnwritten() {
	if err := c.logging.failed(); err != nil {
		c.Fail(fmt.Errorf("logging has ended: %w", err))
	}
	if err := c.host.Lost(); err != nil {
		c.Fail(err)
	}
}

// Close writes the history, gives the terminal back and ends the copy of the output.
func (c *Shell) Close() {
	if c.In != nil {
		if c.In.Interactive() && c.Set.Flag("history save") {
			if err := c.Hist.Save(); err != nil {
				c.Warn(err)
			}
		}
		if err := c.In.Close(); err != nil {
			c.Warn(err)
		}
	}
	if err := c.logging.stop(); err != nil {
		c.Warn(err)
	}
}

// Execute runs a line as a part of the command that runs.
func (c *Shell) Execute(ctx context.Context, line string) error { return c.interp.execute(ctx, line) }

// Top runs a line as the user's own: its error is printed, and the commands of the stop that it led to
// run after it.
func (c *Shell) Top(line string) { c.interp.top(line) }

// Quit has no more lines read.
func (c *Shell) Quit() { c.interp.quit = true }

// Scripted reports whether the line that runs was not typed: a script's, a definition's or one of a stop's.
func (c *Shell) Scripted() bool { return c.interp.depth > 0 || c.interp.hooking }

// Block reads the lines up to the matching `end` from wherever the command itself came from.
func (c *Shell) Block() ([]string, error) { return c.interp.readBlock() }

// Follow has lines run after the command that runs, in place of all that were to. A list is a script of its
// own, whose errors name it.
func (c *Shell) Follow(lists ...Following) {
	c.interp.hooks = nil
	for _, l := range lists {
		c.interp.hooks = append(c.interp.hooks, &scriptSource{name: l.Name, lines: l.Lines})
	}
}

// Following is a list of lines for Follow.
type Following struct {
	Name  string
	Lines []string
}

// Unread gives a line back that was typed for the prompt at a question that it does not answer.
func (c *Shell) Unread(line string) { c.unread = line }

// Post has the goroutine that awaits a line call f. It is left out if too many wait.
func (c *Shell) Post(f func()) {
	select {
	case c.sig.calls <- f:
	default:
	}
}

// Cancelled is a context that Ctrl-C cancels, until done is called.
func (c *Shell) Cancellable() (ctx context.Context, done func()) { return c.sig.command() }

// Fail prints an error and remembers that there was one.
func (c *Shell) Fail(err error) {
	c.host.Failed(err)
	if c.Opt.JSON {
		c.Out.Raw(JSONLine(c.interp.running, failure{err.Error()}))
	}
	if screen.Unread(err) {
		return
	}
	// Joined errors are one message: a newline of a foreign name is escaped.
	var joined interface{ Unwrap() []error }
	text := err.Error()
	if errors.As(err, &joined) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	c.Err.Line(screen.Warning("error: "), screen.Plain(text))
}
