package console

import (
	"context"
	"errors"
	"fmt"
)

func tuiCommands() []*Command {
	return []*Command{
		{Name: "tui", Group: GroupData, Short: "split the screen: source above, console below", Repeat: RepeatNone, Run: runTUI,
			Long: "It is `tui enable`. The source follows the selected frame and what list and search show, which then print no source of their own. " +
				"`=>` is the frame's line; b+ is a breakpoint, B+ one that was hit, b- and B- are disabled; the bar below has the file, the function and the position.\n\n" +
				"Keys: PgUp and PgDn scroll the source, with `focus src` the arrow keys do too; Ctrl-L paints all anew, as `refresh` does; Ctrl-X A splits the screen and joins it, Ctrl-X O changes the focus.\n\n" +
				"Painted anew, the console shows what hdb printed last; what programs wrote is not known. A terminal that becomes too small has the source again when it is larger.\n\nExample:\n  tui enable",
			Sub: []*Command{
				{Name: "enable", Short: "split the screen", Repeat: RepeatNone, Run: runTUI},
				{Name: "disable", Short: "give the whole screen back to the console", Repeat: RepeatNone,
					Run:  func(_ context.Context, c *Console, _ Input) error { c.tui.disable(); return nil },
					Long: "The terminal then shows what it did before `tui enable`."},
			}},
		{Name: "focus", Group: GroupData, Synopsis: "src\ncmd", Short: "let the arrow keys move the source, or edit the line", Args: []ArgKind{ArgWord}, Repeat: RepeatNone, Run: runFocus,
			Long: "With `focus src` the lines typed before are on Ctrl-P and Ctrl-N, and the cursor moves by Ctrl-B and Ctrl-F.\n\nExample:\n  focus src"},
		{Name: "refresh", Group: GroupData, Short: "paint the split screen anew", Repeat: RepeatNone, Run: runRefresh,
			Long: "When the program wrote over the source, or cleared the terminal."},
	}
}

func runTUI(_ context.Context, c *Console, in Input) error {
	if len(in.Args) > 0 {
		return fmt.Errorf("tui: %q: enable or disable expected", in.Args[0])
	}
	if err := c.tui.enable(""); err != nil {
		return fmt.Errorf("tui: %w", err)
	}
	return nil
}

// split tells whether there is a split screen to act upon.
func (t *tui) split() error {
	switch {
	case !t.ready():
		return errNoSplit
	case !t.screen.on.Load():
		return errors.New("the screen is not split: tui enable")
	}
	return nil
}

func runFocus(_ context.Context, c *Console, in Input) error {
	if err := c.tui.split(); err != nil {
		return fmt.Errorf("focus: %w", err)
	}
	switch in.Arg(0) {
	case "src":
		c.tui.onSource.Store(true)
	case "cmd":
		c.tui.onSource.Store(false)
	default:
		return fmt.Errorf("focus: %q: src or cmd expected", in.Raw)
	}
	return nil
}

func runRefresh(_ context.Context, c *Console, _ Input) error {
	if err := c.tui.split(); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	c.tui.look(true)
	c.tui.paintAll()
	return nil
}
