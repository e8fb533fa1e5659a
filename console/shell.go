// Package shell reads command lines, finds them in a table and runs what the table has for
// them: aliases, scripts, settings, help, completion, paging, signals and the log of what was
// typed. It knows no command and no program; what they are comes with the Table and the Host.
//
// Everything stays on the goroutine of the Host but for two helpers: one blocks in
// line.Reader.ReadLine and has the Tab key answered by that goroutine, one waits for signals,
// cancels the running command and interrupts the program. Neither touches output or any other
// state. While the program runs in the background that goroutine is inside of the command that
// runs it; a third helper then reads the lines, runs commands of the user's shell between them, and
// has all else run there by Host.Beside; it hands the line that is open over when it ends, for
// which the command waits.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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

// A Host is what a shell is the shell of: a program under the debugger.
type Host interface {
	Check(Need) error   // why a command with this need cannot run, nil: it can
	Advise(error) error // a command's error, with the next step if the host knows one
	Failed(error)       // a command has failed
	Lost() error        // what the host cannot write any more, told once
	BeforePrompt()      // a prompt comes next

	Interrupt() error                         // stops the program; any goroutine may call it
	Going() bool                              // the program runs; any goroutine may call it
	Beside(func())                            // has the host's goroutine call the function while the program runs
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
	opt    Options
	host   Host
	table  *Table
	in     line.Reader
	out    *screen.Output // data
	err    *screen.Output // messages
	set    *settings
	interp *interpreter
	bg     *background // the command that runs in the background, nil: none
	hist   line.History
	tui    *screen.Split

	startup *scriptSource // the -ex commands and -x files
	unread  string        // a line typed for the prompt, at a question that it does not answer

	notices screen.Notices
	logging loggingFile
	sig     signals
}

// printing is a shell that reads no lines, for the answer to one question.
func printing(opt Options) *Shell {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	c := &Shell{opt: opt}
	c.set = &settings{c: c}
	c.out, c.err = &screen.Output{W: opt.Out, Notices: &c.notices}, &screen.Output{W: opt.Err, Notices: &c.notices}
	return c
}

// newShell prepares a shell without commands; nothing is read or printed yet.
func newShell(opt Options, host Host) *Shell {
	c := printing(opt)
	c.host, c.in = host, opt.In
	c.set.values = map[string]string{}
	c.interp = &interpreter{c: c, aliases: map[string]string{}, defined: map[string]*definition{}}
	c.startup = &scriptSource{} // whose errors tell no place
	c.hist = line.History{Path: historyPath(c.opt.Getenv), Limit: 1000}
	c.sig.beside = make(chan func(), 64)
	c.notices.LogTo(func(line string) {
		c.host.Logged(line, false)
		c.logging.add(line)
	})
	return c
}

// Use gives the shell its commands and settings.
func (c *Shell) Use(table *Table, settings []*setting) { c.table, c.set.table = table, settings }

// start handles signals from now on, until stop is called.
func (c *Shell) start() (stop func()) {
	c.sig.going = c.host.Going
	c.sig.start(c.host.Interrupt)
	return func() {
		c.tui.Disable() // also when hdb panics
		c.sig.stop()
	}
}

// prepareInput connects the reader with history and completion.
func (c *Shell) prepareInput() {
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
func (c *Shell) runStartup() {
	for _, st := range c.opt.Startup {
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

// loop reads commands until quit or the end of input.
func (c *Shell) loop() {
	src := &readerSource{c}
	c.interp.push(src)
	defer c.interp.pop()
	for !c.interp.quit {
		c.host.BeforePrompt()
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
func (c *Shell) typed(text string, typed bool) {
	if typed && c.in.Interactive() {
		if c.hist.Add(text) {
			c.in.SetHistory(c.hist.Lines)
		}
		text = c.interp.repeated(text)
	}
	c.obey(text)
}

// Greet tells a person what can be typed where nothing was named on the command line.
func (c *Shell) Greet() {
	if c.in != nil && c.in.Interactive() && !c.opt.Quiet {
		c.out.Printf("hdb %s: `file PROGRAM`, `attach PID` or `open CAPTURE` to begin, `help` for more\n", c.opt.Version)
	}
}

// ending tells whether no more commands may run: nobody reads what they print,
// or a signal asked hdb to end.
func (c *Shell) ending() bool { return c.out.Err() != nil || c.sig.terminated() }

// noteUnwritten makes what cannot be written any more count as a failure, once.
func (c *Shell) noteUnwritten() {
	if err := c.logging.failed(); err != nil {
		c.fail(fmt.Errorf("logging has ended: %w", err))
	}
	if err := c.host.Lost(); err != nil {
		c.fail(err)
	}
}

// close ends paging and the split screen, writes the history and gives the terminal back.
func (c *Shell) close() {
	if c.in != nil {
		if c.in.Interactive() && c.set.flag("history save") {
			if err := c.hist.Save(); err != nil {
				c.warn(err)
			}
		}
		if err := c.in.Close(); err != nil {
			c.warn(err)
		}
	}
	if err := c.logging.stop(); err != nil {
		c.warn(err)
	}
}

// Execute runs a line as a part of the command that runs.
func (c *Shell) Execute(ctx context.Context, line string) error { return c.interp.execute(ctx, line) }

// Top runs a line as the user's own: its error is printed, and the commands of the stop that it led to
// run after it.
func (c *Shell) Top(line string) { c.interp.top(line) }

// Quit has no more lines read.
func (c *Shell) Quit() { c.interp.quit = true }

// Scripted reports whether the line that runs was typed by nobody: a script's, a definition's or one of a stop's.
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
	case c.sig.beside <- f:
	default:
	}
}

// Cancelled is a context that Ctrl-C cancels, until done is called.
func (c *Shell) Cancelled() (ctx context.Context, done func()) { return c.sig.command() }

// Apart has f run where the process does not wait for it, before the next line. Ctrl-C cancels its
// context. It is false if no program runs in the background.
func (c *Shell) Apart(f func(context.Context) error) bool { return c.bg.apart(f) }

// RunsBeside reports whether the command runs while the program does.
func (c *Shell) RunsBeside() bool { return c.bg.running() }

// Owned has the host's goroutine call f, from what Apart runs, and waits for that. It is false if the command
// in the background has ended before: f is run then behind it.
func (c *Shell) Owned(f func()) bool { return c.bg.do(f) }

// AwaitStop has no line read before the program in the background has stopped.
func (c *Shell) AwaitStop() { c.bg.wait() }

// InterruptBackground stops the program that runs in the background.
func (c *Shell) InterruptBackground() error { return c.bg.interrupt() }
