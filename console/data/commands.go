// Package data has the commands that look at the selected thread and frame: stacks, sources, values, memory,
// code, registers and symbols. It knows nothing of how the program is run.
package data

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// Commands are those of the package.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(stackCommands(c), goroutineCommands(c), dataCommands(c), memoryCommands(c), codeCommands(c), valueCommands(c), valueInfos(c), macroCommands(c), macroInfos(c), sourceCommands(c), symbolCommands(c), infoCommands(c), tuiCommands(c))
}
