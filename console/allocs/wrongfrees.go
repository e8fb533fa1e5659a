package allocs

import (
	"context"
	"fmt"
	"strconv"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
)

func wrongFreeCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{{
		Name: "wrong-frees", Group: shell.GroupAllocs, While: shell.RunsAlongside, Raw: true, Synopsis: "[N | all]", Short: "list recorded frees of something that was not a live block", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatSame, Run: c.Does(runWrongFrees),
		Long: "These are double frees, frees of an address inside a block, and frees by the wrong family of functions, such as delete for operator new[]. N is how many are shown with their stacks, by default 10. Only recorded blocks are checked. A free of an address where no recorded call has allocated is not listed, as the block may be older than the recording; a line below the list counts such frees.\n\nWhile a program runs, `set wrong-frees` decides whether hdb stops before such a call; see docs/heap.md.\n\nExamples:\n  wrong-frees\n  wrong-frees all",
	}}
}

func runWrongFrees(_ context.Context, c *desk.Desk, in shell.Input) error {
	limit := 10
	if n, err := strconv.Atoi(in.Raw); err == nil && n > 0 {
		limit = n
	} else if in.Raw == "all" {
		limit = 0
	} else if in.Raw != "" {
		return fmt.Errorf("wrong-frees: %q: a number or `all` expected", in.Raw)
	}
	all, unknown, err := c.Session.Queries.WrongFrees()
	if err != nil {
		return err
	}
	total := len(all)
	if limit > 0 && total > limit {
		all = all[:limit]
	}
	views := make([]*desk.WrongView, len(all))
	for i, w := range all {
		views[i] = desk.ViewWrong(w)
	}
	c.Answer(in, struct {
		Total   int               `json:"total"`
		Wrong   []*desk.WrongView `json:"wrong_frees"`
		Unknown int               `json:"unknown_frees"`
	}{total, views, unknown.Count}, func(o *screen.Output) {
		if total == 0 && unknown.Count == 0 {
			o.Text("no recorded call freed something that was not a live block\n")
		} else if total == 0 {
			o.Text("no recorded call is known to have freed something that was not a live block\n")
		}
		for _, w := range all {
			o.Text(fmt.Sprintf("%s: #%d %s   %s\n", w.Kind, w.Call.Seq, desk.Called(o)(w.Call), desk.ThreadOf(c.Session, w.Call.TID)))
			o.Line(screen.Guess("   " + desk.WrongText(o, w)))
			if len(w.CallFrames) > 0 {
				desk.PrintFrames(o, desk.UserFrames(w.CallFrames))
			}
			desk.PrintWrong(o, w)
		}
		if total > len(all) {
			o.Text(fmt.Sprintf("%d of %s; `wrong-frees all` lists all\n", len(all), units.Count(total, "call")))
		}
		if unknown.Count > 0 {
			free := "free"
			if total > 0 {
				free = "other free"
			}
			o.Text(fmt.Sprintf("%s, the first #%d: no recorded call has allocated there, so whether it was a block is unknown\n", units.Count(unknown.Count, free), unknown.First))
		}
	})
	return nil
}
