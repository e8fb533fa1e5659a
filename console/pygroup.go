package console

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// pyGroup are the commands of the group.
func pyGroup(c *desk.Desk) []*shell.Command {
	return slices.Concat(pythonCommands(c), cythonCommands(c))
}
