package console

import "hdb/console/shell"

func recordInfos(c *Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "allocs", Under: "info", Beside: shell.RunsBeside, Short: "sum up the allocation events", Run: c.does(runRecordStatus), Repeat: shell.RepeatNone},
	}
}
