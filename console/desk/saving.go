package desk

import (
	"fmt"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/session/recordings"
)

// ParseSave reads the words behind verbs that write a capture.
func ParseSave(verb string, words []string) (files []string, force bool, err error) {
	files, err = flags.All(words, func(name string) flags.Flag {
		if name == "f" || name == "force" {
			return flags.On(&force)
		}
		return flags.Flag{}
	})
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", verb, err)
	}
	return files, force, nil
}

// ShowSaved shows what a capture that was written has.
func ShowSaved(c *Desk, in shell.Input, info recordings.SavedInfo) {
	c.Answer(in, struct {
		Path   string `json:"path"`
		Events int    `json:"event_count"`
		Stacks int    `json:"stack_count"`
		Stops  int    `json:"stop_count"`
		Bytes  int64  `json:"size"`
	}{info.Path, info.Events, info.Stacks, info.Stops, info.Bytes}, func(o *screen.Output) {
		events := units.Count(info.Events, "event")
		if info.Summed > 0 {
			events = "sums of " + units.Count(info.Summed, "event")
		}
		o.Printf("saved %s, %s, %s, with symbols and source lines: %s\n", events, units.Count(info.Stacks, "stack"), units.Count(info.Stops, "stop"), o.Sizes.Short(uint64(info.Bytes)))
	})
}
