package console

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// dataGroup are the commands of the group.
func dataGroup(c *desk.Desk) []*shell.Command {
	return slices.Concat(stackCommands(c), goroutineCommands(c), dataCommands(c), memoryCommands(c), codeCommands(c), valueCommands(c), valueInfos(c), macroCommands(c), macroInfos(c), sourceCommands(c), symbolCommands(c), infoCommands(c), tuiCommands(c))
}
