package golang

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"hdb/testprogs"
)

// A program runs until its standard input ends.
type program struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said output
}

// output is what a program has said so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// waits waits until the program says that it waits, and a little: all its threads shall sleep.
func (p *program) waits(t *testing.T) {
	t.Helper()
	end := testprogs.Deadline(t)
	for !strings.Contains(p.said.String(), "waits\n") {
		if time.Now().After(end) {
			t.Fatalf("the program says %q", &p.said)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
}

// start starts a program.
func start(t *testing.T, path string, env ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(path, "-")}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// end has the program end, which shall succeed.
func (p *program) end(t *testing.T) {
	t.Helper()
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v: %s", err, &p.said)
	}
}

// A console is hdb with a pipe for a terminal.
type console struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Reader
}

// open starts hdb.
func open(t *testing.T, args ...string) *console {
	t.Helper()
	c := &console{t: t, cmd: exec.Command(testprogs.HDB(t), append([]string{"-q"}, args...)...)}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = c.cmd.Stdout
	c.said = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

// ask types a line, and returns what is printed up to the next prompt.
func (c *console) ask(line string) string {
	c.t.Helper()
	const marker = "-- answered --"
	if _, err := io.WriteString(c.in, line+"\necho "+marker+"\\n\n"); err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	var b strings.Builder
	for {
		text, err := c.said.ReadString('\n')
		if strings.TrimSpace(text) == marker {
			return b.String()
		}
		b.WriteString(text)
		if err != nil {
			c.t.Fatalf("%s: %v\n%s", line, err, &b)
		}
	}
}

// want is ask, of which the answer shall have all the words.
func (c *console) want(line string, words ...string) string {
	c.t.Helper()
	text := c.ask(line)
	for _, w := range words {
		if !strings.Contains(text, w) {
			c.t.Errorf("%s: no %q in\n%s", line, w, text)
		}
	}
	return text
}

// quit ends hdb.
func (c *console) quit() {
	c.t.Helper()
	io.WriteString(c.in, "quit\n")
	io.Copy(io.Discard, c.said)
	c.cmd.Wait()
}
