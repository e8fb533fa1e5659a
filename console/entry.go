package console

import (
	"context"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Clean makes text that came from a program, a symbol or a file fit to print.
func Clean(s string) string { return clean(s) }

// Attach takes the process under the debugger, as `attach` does.
func (c *Console) Attach(pid int) error {
	arg := strconv.Itoa(pid)
	return runAttach(context.Background(), c, Input{Name: "attach", Raw: arg, Args: []string{arg}})
}

// NewReader reads from standard input: with line editing when a person sits at
// a terminal that can move its cursor, with a plain prompt at one that cannot,
// and without any prompt from a file or pipe.
func NewReader(in, out *os.File) LineReader {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return NewPlain(in)
	}
	if r, err := NewTerminal(); err == nil {
		return r
	}
	return NewDumb(in, out)
}
