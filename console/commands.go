package console

import (
	"slices"
	"strings"

	"hdb/console/allocs"
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/py"
	"hdb/console/shell"
	"hdb/console/stops"
)

// commandTable is every command. It is made anew for each console, so that
// nothing can change it for another.
func commandTable(c *desk.Desk) *shell.Table {
	t := shell.NewTable(stops.Commands(c), allocs.Commands(c), py.Commands(c), data.Commands(c), monitorCommands(c), fileCommands(c), coreCommands(c), statusCommands(c), shellOf(c).Words(), []*shell.Command{quitCommand(c)})
	t.Topics, t.Missing = topics(), notBuilt
	t.Essential = []string{"run", "break", "continue", "next", "finish", "bt", "list", "print", "record", "top", "leaks", "live", "why", "save", "quit"}
	t.Hint = "The short way: `break alloc if size >= 1MiB`, `run`, `bt`, `list`, `next-alloc`, `save FILE`."
	t.Each(func(full string, cmd *shell.Command) { cmd.Direct = cmd.Direct || !onlyPrints(cmd, full) })
	return t
}

// shellOf is a console's shell, nil for the help alone.
func shellOf(c *desk.Desk) *shell.Shell {
	if c == nil {
		return nil
	}
	return c.Shell
}

// IsCommand tells that a word is the name of a command.
func IsCommand(word string) bool {
	return slices.ContainsFunc(commandTable(nil).Commands, func(cmd *shell.Command) bool { return cmd.Name == word })
}

// onlyPrints tells commands that answer from those that run the program, ask, or have the
// terminal for themselves.
func onlyPrints(cmd *shell.Command, name string) bool {
	switch cmd.Group {
	case "": // a subcommand
		return strings.HasPrefix(name, "info ")
	case shell.GroupAllocs, shell.GroupStack, shell.GroupStatus, shell.GroupData:
		return !cmd.Direct
	case shell.GroupSupport:
		return cmd.Name == "help" || cmd.Name == "apropos" || cmd.Name == "show" || cmd.Name == "history"
	}
	return false
}
