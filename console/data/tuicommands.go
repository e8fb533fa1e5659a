package data

import (
	"context"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/names"
	"hdb/session"
	"hdb/session/target"
)

func tuiCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "tui", Group: shell.GroupData, Short: "split the screen: source above, console below", Repeat: shell.RepeatNone, Run: c.Does(runTUI),
			Long: "It is `tui enable`. The source pane follows the selected frame and the commands list and search, which then print no source themselves. `=>` is the frame's line; b+ is a breakpoint, B+ one that was hit, b- and B- are disabled; the bar below shows the file, the function and the position." +
				"\n\n" +
				"Keys: PgUp and PgDn scroll the source, and with `focus src` the arrow keys do too; Ctrl-L repaints the screen, as `refresh` does; Ctrl-X A turns the split screen on and off, Ctrl-X O changes the focus.\n\n" +
				"Repainting restores what hdb printed last, not what programs wrote. If the terminal becomes too small, the source disappears until it is larger.\n\nExample:\n  tui enable",
			Sub: []*shell.Command{
				{Name: "enable", Short: "split the screen", Repeat: shell.RepeatNone, Run: c.Does(runTUI)},
				{Name: "disable", Short: "return the whole screen to the console", Repeat: shell.RepeatNone,
					Run:  c.Does(func(_ context.Context, c *desk.Desk, _ shell.Input) error { c.Split.Disable(); return nil }),
					Long: "The terminal then shows what it did before `tui enable`."},
			}},
		{Name: "focus", Group: shell.GroupData, Synopsis: "src\ncmd", Short: "use the arrow keys to scroll the source, or to edit the line", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(runFocus),
			Long: "With `focus src`, Ctrl-P and Ctrl-N recall typed lines, and Ctrl-B and Ctrl-F move the cursor.\n\nExample:\n  focus src"},
		{Name: "refresh", Group: shell.GroupData, Short: "repaint the split screen", Repeat: shell.RepeatNone, Run: c.Does(runRefresh),
			Long: "Use it when the program has written over the source, or cleared the terminal."},
	}
}

func runTUI(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return fmt.Errorf("tui: %q: enable or disable expected", in.Args[0])
	}
	if err := c.Split.Enable(""); err != nil {
		return fmt.Errorf("tui: %w", err)
	}
	return nil
}

func runFocus(_ context.Context, c *desk.Desk, in shell.Input) error {
	if err := c.Split.Check(); err != nil {
		return fmt.Errorf("focus: %w", err)
	}
	switch in.Arg(0) {
	case "src":
		c.Split.FocusSource(true)
	case "cmd":
		c.Split.FocusSource(false)
	default:
		return fmt.Errorf("focus: %q: src or cmd expected", in.Raw)
	}
	return nil
}

func runRefresh(_ context.Context, c *desk.Desk, _ shell.Input) error {
	if err := c.Split.Check(); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	c.Split.Refresh()
	return nil
}

// tuiHost is the console below a split screen.
type tuiHost struct{ c *desk.Desk }

// NewTUI connects the split screen with the reader's keys.
func NewTUI(c *desk.Desk) *screen.Split {
	keys, _ := c.In.(screen.KeySharer)
	if !c.Interactive() {
		keys = nil
	}
	return screen.NewSplit(tuiHost{c}, c.Out, keys)
}

func (h tuiHost) TabWidth() int              { return h.c.Set.Count("tab-width") }
func (h tuiHost) Layout()                    { h.c.Layout() }
func (h tuiHost) Notify(text string)         { h.c.Notify(text) }
func (h tuiHost) Fail(err error)             { h.c.Fail(err) }
func (h tuiHost) Warn(err error)             { h.c.Warn(err) }
func (h tuiHost) Aside(f func() error) error { return shell.Aside(f) }

// Post gives f to the goroutine that awaits a line. A screen without a viewer misses nothing if too
// many are waiting: it is painted before each prompt.
func (h tuiHost) Post(f func()) { h.c.Post(f) }

// Picture finds out what there is to show. A source that was not found is looked for
// again when the place changes, or when again says so: on a server that takes a while.
func (h tuiHost) Picture(before *screen.Picture, again bool) screen.Picture {
	p := h.place()
	if p.File == "" {
		return p
	}
	same := p.Key() == before.Key()
	if same && !again && before.Text == nil && before.Why != "" && h.c.Session.Names().Debuginfod.Mode() != names.DebuginfodOff {
		p.Why = before.Why
	} else if text, err := h.c.Session.Names().Source(p.File); err != nil {
		p.Why = "no source: " + err.Error()
	} else {
		p.Text = text
	}
	return p
}

// place is where the selected frame is, or what was listed since.
func (h tuiHost) place() screen.Picture {
	c := h.c
	var p screen.Picture
	f, err := c.Session.Selection.Frame()
	stands := err == nil
	if stands {
		p.Function = c.Out.Names.Short(c.Out.Names.Function(f.Function, f.Linkage))
		p.Where = frameWords(c.Session, f)
	}
	switch l := c.Source.Listing; {
	case l.Last > 0:
		p.File, p.Language, p.First, p.Last, p.Listed, p.Current = l.File, l.Language, l.First, l.Last, true, l.Current
		if stands && f.File == l.File {
			p.Current = f.Line
		}
	case stands && (f.File == "" || f.Line == 0):
		name := p.Function
		if name == "" {
			name = f.Code.Addr().String()
		}
		p.Why = fmt.Sprintf("no line information for %s [%s]", name, strings.Trim(OrUnknown(f.Module), "[]"))
	default:
		p.File, p.First, p.Language, p.Current = c.Source.Here()
		p.Last = p.First
	}
	if p.File == "" && p.Why == "" {
		p.Why = "no source: " + noPlace(c.Session)
	}
	p.Marks = breakpointLines(c.Session, p.File)
	return p
}

// noPlace says why there is nothing to show.
func noPlace(s *session.Session) string {
	if s.Mode() == target.Empty {
		return target.ErrNoProgram.Error()
	}
	return "no place in the program is selected"
}

// frameWords tell which frame of what is selected.
func frameWords(s *session.Session, f names.Frame) string {
	words := fmt.Sprintf("#%d", f.Num)
	if s.Mode() == target.Saved {
		if _, selected := s.Captures.Opened(); selected != "" {
			return words + "  " + selected
		}
		return words
	}
	if t, err := s.Selection.Thread(); err == nil {
		words += fmt.Sprintf("  thread %d %s", t.Num, desk.Quoted(t.Name))
	}
	return words
}

// breakpointLines are gdb's marks: b or B when it was hit, + or - when it is disabled.
func breakpointLines(s *session.Session, file string) map[int]string {
	marks := map[int]string{}
	if file == "" {
		return marks
	}
	for _, st := range s.Stops.All() {
		for _, p := range st.Places {
			if p.File != file || p.Line <= 0 {
				continue
			}
			mark := []byte("b-")
			if st.Hits > 0 {
				mark[0] = 'B'
			}
			if st.Enabled {
				mark[1] = '+'
			}
			if old := marks[p.Line]; old != "" { // of several the most active
				mark[0], mark[1] = min(mark[0], old[0]), min(mark[1], old[1])
			}
			marks[p.Line] = string(mark)
		}
	}
	return marks
}
