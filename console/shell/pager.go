package shell

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// paged sends what a command prints to the terminal through the user's $PAGER, once it is more
// than a screenful. Commands that may run the program print at once. done ends it.
func paged(c *Shell, cmd *Command) (done func()) {
	command := strings.TrimSpace(c.Opt.Getenv("PAGER"))
	tty, ok := c.Out.W.(*os.File)
	switch {
	case command == "", !ok, c.Bg != nil, !c.Interactive(), c.interp.depth > 0, c.interp.hooking, !term.IsTerminal(int(tty.Fd())),
		!c.Set.Flag("pagination"), c.Out.Height < 3, c.Split.On(), cmd.Direct:
		return func() {}
	}
	p := &pager{c: c, command: command, tty: tty, room: c.Out.Height - 1}
	more := c.Out.More
	c.Out.W, c.Out.More = p, nil
	c.Notices.Hold() // which would be in the middle of the pager's screen
	restore := c.Out.Until(func() bool { return p.left })
	return func() {
		restore()
		c.Out.W, c.Out.More = tty, more
		p.end()
		c.Notices.Release()
		if p.failed != nil {
			c.Warn(p.failed)
		}
	}
}

// A pager keeps what is printed until there is more than a screenful, and starts $PAGER then.
type pager struct {
	c       *Shell
	command string
	tty     *os.File
	room    int          // lines of the terminal
	kept    bytes.Buffer // before it was started
	cmd     *exec.Cmd    // nil: not started
	stdin   io.WriteCloser
	left    bool  // it has ended, it is no longer read
	failed  error // why it was not started
}

func (p *pager) Write(b []byte) (int, error) {
	if p.left {
		return len(b), nil
	}
	if p.cmd == nil {
		p.kept.Write(b)
		if bytes.Count(p.kept.Bytes(), []byte("\n")) <= p.room {
			return len(b), nil
		}
		if !p.start() {
			_, err := p.tty.Write(p.kept.Bytes())
			p.kept.Reset()
			p.room = math.MaxInt
			return len(b), err
		}
		_, err := p.stdin.Write(p.kept.Bytes())
		p.kept.Reset()
		p.left = err != nil
		return len(b), nil
	}
	_, err := p.stdin.Write(b)
	p.left = err != nil // it was ended with q
	return len(b), nil
}

// start starts the pager, false if it cannot be.
func (p *pager) start() bool {
	cmd := p.c.userShell(context.Background(), p.command) // Ctrl-C is its own to obey
	cmd.Stdout, cmd.Stderr = p.tty, p.tty
	cmd.Env = os.Environ()
	if p.c.Opt.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // colours, and what fits stays on the screen
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = Aside(cmd.Start)
	}
	if err != nil {
		p.failed = err // told when nothing is being printed
		return false
	}
	p.cmd, p.stdin = cmd, stdin
	return true
}

// end waits until the user has left the pager. What fitted is printed.
func (p *pager) end() {
	if p.cmd == nil {
		if p.kept.Len() > 0 {
			_, _ = p.tty.Write(p.kept.Bytes()) // the next line tells an error
		}
		return
	}
	_ = p.stdin.Close()   // it may have ended
	_ = Aside(p.cmd.Wait) // its exit code is its own
}

// userShell prepares a command of the user's shell.
func (c *Shell) userShell(ctx context.Context, line string) *exec.Cmd {
	sh := c.Opt.Getenv("SHELL")
	if sh == "" {
		sh = "/bin/sh"
	}
	args := []string{"-c", line}
	if line == "" {
		args = nil
	}
	cmd := exec.CommandContext(ctx, sh, args...)
	cmd.Stdout, cmd.Stderr = c.Out.W, c.Err.W
	return cmd
}

// Aside runs f on another goroutine. A tracer's wait(2) also reaps the
// children that its own thread started, so no command may be started on the
// goroutine that owns the inferior.
func Aside(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}
