package allocs

import (
	"context"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/report"
)

// browse is `tree --interactive`: it shows the tree of the profile until the user ends it.
func browse(ctx context.Context, c *desk.Desk, in shell.Input, r *Report) error {
	keys, ok := c.In.(line.KeySource)
	if !ok || !c.Split.Ready() || !c.Split.PrintsTo(c.Out) {
		return screen.NoTerminal(in.Name + " --interactive")
	}
	p, err := c.Session.Queries.Profile(r.parts)
	if err != nil {
		return err
	}
	p.Units = c.Out.Sizes
	r.Tree.Measure, _ = r.measure.of(p, c.Out.Sizes)
	b := report.NewBrowser(report.NewTree(p, r.Tree))
	defer c.Split.Pause()()
	return screen.NewTreeBrowser(c.Split, keys, b, func() report.Text { return reportText(c) }).Run(ctx)
}
