package py

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// pyGroup are the commands of the group.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(pythonCommands(c), cythonCommands(c))
}
