package allocs

import (
	"context"
	"fmt"
	"slices"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap"
	"hdb/internal/units"
	"hdb/query"
)

// retained is the measure of top that memory is searched for.
const retained = "retained"

// topMeasures are those of top.
var topMeasures = append(slices.Clone(heap.Measures[:]), retained)

// retainedPers are what rows by it may represent.
var retainedPers = []query.Per{query.PerFunction, query.PerLine, query.PerModule, query.PerType, query.PerGlobal}

type retainedRowView struct {
	heap.Site
	LiveBytes uint64 `json:"live_bytes"`
	LiveCount int    `json:"live_blocks"`
	Bytes     uint64 `json:"retained_bytes"`
	Blocks    int    `json:"retained_blocks"`
}

// topRetained shows what only the blocks of each row keep alive.
func topRetained(ctx context.Context, c *desk.Desk, in shell.Input, per query.Per, limit int) error {
	if !slices.Contains(retainedPers, per) {
		return fmt.Errorf("top: by retained per %s: per function, line, module, type or global expected", per)
	}
	a, err := c.Session.Heap.TopRetained(ctx, per)
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("top: by retained: %w", err)
	}
	total := len(a.Rows)
	rows := a.Rows[:min(limit, total)]
	views := make([]retainedRowView, 0, len(rows))
	var table [][]screen.Span
	for _, r := range rows {
		s := r.Site
		views = append(views, retainedRowView{s, r.Live.Bytes, r.Live.Blocks, r.Retained.Bytes, r.Retained.Blocks})
		table = append(table, []screen.Span{
			screen.Plain(c.Out.Sizes.Short(r.Retained.Bytes)), screen.Plain(units.Grouped(uint64(r.Retained.Blocks))), screen.Plain(c.Out.Sizes.Short(r.Live.Bytes)),
			screen.Plain(units.Grouped(uint64(r.Live.Blocks))), screen.Func(siteName(c.Out, per, s)), sitePlace(s, per),
		})
	}
	c.AnswerOfHeap(in, &a.Doubts, c.Session.Recorded.Gaps(), struct {
		By    string            `json:"measure"`
		Per   string            `json:"per"`
		Total int               `json:"total"`
		Rows  []retainedRowView `json:"rows"`
	}{retained, per.String(), total, views}, func(o *screen.Output) {
		switch {
		case total == 0 && per == query.PerType:
			o.Printf("the type of no live block is known\n")
			printUnknown(o, a.Unknown)
			return
		case total == 0 && per == query.PerGlobal:
			o.Printf("no global variable points to a live block\n")
			return
		case total == 0:
			o.Printf("%s\n", orWaiting(c.Session, noneLive))
			return
		}
		o.Table([]screen.Column{{Head: retained, Right: true}, {Head: "blocks", Right: true}, {Head: "live", Right: true}, {Head: "live blocks", Right: true}, {Head: per.String()}, {}}, table)
		if len(rows) < total {
			more := ""
			if per != query.PerFunction {
				more = " per " + per.String()
			}
			o.Printf("%d of %s; `top %d by retained%s` lists all\n", len(rows), units.Count(total, per.String()), total, more)
		}
		printUnknown(o, a.Unknown)
	})
	return nil
}
