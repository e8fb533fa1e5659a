package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/view"
)

// applyFlags explains what may be before the command of frame apply and thread apply.
func applyFlags(each string) string {
	return "-q leaves out the heading above each output. An error ends the command. -c continues with the next " + each + "; -s does too, and hides each " + each + " where the command fails or prints nothing. -- ends the flags."
}

// applying is how a command is run in several frames or threads.
type applying struct {
	quiet bool
	more  bool // after an error the next one follows
	still bool // errors are not told, and what prints nothing has no heading
	line  string
}

// parseApplying reads the flags and the command; verb is for errors.
func parseApplying(verb, rest string) (a applying, err error) {
	for {
		word, after := shell.SplitWord(rest)
		switch word {
		case "-q":
			a.quiet = true
		case "-c":
			a.more = true
		case "-s":
			a.still = true
		case "--":
			a.line = after
			word = ""
		default:
			a.line = rest
			word = ""
		}
		if word == "" {
			break
		}
		rest = after
	}
	switch {
	case a.line == "":
		return a, fmt.Errorf("%s: a command must follow", verb)
	case a.more && a.still:
		return a, fmt.Errorf("%s: -c and -s: one of them at most", verb)
	}
	return a, nil
}

// run runs the command where the selection is. head prints the heading.
func (a applying) run(ctx context.Context, c *desk.Desk, head func(o *screen.Output)) error {
	if a.quiet || c.Opt.JSON {
		head = func(*screen.Output) {}
	}
	if !a.still {
		head(c.Out)
		err := c.Execute(ctx, a.line)
		if err == nil || !a.more || ctx.Err() != nil || errors.Is(err, shell.ErrInterrupted) {
			return err
		}
		c.Err.Line(screen.Warning("error: "), screen.Plain(err.Error()))
		return nil
	}
	var text bytes.Buffer
	err := c.PrintingTo(c.Out.Aside(&text), func() error { return c.Execute(ctx, a.line) })
	switch {
	case ctx.Err() != nil || errors.Is(err, shell.ErrInterrupted):
		return shell.ErrInterrupted
	case err == nil && text.Len() > 0:
		head(c.Out)
		c.Out.Raw(text.String())
	}
	return nil
}

// short runs a longer line with the arguments.
func short(line string) func(context.Context, *desk.Desk, shell.Input) error {
	return func(ctx context.Context, c *desk.Desk, in shell.Input) error {
		if in.Raw == "" {
			return fmt.Errorf("%s: a command must follow", in.Name)
		}
		return c.Execute(ctx, line+in.Raw)
	}
}

// NumberRange reads N or N-M.
func NumberRange(word string, read func(string) (int, error)) (from, to int, err error) {
	lo, hi, isRange := strings.Cut(word, "-")
	if from, err = read(lo); err != nil || !isRange {
		return from, from, err
	}
	to, err = read(hi)
	return from, to, err
}

// keepingSelection selects the thread and the frame again that were selected before f, if
// there are still any.
func keepingSelection(c *desk.Desk, f func() error) error {
	thread, err := c.Session.Selection.Thread()
	live := err == nil
	routine, ofRoutine := c.Session.Selection.Chosen()
	frame, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	err = f()
	mode := c.Session.Mode()
	if !mode.Readable() && mode != target.Saved {
		return err
	}
	var back error
	if live && mode.Readable() && !c.Session.Recalled() {
		_, back = c.Session.Selection.SelectThread(thread.Num)
		if ofRoutine && back == nil {
			_, back = c.Session.Selection.SelectGoroutine(routine)
		}
	}
	if back == nil {
		_, back = c.Session.Selection.SelectFrame(frame.Num)
	}
	if err == nil {
		err = back
	}
	return err
}

// frameApply runs a command in several frames and restores the selection.
func frameApply(ctx context.Context, c *desk.Desk, rest string) error {
	st, err := c.Session.Selection.Stack(0)
	if err != nil {
		return err
	}
	wanted, rest, err := frameList(st.Frames, rest)
	if err != nil {
		return err
	}
	a, err := parseApplying("frame apply", rest)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	return keepingSelection(c, func() error {
		for _, f := range wanted {
			mode := c.Session.Mode()
			if c.Out.Stopped() || ctx.Err() != nil || !mode.Readable() && mode != target.Saved {
				return nil
			}
			if _, err := c.Session.Selection.SelectFrame(f.Num); err != nil {
				return err
			}
			err := a.run(ctx, c, func(o *screen.Output) {
				desk.PrintStack(o, []names.Frame{f}, desk.ArgumentsOf(c, []names.Frame{f}), -1)
			})
			if err != nil {
				return fmt.Errorf("frame %d: %w", f.Num, err)
			}
		}
		return nil
	})
}

// frameList reads `all`, N, -N or `level N...`, and returns what is left of the line.
func frameList(frames []names.Frame, text string) (wanted []names.Frame, rest string, err error) {
	word, rest := shell.SplitWord(text)
	n, numeric := strconv.Atoi(word)
	switch {
	case word == "":
		return nil, "", errors.New("frame apply: `all`, N, -N or `level N` must follow")
	case word == "all":
		return frames, rest, nil
	case strings.HasPrefix("level", word):
		for word, after := shell.SplitWord(rest); word != "" && word[0] >= '0' && word[0] <= '9'; word, after = shell.SplitWord(rest) {
			from, to, err := NumberRange(word, strconv.Atoi)
			if err != nil || from > to || to >= len(frames) {
				return nil, "", fmt.Errorf("frame apply: no frame %s: the stack has frames 0 to %d", word, len(frames)-1)
			}
			wanted, rest = append(wanted, frames[from:to+1]...), after
		}
		if len(wanted) == 0 {
			return nil, "", errors.New("frame apply level: the numbers of frames must follow")
		}
		return wanted, rest, nil
	case numeric != nil || n == 0:
		return nil, "", fmt.Errorf("frame apply: %q: `all`, N, -N or `level N` expected", word)
	case n > 0:
		return frames[:min(n, len(frames))], rest, nil
	}
	return frames[max(0, len(frames)+n):], rest, nil
}

// threadApply runs a command in several threads and restores the selection.
func threadApply(ctx context.Context, c *desk.Desk, rest string) error {
	threads, err := c.Session.Selection.Threads()
	if err != nil {
		return err
	}
	wanted, line, err := threadList(threads, rest)
	if err != nil {
		return fmt.Errorf("thread apply: %w", err)
	}
	a, err := parseApplying("thread apply", line)
	if err != nil {
		return err
	}
	return keepingSelection(c, func() error {
		for _, t := range wanted {
			if c.Out.Stopped() || ctx.Err() != nil || !c.Session.Mode().Readable() {
				return nil
			}
			if _, err := c.Session.Selection.SelectThread(t.Num); err != nil {
				return err
			}
			err := a.run(ctx, c, func(o *screen.Output) { o.Printf("\nthread %d (tid %d) %s\n", t.Num, t.TID, desk.Quoted(t.Name)) })
			if err != nil {
				return fmt.Errorf("thread %d: %w", t.Num, err)
			}
		}
		return nil
	})
}

// threadList reads `all COMMAND` or `1 3-5 COMMAND`. Threads come in gdb's
// order for all: the newest first, without -ascending.
func threadList(threads []view.ThreadInfo, rest string) (wanted []view.ThreadInfo, line string, err error) {
	word, after := shell.SplitWord(rest)
	if word == "all" || word == "a" {
		if next, behind := shell.SplitWord(after); next == "-ascending" {
			return threads, behind, nil
		}
		for i := len(threads) - 1; i >= 0; i-- {
			wanted = append(wanted, threads[i])
		}
		return wanted, after, nil
	}
	for ; word != "" && word[0] >= '0' && word[0] <= '9'; word, after = shell.SplitWord(rest) {
		from, to, err := NumberRange(word, strconv.Atoi)
		if err != nil {
			return nil, "", fmt.Errorf("%q: a thread's number expected", word)
		}
		found := false
		for _, t := range threads {
			if t.Num >= from && t.Num <= to {
				wanted, found = append(wanted, t), true
			}
		}
		if !found {
			return nil, "", fmt.Errorf("no thread %s", word)
		}
		rest = after
	}
	if len(wanted) == 0 {
		return nil, "", errors.New("`all` or the numbers of threads must follow")
	}
	return wanted, rest, nil
}
