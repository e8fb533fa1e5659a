package console

import (
	"context"
	"fmt"
	"strconv"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session"
	"hdb/session/target"
)

func infoLog(_ context.Context, c *desk.Desk, in shell.Input) error {
	lines := c.Session.ConsoleLog.Lines()
	if len(in.Args) > 0 {
		n, err := strconv.Atoi(in.Args[0])
		if err != nil || n < 1 || len(in.Args) > 1 {
			return fmt.Errorf("info log: %q: a number of lines expected", in.Raw)
		}
		lines = lines[max(0, len(lines)-n):]
	}
	c.Notices.Unlogged(func() { // or it would hold all of it once more
		c.Show(in, struct {
			Log []capture.ConsoleLine `json:"log"`
		}{shell.List(lines)}, func(o *screen.Output) { printLog(c.Session, o, lines) })
	})
	return nil
}

// timeWidth is the width of most times: so the lines of a log begin in one column, however long it
// took.
const timeWidth = len("123.456 ms")

// printLog prints lines of the console log, each moment once.
func printLog(s *session.Session, o *screen.Output, lines []capture.ConsoleLine) {
	if len(lines) == 0 {
		why := "nothing was typed or printed yet"
		switch {
		case s.Mode() == target.Saved:
			why = "the capture has no console log"
		case !s.ConsoleLog.Keeps():
			why = "no log is kept: set log on"
		}
		o.Printf("%s\n", why)
		return
	}
	var rows [][]screen.Span
	for i, l := range lines {
		row := []screen.Span{{}, {}, screen.Plain(l.Text)}
		if l.Typed {
			row[2] = screen.Head("(hdb) " + l.Text)
		}
		if i == 0 || l.Seq != lines[i-1].Seq || l.Time != lines[i-1].Time {
			row[0], row[1] = screen.Plain("#"+strconv.FormatUint(l.Seq, 10)), screen.Plain(fmt.Sprintf("%*s", timeWidth, units.Time(l.Time)))
		}
		rows = append(rows, row)
	}
	o.Table([]screen.Column{{Head: "after", Right: true}, {Head: "time", Right: true}, {}}, rows)
}
