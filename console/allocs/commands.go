package allocs

import (
	"slices"

	"hdb/console/desk"
	"hdb/console/shell"
)

// allocGroup are the commands of the group.
func Commands(c *desk.Desk) []*shell.Command {
	return slices.Concat(allocCommands(c), recordInfos(c), wrongFreeCommands(c), heapCommands(c), mallocCommands(c), chunkCommands(c), collectionCommands(c), refsCommands(c), reportCommands(c), pageCommands(c), vmmapCommands(c))
}
