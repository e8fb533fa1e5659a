// Package allocs has the commands that ask about allocations: the recording of events, the live heap, leaks,
// growth, owners, allocators and exports. It runs the
// program for `leaks --exit` alone.
package allocs

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// Commands are those of the package.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(allocCommands(c), recordInfos(c), wrongFreeCommands(c), heapCommands(c), mallocCommands(c), chunkCommands(c), refsCommands(c), reportCommands(c), pageCommands(c), vmmapCommands(c))
}
