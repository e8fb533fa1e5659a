package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/session"
)

// consoleLines takes what is printed apart into the lines of the console log.
type consoleLines struct {
	to   func(line string) // nil: no log is kept
	off  bool              // what is printed now does not belong there
	part string            // of a line that is not whole yet
}

// add takes text of the terminal: clean, but for hdb's own colours.
func (l *consoleLines) add(text string) {
	if l.to == nil || l.off {
		return
	}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if len(l.part) < maxLogged {
			l.part += line
		}
		if whole {
			l.to(uncoloured(l.part))
			l.part = ""
		}
	}
}

// maxLogged is how many bytes of a line are put together from parts: the log keeps less.
const maxLogged = 64 << 10

// uncoloured is text without hdb's colours: the sequences ESC [ ... m, which paint
// writes, and which no text that comes from elsewhere holds.
func uncoloured(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(after, "m")
	}
}

// unlogged keeps what f prints out of the log.
func (c *Console) unlogged(f func()) {
	set := func(off bool) {
		c.notices.mu.Lock()
		defer c.notices.mu.Unlock()
		c.notices.log.off = off
	}
	set(true)
	defer set(false)
	f()
}

// logTyped puts a line of the user's in the log, unless it begins with a blank: then
// the history does not have it, either.
func (c *Console) logTyped(line string) {
	c.s.LogMoment()
	secret := strings.HasPrefix(line, " ")
	if line = strings.TrimSpace(line); line != "" && !secret && len(c.sources) > 0 { // none: a file of configuration
		c.s.LogConsole(clean(line), true)
	}
}

func infoLog(_ context.Context, c *Console, in Input) error {
	lines := c.s.ConsoleLog()
	if len(in.Args) > 0 {
		n, err := strconv.Atoi(in.Args[0])
		if err != nil || n < 1 || len(in.Args) > 1 {
			return fmt.Errorf("info log: %q: a number of lines expected", in.Raw)
		}
		lines = lines[max(0, len(lines)-n):]
	}
	type view struct {
		Seq   uint64 `json:"seq"` // the last event before
		Time  int64  `json:"time_ns"`
		Typed bool   `json:"typed"`
		Text  string `json:"text"`
	}
	views := []view{}
	for _, l := range lines {
		views = append(views, view{l.Seq, l.Time.Nanoseconds(), l.Typed, l.Text})
	}
	c.unlogged(func() { // or it would hold all of it once more
		c.show(in, struct {
			Log []view `json:"log"`
		}{views}, func(o *output) { c.printLog(o, lines) })
	})
	return nil
}

// timeWidth is that of most times: so the lines of a log begin in one column, however
// long it took.
const timeWidth = len("123.456 ms")

// printLog prints lines of the console log, each moment once.
func (c *Console) printLog(o *output, lines []capture.ConsoleLine) {
	if len(lines) == 0 {
		why := "nothing was typed or printed yet"
		switch {
		case c.s.Mode() == session.Saved:
			why = "the capture has no console log"
		case !c.s.KeepsConsole():
			why = "no log is kept: set log on"
		}
		o.printf("%s\n", why)
		return
	}
	var rows [][]span
	for i, l := range lines {
		row := []span{{}, {}, {plain, l.Text}}
		if l.Typed {
			row[2] = span{styleHead, "(hdb) " + l.Text}
		}
		if i == 0 || l.Seq != lines[i-1].Seq || l.Time != lines[i-1].Time {
			row[0], row[1] = span{plain, "#" + strconv.FormatUint(l.Seq, 10)}, span{plain, fmt.Sprintf("%*s", timeWidth, shortTime(l.Time))}
		}
		rows = append(rows, row)
	}
	o.table([]column{{head: "after", right: true}, {head: "time", right: true}, {}}, rows)
}
