package allocs

import (
	"context"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/internal/units"
)

// A walkedView is a block that is in no recording.
type walkedView struct {
	Block string `json:"block"`
	Size  uint64 `json:"block_size"` // usable
	desk.TypeView
}

// ofSlots says what sizes of blocks of Go are that are not recorded, and which are live.
const ofSlots = "sizes of blocks of Go are those of their slots, and they are live until a garbage collection has found them dead"

// printUnknown says how many blocks of Go have no type that is known, of an answer that was asked for one.
func printUnknown(o *screen.Output, unknown graph.Sum) {
	if unknown.Blocks > 0 {
		o.Printf("the type of %s of Go, with %s, is unknown\n", units.Count(unknown.Blocks, "block"), o.Sizes.Long(unknown.Bytes))
	}
}

// showWalked lists the live blocks that the allocator describes, where nothing is recorded.
func showWalked(ctx context.Context, c *desk.Desk, in shell.Input, condition *cond.Cond, limit int) error {
	w, err := c.Session.Heap.Walked(ctx, condition, limit)
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	views := make([]walkedView, 0, len(w.Largest))
	var table [][]screen.Span
	for _, b := range w.Largest {
		typ := b.Type
		views = append(views, walkedView{fmt.Sprintf("%#x", b.Addr), b.Size, desk.ViewType(typ)})
		table = append(table, []screen.Span{screen.Plain(c.Out.Sizes.Short(b.Size)), screen.Plain(fmt.Sprintf("%#x", b.Addr)), desk.TypeText(c.Out, typ)})
	}
	c.AnswerOfMemory(in, struct {
		Total  int          `json:"total"`
		Bytes  uint64       `json:"live_bytes"`
		Blocks []walkedView `json:"rows"`
	}{w.Blocks, w.Bytes, views}, func(o *screen.Output) {
		if len(table) > 0 {
			o.Table([]screen.Column{{Head: "size", Right: true}, {Head: "block"}, {}}, table)
		}
		if len(views) < w.Blocks {
			all := "live all"
			if condition != nil {
				all += " if " + strings.TrimSpace(condition.Source())
			}
			o.Printf("the largest %d of %s; `%s` lists all\n", len(views), units.Grouped(w.Blocks), all)
		}
		o.Printf("live: %s, found in the heap itself: nothing was recorded, so who allocated them is unknown\n", units.Blocks(o.Sizes, w.Bytes, w.Blocks))
		printUnknown(o, w.Unknown)
		if w.Go {
			o.Printf("%s\n", ofSlots)
		}
	})
	return nil
}

// showWalkedBlock says in which block an address lies that no recording has.
func showWalkedBlock(c *desk.Desk, in shell.Input, at, start, size uint64) {
	c.AnswerOfMemory(in, whenceView{Address: fmt.Sprintf("%#x", at), Block: fmt.Sprintf("%#x", start), Offset: new(at - start), Size: &size}, func(o *screen.Output) {
		o.Printf("%#x is byte %s of %s at %#x\n", at, units.Grouped(at-start), o.Sizes.Long(size), start)
		o.Line(screen.Guess("(the block is not in a recording: it is found in the heap itself, with its usable size)"))
	})
}
