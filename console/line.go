package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrCancelled is what ReadLine returns when the user gave up the line with
// Ctrl-C. The console drops the line (and an unfinished block) and prompts again.
var ErrCancelled = errors.New("line cancelled")

// LineReader is where the console's lines come from: a terminal with editing,
// a pipe, or a test.
type LineReader interface {
	// ReadLine prints the prompt where that makes sense and returns the next
	// line without its end. The error is io.EOF at the end and ErrCancelled for Ctrl-C.
	ReadLine(prompt string) (string, error)
	// Interactive says that a person is at the other end: questions may be asked.
	Interactive() bool
	// SetHistory replaces the lines that the up key and Ctrl-R offer, oldest first.
	SetHistory(lines []string)
	// SetCompleter names the function behind the Tab key. It returns the part
	// of line before the word at byte offset pos, the words that could stand
	// there, and the rest of the line; none when ctx ends, by Ctrl-C.
	SetCompleter(Completer)
	// Close gives the terminal back in the mode it was found in.
	Close() error
}

// A Completer is the function behind the Tab key.
type Completer func(ctx context.Context, line string, pos int) (head string, words []string, tail string)

// A keyReader is a LineReader that can also read a single key.
type keyReader interface {
	// ReadKey shows the prompt until a key is pressed, and returns the key. The
	// error is ErrCancelled for Ctrl-C and io.EOF at the end.
	ReadKey(prompt string) (string, error)
}

// maxLine bounds one line of a pipe or script, so that a binary file given by
// mistake is refused instead of being collected in memory.
const maxLine = 1 << 20

// plainReader is the LineReader of anything that is not a terminal: it prints
// no prompt and edits nothing.
type plainReader struct{ lines *bufio.Reader }

// NewPlain returns the LineReader for input that is no terminal (a pipe, a
// file) or a terminal too simple for editing.
func NewPlain(r io.Reader) LineReader {
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
	out io.Writer
}

// NewDumb returns the LineReader for a person at a terminal without cursor
// movement: it prints prompts to out and leaves the editing to the terminal.
func NewDumb(r io.Reader, out io.Writer) LineReader {
	return &dumbReader{plainReader{bufio.NewReaderSize(r, 4096)}, out}
}

func (d *dumbReader) ReadLine(prompt string) (string, error) {
	if _, err := io.WriteString(d.out, prompt); err != nil {
		return "", err
	}
	return readLine(d.lines)
}

func (*dumbReader) Interactive() bool { return true }

// readLine reads up to a newline; a last line without one counts too.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return "", fmt.Errorf("line longer than %d bytes: is this a script?", maxLine)
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
