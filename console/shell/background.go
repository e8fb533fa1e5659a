package shell

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"hdb/console/line"
	"hdb/console/screen"
)

// A Background is a command that lets the program run while lines continue to be read, as `continue
// &` asks for. The command has the console's goroutine, which the process needs. A goroutine of the
// background reads lines and runs each on the console's, within Session.Alongside: between what the
// process needs of hdb, and without a stop.
type Background struct {
	c *Shell

	calls   Queue
	over    chan struct{} // closed when the command has ended
	fed     chan struct{} // closed when no line is read any more
	running bool          // a line is run while the process runs; the console's goroutine's
	waits   bool          // no line is read before the command has ended; the same
	after   []string      // lines for then
	work    func() error  // of the line that is run, see apart; nil: nothing
	refuse  block         // whose lines are no commands, because what begins it was refused
}

// begun reports whether a line asks for a command in the background, and which.
func (r *interpreter) begun(text string) (command string, ok bool) {
	command, ok = strings.CutSuffix(strings.TrimSpace(text), "&")
	if !ok {
		return "", false
	}
	full, err := r.expandAlias(strings.TrimSpace(command))
	if err != nil || full == "" {
		return "", false
	}
	cmd, _, _, err := r.c.Table.Resolve(full)
	return full, err == nil && cmd.Resumes
}

// obey runs a line of the outermost level.
func (c *Shell) obey(text string) {
	if command, ok := c.interp.begun(text); ok && c.Bg == nil {
		b := &Background{c: c, over: make(chan struct{}), fed: make(chan struct{})}
		b.run(text, command)
		return
	}
	c.interp.top(text)
}

// run runs the command, and behind it what was to wait for its end.
func (b *Background) run(text, command string) {
	c := b.c
	c.Bg = b
	c.sig.beneath.Store(true)
	c.host.KeepTerminal(true)
	go b.feed()
	c.interp.perform(text, func(ctx context.Context) error { return c.interp.execute(ctx, command) })
	close(b.over)
	<-b.fed
	c.host.KeepTerminal(false)
	c.sig.beneath.Store(false)
	c.Bg = nil
	if p, ok := c.In.(screen.Prompt); ok && c.sig.pending != nil {
		p.Redraw()
	}
	b.calls.Drain()
	for _, text := range b.after {
		c.obey(text)
	}
}

// feed reads lines and runs them until the command has ended, or the input.
func (b *Background) feed() {
	defer close(b.fed)
	for more := true; more; {
		var prompt string
		if !b.do(func() { prompt = b.c.Set.Value("prompt"); b.c.Split.BeforePrompt() }) { // once the process runs
			return
		}
		text, typed, err := b.read(screen.Clean(prompt))
		if errors.Is(err, errProgramStopped) {
			return
		}
		var work func() error
		if !b.do(func() { more, work = b.line(text, typed, err) }) || work == nil {
			continue
		}
		if err := work(); err != nil {
			b.do(func() { b.c.Fail(err) })
		}
	}
}

// apart has f run where the process does not wait for it, before the next line. Ctrl-C cancels its
// context. It is false if no program runs in the background.
func (b *Background) apart(f func(context.Context) error) bool {
	if !b.Running() {
		return false
	}
	b.work = func() error {
		ctx, cancel := context.WithCancel(context.Background())
		b.c.sig.apart.Store(&cancel)
		defer func() {
			b.c.sig.apart.Store(nil)
			cancel()
		}()
		b.c.Notices.Hold() // which would be in the middle of its screen
		defer b.c.Notices.Release()
		return f(ctx)
	}
	return true
}

// Running reports whether a line is run while the program runs, which waits for it.
func (b *Background) Running() bool { return b != nil && b.running }

// errProgramStopped is of a line that is read on in the foreground.
var errProgramStopped = errors.New("the program stopped")

// read reads the next line; typed tells that it is none of the command line's.
func (b *Background) read(prompt string) (text string, typed bool, err error) {
	c := b.c
	if !c.startup.done() {
		text, err = c.startup.next("")
		return text, false, err
	}
	if c.In == nil || c.Opt.Batch {
		return "", false, io.EOF
	}
	interactive := c.In.Interactive()
	if !interactive {
		prompt = ""
	} else {
		c.Notices.Hold()
		defer c.Notices.Release()
		if p, ok := c.In.(screen.Prompt); ok {
			c.Notices.Open(p)
			defer c.Notices.Open(nil)
		}
	}
	rd := c.sig.begin(c.In, func() (string, error) { return c.In.ReadLine(prompt) })
	for {
		select {
		case r := <-rd.ch:
			c.sig.finish(rd)
			if errors.Is(r.err, line.ErrCancelled) {
				c.sig.cancelHooks()
			}
			if r.err == nil {
				c.Notices.Keep(prompt + screen.Clean(r.line) + "\n")
			}
			return r.line, true, r.err
		case f := <-c.sig.calls:
			b.do(f)
		case <-c.sig.wake:
			if c.sig.terminated() || !interactive {
				_ = c.host.Interrupt() // an error would mean that nothing runs
				c.sig.finish(rd)
				return "", true, io.EOF
			}
			c.sig.cancelHooks()
			if r, ok := c.In.(line.Interruptible); ok {
				r.Interrupted()
			}
		case <-b.over:
			c.sig.pending = rd
			return "", true, errProgramStopped
		}
	}
}

// line runs a line, and reports whether more are to be read, behind the work that it has
// to do apart.
func (b *Background) line(text string, typed bool, err error) (more bool, work func() error) {
	c := b.c
	b.work = nil
	b.running = c.Bg != nil
	defer func() { b.running = false }()
	switch {
	case errors.Is(err, line.ErrCancelled):
		return true, nil
	case errors.Is(err, io.EOF) && c.In != nil && c.In.Interactive() && !c.sig.terminated():
		c.Out.Raw("quit\n")
		text = "quit"
	case errors.Is(err, io.EOF):
		c.sig.beneath.Store(false) // Ctrl-C stops the program, as in the foreground
		return false, nil
	case err != nil:
		c.Fail(err)
		return false, nil
	case typed && !c.In.Interactive() && c.Opt.Echo:
		c.Notices.Unlogged(func() { c.Out.Text(strings.TrimRight(c.Set.Value("prompt")+text, " ") + "\n") })
	}
	if b.refuse.open > 0 {
		b.refuse.step(strings.TrimSpace(text))
		return true, nil
	}
	c.typed(text, typed)
	return !b.waits, b.work
}

// do has f run on the console's goroutine and waits for that. It is false if the command
// has ended before: f is run then behind it.
func (b *Background) do(f func()) bool {
	done := make(chan struct{})
	b.calls.Add(func() { defer close(done); f() })
	// A process that is launched only now knows no earlier call.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		b.c.host.Alongside(b.calls.Drain)
		select {
		case <-done:
			return true
		case <-b.over:
			select {
			case <-done:
				return true
			default:
				return false
			}
		case <-again.C:
		}
	}
}

// refused is why a command cannot run while the program runs, nil if it can. One that ends the
// console's work with the process stops the program and runs then.
func (b *Background) refused(cmd *Command, in Input) error {
	switch {
	case !b.Running() || cmd.While == RunsAlongside:
		return nil
	case cmd.While == StopsFirst:
		b.Wait()
		b.after = append(b.after, in.Name+" "+in.Raw)
		_ = b.c.host.Interrupt() // an error would mean that it has stopped by itself
		return errDeferred
	case b.c.interp.depth == 0:
		b.refuse = beginsBlock(in.Name)
	}
	if cmd.Resumes {
		return errors.New("the program runs already: interrupt stops it")
	}
	return ErrRuns
}

// ErrRuns is the error of a line that needs a stopped program.
var ErrRuns = errors.New("the program runs: interrupt stops it")

// errDeferred is of a command that runs later.
var errDeferred = errors.New("deferred")

// Wait has no line read before the program has stopped.
func (b *Background) Wait() {
	if b.Running() {
		b.waits = true
		b.c.sig.beneath.Store(false) // Ctrl-C stops the program, as in the foreground
	}
}

// Interrupt stops the program that runs in the background.
func (b *Background) Interrupt() error {
	if !b.Running() {
		return errors.New("interrupt: no program runs in the background: COMMAND & runs it there")
	}
	b.Wait()
	return b.c.host.Interrupt()
}
