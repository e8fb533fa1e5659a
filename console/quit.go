package console

import (
	"context"
	"fmt"
	"strconv"

	"hdb/console/desk"
	"hdb/console/shell"
)

func quitCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{Name: "quit", Aliases: []string{"q", "exit"}, Group: shell.GroupSupport, While: shell.StopsFirst, Synopsis: "[CODE]", Short: "leave hdb",
		Repeat: shell.RepeatNone, Run: c.Does(runQuit),
		Long: "A program that hdb started is killed, unless you `set kill-on-exit off`; an attached program runs on. At a terminal it first offers to save what was recorded since the last `save`. CODE is hdb's exit code.\n\nExample:\n  quit 3"}
}

func runQuit(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		code, err := strconv.ParseUint(in.Args[0], 0, 8)
		if err != nil {
			return fmt.Errorf("quit: %q: an exit code from 0 to 255 expected", in.Args[0])
		}
		given := int(code)
		c.Exit.Given = &given
	}
	if stay, err := saveFirst(c); stay || err != nil {
		c.Exit.Given = nil
		return err
	}
	if pid, _, _, live := c.Session.Process(); live && !c.Session.Outlives() && !c.Confirm("Kill process %d and quit?", pid) {
		c.Exit.Given = nil
		return nil
	}
	c.Quit()
	return nil
}
