// Package line reads the lines that a person types, or that a pipe or file holds. It has
// the line editor, the history, the keys of full-screen views, and what completion needs.
// What completes a line is the business of its user, who gives it a Completer.
package line

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/term"
)

// ErrCancelled is what ReadLine returns when the user gave up the line with Ctrl-C.
var ErrCancelled = errors.New("line cancelled")

// A Reader is where lines come from: a terminal with editing, a pipe, or a test.
type Reader interface {
	// ReadLine prints the prompt where that makes sense and returns the next
	// line without its end. The error is io.EOF at the end and ErrCancelled for Ctrl-C.
	ReadLine(prompt string) (string, error)
	// Interactive says that a person is at the other end: questions may be asked.
	Interactive() bool
	// SetHistory replaces the lines that the up key and Ctrl-R offer, oldest first.
	SetHistory(lines []string)
	// SetCompleter names the function behind the Tab key.
	SetCompleter(Completer)
	// Close gives the terminal back in the mode it was found in.
	Close() error
}

// A KeyReader is a Reader that can also read a single key.
type KeyReader interface {
	// ReadKey shows the prompt until a key is pressed, and returns the key. The
	// error is ErrCancelled for Ctrl-C and io.EOF at the end.
	ReadKey(prompt string) (string, error)
}

// An Interruptible is a Reader of a terminal that turns Ctrl-C into a signal.
type Interruptible interface {
	// Interrupted shows an open prompt anew after that signal: the terminal has dropped
	// what was typed. Any goroutine may call it.
	Interrupted()
}

// NewReader reads from standard input: with line editing when a person sits at
// a terminal that can move its cursor, with a plain prompt at one that cannot,
// and without any prompt from a file or pipe.
func NewReader(in, out *os.File) Reader {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return NewPlain(in)
	}
	if r, err := NewTerminal(); err == nil {
		return r
	}
	return NewDumb(in, out)
}

// MaxLine is the most bytes in a line of a pipe or script. So a binary file that is
// given by mistake is refused and not collected in memory.
const MaxLine = 1 << 20

// plainReader is the Reader of anything that is not a terminal: it prints
// no prompt and edits nothing.
type plainReader struct{ lines *bufio.Reader }

// NewPlain returns the Reader for input that is no terminal (a pipe, a
// file) or a terminal too simple for editing.
func NewPlain(r io.Reader) Reader {
	return &plainReader{bufio.NewReaderSize(r, 4096)}
}

func (p *plainReader) ReadLine(string) (string, error) {
	return readLine(p.lines)
}

func (*plainReader) Interactive() bool      { return false }
func (*plainReader) SetHistory([]string)    {}
func (*plainReader) Close() error           { return nil }
func (*plainReader) SetCompleter(Completer) {}

// dumbReader is the reader of a terminal that cannot move its cursor
// (TERM=dumb, an editor's shell window): a prompt, no editing.
type dumbReader struct {
	plainReader
	out  io.Writer
	open openPrompt
}

// openPrompt is the prompt of a line that the terminal edits, while it is read; nil: none is.
type openPrompt struct{ text atomic.Pointer[string] }

// again writes the prompt anew.
func (p *openPrompt) again(out io.Writer) {
	if text := p.text.Load(); text != nil {
		_, _ = io.WriteString(out, "\n"+*text) // the next prompt describes an error
	}
}

// show writes the prompt where the cursor is.
func (p *openPrompt) show(out io.Writer) {
	if text := p.text.Load(); text != nil {
		_, _ = io.WriteString(out, *text) // the next prompt describes an error
	}
}

// NewDumb returns the Reader for a person at a terminal without cursor
// movement: it prints prompts to out and leaves the editing to the terminal.
func NewDumb(r io.Reader, out io.Writer) Reader {
	return &dumbReader{plainReader: plainReader{bufio.NewReaderSize(r, 4096)}, out: out}
}

func (d *dumbReader) ReadLine(prompt string) (string, error) {
	d.open.text.Store(&prompt) // before it can be answered with Ctrl-C
	defer d.open.text.Store(nil)
	if _, err := io.WriteString(d.out, prompt); err != nil {
		return "", err
	}
	return readLine(d.lines)
}

func (d *dumbReader) Clear() { _, _ = io.WriteString(d.out, "\n") } // the next prompt describes an error

func (d *dumbReader) Redraw() { d.open.show(d.out) }

func (d *dumbReader) Interrupted() { d.open.again(d.out) }

func (*dumbReader) Interactive() bool { return true }

// readLine reads up to a newline; a last line without one counts too.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return "", fmt.Errorf("line longer than %d bytes: is this a script?", MaxLine)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return strings.TrimRight(string(line), "\r\n"), nil
		default:
			return "", err
		}
	}
}
