package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/console/screen"
	"hdb/internal/regular"
)

// A lineSource is where the lines of commands, and of blocks inside them, come from.
type lineSource interface {
	next(prompt string) (string, error) // io.EOF at the end
}

// readerSource is the console's Reader.
type readerSource struct{ c *Shell }

func (r *readerSource) next(prompt string) (string, error) {
	c := r.c
	if line := c.unread; line != "" {
		c.unread = ""
		return line, nil
	}
	if !c.In.Interactive() {
		line, err := c.ReadLine("")
		if err == nil && c.Opt.Echo {
			c.Notices.Unlogged(func() { c.Out.Text(strings.TrimRight(prompt+line, " ") + "\n") })
		}
		return line, err
	}
	return c.ReadLine(screen.Clean(prompt))
}

// scriptSource is lines that are all there: a file, a definition, -ex.
type scriptSource struct {
	name  string // "": errors tell no place
	lines []string
	first int  // lines of the same name that are before these
	at    int  // lines handed out
	block bool // of an if or while
}

// done tells that all were handed out.
func (s *scriptSource) done() bool { return s.at >= len(s.lines) }

func (s *scriptSource) next(string) (string, error) {
	if s.done() {
		return "", io.EOF
	}
	s.at++
	return s.lines[s.at-1], nil
}

func (r *interpreter) push(s lineSource) { r.sources = append(r.sources, s) }
func (r *interpreter) pop()              { r.sources = r.sources[:len(r.sources)-1] }

// maxDepth bounds definitions and scripts that call themselves.
const maxDepth = 100

// runLines runs the lines of a script or definition, ending at the first error.
func (r *interpreter) runLines(ctx context.Context, src *scriptSource) error {
	if r.depth >= maxDepth {
		return fmt.Errorf("%s: scripts nested more than %d deep: does it call itself?", src.name, maxDepth)
	}
	r.depth++
	defer func() { r.depth-- }()
	r.push(src)
	defer r.pop()
	for !r.quit && !r.c.ending() {
		line, err := src.next("")
		if err != nil {
			return nil
		}
		at := src.at
		err = r.execute(ctx, line)
		if err == nil {
			err = r.runHooks(ctx)
		}
		if err != nil {
			return src.located(at, err)
		}
	}
	return nil
}

// A lineError is an error of a line in a block: of the script that the block is a part of.
type lineError struct {
	name string
	line int
	err  error
}

func (e *lineError) Error() string {
	if e.name == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%s:%d: %v", e.name, e.line, e.err)
}

func (e *lineError) Unwrap() error { return e.err }

// located adds the place of an error, at a line by its number from 1. A block leaves that to the
// script around it, so that the place is there once.
func (s *scriptSource) located(at int, err error) error {
	of, inBlock := err.(*lineError)
	switch {
	case s.block && inBlock:
		return of
	case s.block:
		return &lineError{s.name, s.first + at, err}
	case !inBlock:
		of = &lineError{s.name, at, err}
	}
	if errors.Is(err, errLoopBreak) || errors.Is(err, errLoopContinue) {
		return errors.New(of.Error()) // which ends no loop around the script
	}
	return fmt.Errorf("%s:%d: %w", of.name, of.line, of.err)
}

func (r *interpreter) setHooking(on bool) {
	r.hooking = on
	r.c.sig.hooking.Store(on)
}

// runHooks runs the commands attached to the stop that was just reported, up to
// the first error. When one of them resumes the inferior, the rest is dropped and
// the commands of the next stop follow, in a loop so that a breakpoint that counts
// for hours needs no stack.
func (r *interpreter) runHooks(ctx context.Context) error {
	if r.hooking {
		return nil
	}
	r.setHooking(true)
	defer r.setHooking(false)
	for len(r.hooks) > 0 && !r.quit && !r.c.ending() {
		src := r.hooks[0]
		line, err := src.next("")
		if err != nil {
			r.hooks = r.hooks[1:]
			continue
		}
		at := src.at
		r.push(src)
		err = r.execute(ctx, line)
		r.pop()
		if err != nil {
			r.hooks = nil
			return src.located(at, err)
		}
	}
	return nil
}

// sourceFile runs a script.
func (r *interpreter) sourceFile(ctx context.Context, path string) error {
	lines, err := readScript(path)
	if err != nil {
		return err
	}
	return r.runLines(ctx, &scriptSource{name: path, lines: lines})
}

// isDescriptor tells names of what is open already, as a shell's <(COMMAND) is: it has
// a writer.
func isDescriptor(path string) bool {
	dir := filepath.Dir(path)
	return path == "/dev/stdin" || dir == "/dev/fd" || dir == "/proc/self/fd"
}

// readSome reads whatever has an end, as regular.Read does.
func readSome(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// readScript reads the lines of a command file.
func readScript(path string) ([]string, error) {
	read := regular.Read
	if isDescriptor(path) {
		read = readSome
	}
	b, err := read(path, line.MaxLine)
	if err != nil {
		return nil, err
	}
	return scriptLines(path, b)
}

// scriptLines are the lines of a command file of that name. A NUL means that it is none.
func scriptLines(path string, b []byte) ([]string, error) {
	switch {
	case len(b) > line.MaxLine:
		return nil, fmt.Errorf("%s: longer than %d bytes: is this a script?", path, line.MaxLine)
	case strings.IndexByte(string(b), 0) >= 0:
		return nil, fmt.Errorf("%s: not a script: it holds a NUL byte", path)
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	return strings.Split(text, "\n"), nil
}

// A definition is a user's own command.
type definition struct {
	name  string
	lines []string
	doc   []string
}

// runDefinition runs a user's command with $arg0, $arg1 ... and $argc replaced.
func (r *interpreter) runDefinition(ctx context.Context, def *definition, rest string) error {
	args, err := SplitArgs(rest)
	if err != nil {
		return err
	}
	lines := make([]string, len(def.lines))
	for i, l := range def.lines {
		lines[i] = expandArgs(l, args, rest)
	}
	return r.runLines(ctx, &scriptSource{name: def.name, lines: lines})
}

// expandArgs replaces $argc, $args and $argN. An argument that was not given is empty.
func expandArgs(line string, args []string, rest string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(line, "$arg")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		switch {
		case strings.HasPrefix(after, "c"):
			b.WriteString(strconv.Itoa(len(args)))
			line = after[1:]
		case strings.HasPrefix(after, "s"):
			b.WriteString(strings.TrimSpace(rest))
			line = after[1:]
		case err != nil:
			b.WriteString("$arg")
			line = after
		default:
			if n < len(args) {
				b.WriteString(args[n])
			}
			line = after[digits:]
		}
	}
}

// expandAlias replaces the first word of a line while it is a user's alias.
func (r *interpreter) expandAlias(line string) (string, error) {
	for range len(r.aliases) + 1 {
		word, rest := commandWord(line)
		full, ok := r.aliases[word]
		if !ok {
			return line, nil
		}
		line = strings.TrimSpace(full + " " + rest)
	}
	return "", fmt.Errorf("alias %q expands to itself", line)
}

// QuoteArg quotes a word so that splitArgs gives it back.
func QuoteArg(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// runFile runs the text of a file of commands, as source does.
func (r *interpreter) runFile(path string, text []byte) {
	r.perform("source "+QuoteArg(path), func(ctx context.Context) error {
		lines, err := scriptLines(path, text)
		if err != nil {
			return err
		}
		return r.runLines(ctx, &scriptSource{name: path, lines: lines})
	})
}
