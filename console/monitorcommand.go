package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/procfs"
	"hdb/internal/units"
)

func monitorCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "monitor", Group: shell.GroupAllocs, Direct: true, Short: "continue, and show what the program allocates while it runs", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runMonitor),
			Long: "A screen, updated every second, has a row for each function: own is what it allocated itself, total what all stacks through it allocated. It is `hdb live` for a program that is already under hdb (`live` lists live blocks). It shows the recording, and starts one if there is none.\n\n" +
				"change is how much own has grown since the view began, or since you pressed `d`; `per s` is the growth in the last second. A terminal of fewer than 110 columns leaves out some columns.\n\n" +
				"Keys: the arrows move; Enter opens a function: first its lines, then the callers of a line, then their callers; Backspace returns. 1 live, 2 bytes, 3 count, 4 temporary choose the measure; s sorts by own, total, change, rate or name; / filters by a function's name, file or module, f by name alone, M by module, and Esc removes the filters; space freezes the screen while the program runs on; t shows rows for each thread, in Go for each goroutine; ? lists the keys; q stops the program and returns to the console, and so does every stop of the program.\n\n" +
				"The program runs in the background of the terminal. If it writes to the terminal it garbles the screen: redirect its output.\n\nExample:\n  start -v > out.txt 2>&1\n  monitor"},
	}
}

func runMonitor(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if err := monitorReady(c); err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	if paintedOver(c) {
		return errors.New("monitor: the program writes to this terminal: redirect its output: run ARGS > FILE 2>&1")
	}
	if st := c.Session.Recorded.Status(); !st.Recording {
		if err := c.Session.Recorder.Start(); err != nil {
			return err
		}
		c.Say("recording from here on")
	}
	m, err := newMonitor(c)
	if err != nil {
		return err
	}
	defer c.Split.Pause()()
	rep, err := m.run(ctx)
	if rep == nil || err != nil {
		return err
	}
	c.Report(in, rep)
	return nil
}

// paintedOver reports whether the program's output goes to the terminal of the view.
func paintedOver(c *desk.Desk) bool {
	pid, _, _, ok := c.Session.Process()
	tty, err := c.Split.FullScreen().Stat()
	if !ok || err != nil {
		return false
	}
	for _, fd := range []int{1, 2} {
		st, err := os.Stat(procfs.Path(pid, fmt.Sprintf("fd/%d", fd)))
		if err == nil && st.Mode()&os.ModeCharDevice != 0 && st.Sys().(*syscall.Stat_t).Rdev == tty.Sys().(*syscall.Stat_t).Rdev {
			return true
		}
	}
	return false
}

// Live is `hdb live`: the live view alone. begin has the session record, and brings the process
// under it; it is called when there is a terminal to show it. The exit code is Run's, for what a
// program did that hdb started.
func (c *Console) Live(begin func() error) int {
	defer c.Start()()
	defer c.Split.FullScreen().End() // also when hdb panics
	ctx, done := c.Cancellable()
	defer done()
	err := monitorReady(c.Desk)
	if err == nil {
		c.ReadConfig(c.cfg.NoInit, c.cfg.NoHome)
		if !c.cfg.NoInit {
			c.ReadProjectFile()
		}
		err = watchLive(ctx, c.Desk, begin)
	} else {
		err = fmt.Errorf("live: %w", err)
	}
	if err != nil {
		c.Fail(err)
	}
	code := c.Exit.Live(c.ChildResult)
	c.Exit.Given = &code
	return c.Finish()
}

// watchLive begins, shows the view, and says what was seen.
func watchLive(ctx context.Context, c *desk.Desk, begin func() error) error {
	if err := begin(); err != nil {
		return err
	}
	m, err := newMonitor(c)
	if err != nil {
		return err
	}
	m.stays, m.goes = true, true
	if paintedOver(c) {
		c.Notify("the process writes to this terminal and spoils the picture")
	}
	_, err = m.run(ctx)
	now := m.data.Totals()
	how := "killed"
	switch {
	case m.view.Ended != "":
		how = m.view.Ended
	case c.Session.Outlives():
		how = "goes on"
	}
	known := fmt.Sprintf("peak %s, live %s in %s", c.Out.Sizes.Short(m.data.Peak().Live), c.Out.Sizes.Short(now.Live), units.Count(now.Blocks, "block"))
	if m.unfollowed() {
		known = desk.UnfollowedText
	}
	c.Say("%s: %s, %s; process %d: %s", screen.ShortPath(m.data.Info().Program), units.Count(now.Events, "event"), known, m.view.PID, how)
	return err
}
