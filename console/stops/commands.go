package stops

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// stopGroup are the commands of the group.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(runningCommands(c), stopCommands(c), stopInfos(c), travelCommands(c), printfCommands(c))
}
