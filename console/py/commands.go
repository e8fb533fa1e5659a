// Package py has the commands on Python and Cython: stacks, objects, steps.
package py

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// Commands are those of the package.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(pythonCommands(c), cythonCommands(c))
}
