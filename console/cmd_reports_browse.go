package console

import (
	"context"

	"hdb/console/line"
	"hdb/console/screen"
	"hdb/report"
)

// browse is `tree --interactive`: it shows the tree of the profile until the user ends it.
func browse(ctx context.Context, c *Console, in Input, r *Report) error {
	keys, ok := c.in.(line.KeySource)
	if !ok || !c.tui.Ready() || !c.tui.PrintsTo(c.out) {
		return screen.NoTerminal(in.Name + " --interactive")
	}
	p, err := c.s.Queries.Profile(r.parts)
	if err != nil {
		return err
	}
	p.RawSizes = c.out.Sizes.Raw
	r.Tree.Measure, _ = r.measure.of(p, c.out.Sizes)
	b := report.NewBrowser(report.NewTree(p, r.Tree))
	defer c.tui.Pause()()
	return screen.NewTreeBrowser(c.tui, keys, b, func() report.Text { return reportText(c) }).Run(ctx)
}
