// Package stops has the commands that run the program and say where it stops.
package stops

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// Commands are those of the package.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(runningCommands(c), stopCommands(c), stopInfos(c), travelCommands(c), printfCommands(c))
}
