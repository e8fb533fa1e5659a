package data

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// dataGroup are the commands of the group.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(stackCommands(c), goroutineCommands(c), dataCommands(c), memoryCommands(c), codeCommands(c), valueCommands(c), valueInfos(c), macroCommands(c), macroInfos(c), sourceCommands(c), symbolCommands(c), infoCommands(c), tuiCommands(c))
}
