package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

func quitCommand(c *Console) *Command {
	return &Command{Name: "quit", Aliases: []string{"q", "exit"}, Group: GroupSupport, Beside: RunsBehind, Synopsis: "[CODE]", Short: "leave hdb",
		Repeat: RepeatNone, Run: c.does(runQuit),
		Long: "A program that hdb started is killed, with `set kill-on-exit off` it goes on; one that hdb was attached to goes on. At a terminal it first offers to save what was recorded since the last `save`. CODE is hdb's exit code.\n\nExample:\n  quit 3"}
}

func runQuit(_ context.Context, c *Console, in Input) error {
	if len(in.Args) > 0 {
		code, err := strconv.ParseUint(in.Args[0], 0, 8)
		if err != nil {
			return fmt.Errorf("quit: %q: an exit code from 0 to 255 expected", in.Args[0])
		}
		given := int(code)
		c.exit.given = &given
	}
	if stay, err := saveFirst(c); stay || err != nil {
		c.exit.given = nil
		return err
	}
	if pid, _, _, live := c.s.Process(); live && !c.s.Outlives() && !c.confirm("Kill process %d and quit?", pid) {
		c.exit.given = nil
		return nil
	}
	c.Quit()
	return nil
}

// Assign changes a variable of the program or one of the debugger's, as set var and set $NAME do. done
// is false if a line asks for neither.
func (c *Console) Assign(text string) (done bool, err error) {
	if word, expr := splitWord(text); word == "var" || word == "variable" {
		return true, c.eval.setVar(expr)
	}
	if !strings.HasPrefix(text, "$") { // a convenience variable, or a register
		return false, nil
	}
	if err := c.s.Values.Set(text); err != nil {
		return true, fmt.Errorf("set: %w", err)
	}
	return true, nil
}

// ShowVariables prints the debugger's variables.
func (c *Console) ShowVariables(in Input) error { return c.eval.showConveniences(in) }

// Holds reports whether an expression is true.
func (c *Console) Holds(expr string) (bool, error) { return c.s.Values.Holds(expr) }

// History prints the recorded events about an address.
func (c *Console) History(ctx context.Context, in Input) error { return blockHistory(ctx, c, in) }
