package line

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"
)

// editingColumns are what liner wants of a terminal behind the prompt.
const editingColumns = 10

// columns is the width of the terminal on standard output. It is 0 for one without a known size: a
// serial line, a container, a pty of a script.
func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// tooNarrow reports whether a terminal with that number of columns has no place for editing behind
// the prompt. No character takes more than two columns.
func tooNarrow(prompt string, columns int) bool {
	need := editingColumns
	for _, r := range prompt {
		need++
		if r > '~' {
			need++
		}
	}
	return columns < need
}

// readUnedited reads a line in the terminal's own modes: the kernel's editing, with its
// Ctrl-D, Ctrl-C and Ctrl-Z. A Tab is a character there.
func (t *terminal) readUnedited(prompt string) (line string, err error) {
	if err := errors.Join(t.cooked.ApplyMode(), t.tty.SetReadDeadline(time.Time{})); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	defer func() {
		if modeErr := t.between.ApplyMode(); err == nil && modeErr != nil {
			err = fmt.Errorf("terminal: %w", modeErr)
		}
	}()
	t.open.text.Store(&prompt) // before it can be answered with Ctrl-C
	defer t.open.text.Store(nil)
	if _, err := io.WriteString(os.Stdout, prompt); err != nil {
		return "", err
	}
	line, err = readLine(t.lines)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EIO) { // Close, or hung up
		return "", io.EOF
	}
	return line, err
}

// Clear takes an open prompt off its line.
func (t *terminal) Clear() { _, _ = io.WriteString(os.Stdout, "\r\x1b[K") } // the next prompt describes an error

// Redraw shows it anew: to go to the end of the line is the key for which the editor does.
func (t *terminal) Redraw() {
	if t.open.text.Load() != nil {
		t.open.show(os.Stdout)
		return
	}
	_, _ = t.keys.Load().Write([]byte{ctrlE}) // an error is that the terminal is closed
}

// Interrupted makes the terminal an Interruptible.
func (t *terminal) Interrupted() { t.open.again(os.Stdout) }

// renew makes liner's state anew, because liner took the terminal for a narrow one. liner
// asks for the size only once it edits a line, so it would never again.
func (t *terminal) renew() error {
	if err := errors.Join(t.state.Close(), t.between.ApplyMode()); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	if err := t.newState(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}
