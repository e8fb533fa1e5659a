package allocs

import (
	"hdb/console/desk"
	"hdb/console/shell"
)

func recordInfos(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "allocs", Under: "info", While: shell.RunsAlongside, Short: "sum up the allocation events", Run: c.Does(runRecordStatus), Repeat: shell.RepeatNone},
	}
}
