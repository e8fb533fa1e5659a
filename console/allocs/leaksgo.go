package allocs

import (
	"fmt"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/goruntime"
	"hdb/heap/graph"
	"hdb/internal/units"
	"hdb/session/heaps"
)

// goSum is all blocks of Go.
func goSum(a *heaps.LeakAnswer) (all graph.Sum) {
	for _, s := range a.Go {
		all.Blocks += s.Blocks
		all.Bytes += s.Bytes
	}
	return all
}

// noteGo says what is live of Go, which is not a leak: its collector frees what nothing holds.
func noteGo(c *desk.Desk, o *screen.Output, q *leaksAsked, a *heaps.LeakAnswer) {
	all := goSum(a)
	switch {
	case a.GoError != nil && all.Blocks > 0:
		o.Printf("not counted: %s of Go, whose garbage collector frees unreachable blocks; `top` and `live` list them\n", units.Blocks(o.Sizes, all.Bytes, all.Blocks))
		o.Printf("what holds them is unknown: %v\n", a.GoError)
	case a.GoError != nil:
		o.Printf("not searched: the heap of Go, whose garbage collector frees unreachable blocks: %v\n", a.GoError)
	case a.GoKnown:
		garbage := graph.Sum{Blocks: a.Go[graph.Definite].Blocks + a.Go[graph.Indirect].Blocks, Bytes: a.Go[graph.Definite].Bytes + a.Go[graph.Indirect].Bytes}
		o.Printf("Go: %s live, which is not yet collected\n", units.Blocks(o.Sizes, all.Bytes, all.Blocks))
		var table [][]screen.Span
		for _, row := range []struct {
			graph.Sum
			text string
		}{{a.Go[graph.Reachable], "reachable"}, {garbage, "garbage: the next collection finds it dead"}, {a.Go[graph.Possible], "held only from outside, by C or system stacks: the collector does not see it"}} {
			if row.Blocks > 0 || row.text == "reachable" {
				table = append(table, []screen.Span{screen.Plain(o.Sizes.Short(row.Bytes)), screen.Plain(units.Grouped(row.Blocks)), screen.Plain(row.text)})
			}
		}
		o.Table([]screen.Column{{Head: "bytes", Right: true}, {Head: "blocks", Right: true}, {}}, table)
		printGoRows(c, o, q, a)
		if q.exit && garbage.Blocks > 0 {
			o.Printf("at its end main's variables may hold nothing any more, and what they alone held counts as garbage; `break main.FUNCTION` and `leaks` show what holds it while the program works\n")
		}
	}
	if q.exitCode && (all.Blocks > 0 || a.GoError != nil) {
		o.Printf("--exit-code does not count blocks of Go: `hdb assert --max-live-growth SIZE --since MOMENT -- PROGRAM` checks whether they grow\n")
	}
}

// printGoRows prints who allocated what is live of Go, or, where that is not recorded, its types.
func printGoRows(c *desk.Desk, o *screen.Output, q *leaksAsked, a *heaps.LeakAnswer) {
	var table [][]screen.Span
	for i := range a.GoRows {
		r := &a.GoRows[i]
		if len(r.StackRow.Stack.Frames) == 0 {
			held := screen.Plain(r.HeldBy)
			if r.HeldBy == "" {
				held = screen.Guess("nothing")
			}
			table = append(table, []screen.Span{screen.Plain(o.Sizes.Short(r.Live.Bytes)), screen.Plain(units.Grouped(r.Live.Blocks)), screen.Plain(orDash(o, r.Garbage.Bytes)), goTypeText(o, r), held})
			continue
		}
		garbage := ""
		if r.Garbage.Blocks > 0 {
			garbage = fmt.Sprintf(", of which %s is garbage", units.Blocks(o.Sizes, r.Garbage.Bytes, r.Garbage.Blocks))
		}
		o.Printf("Go: %s, of %s allocated%s\n", units.Blocks(o.Sizes, r.Live.Bytes, r.Live.Blocks), units.Grouped(r.StackRow.Count), garbage)
		if r.HeldBy != "" {
			o.Printf("the largest, at %#x, is held by %s\n", r.Block.Addr, r.HeldBy)
		}
		printUserFrames(c, o, r.StackRow.Stack, "")
	}
	if len(table) > 0 {
		o.Table([]screen.Column{{Head: "bytes", Right: true}, {Head: "blocks", Right: true}, {Head: "garbage", Right: true}, {Head: "type"}, {Head: "the largest is held by"}}, table)
	}
	if len(a.GoRows) < a.GoTotal {
		o.Printf("%d of %s of Go; `%s` shows all\n", len(a.GoRows), units.Count(a.GoTotal, "row"), q.command(a.GoTotal))
	}
}

func orDash(o *screen.Output, bytes uint64) string {
	if bytes == 0 {
		return "-"
	}
	return o.Sizes.Short(bytes)
}

// goTypeText is the type of the blocks of a row.
func goTypeText(o *screen.Output, r *heaps.GoRow) screen.Span {
	switch {
	case r.Type == nil && r.Slot == 0:
		return screen.Guess("? (larger than " + o.Sizes.Short(goruntime.MaxSmallSlot) + ")")
	case r.Type == nil:
		return screen.Guess("? (slots of " + o.Sizes.Short(r.Slot) + ")")
	}
	return screen.Plain(o.Names.Short(r.Type.String()))
}

// A goRowView is live blocks of Go of one stack or type.
type goRowView struct {
	Bytes        uint64           `json:"live_bytes"`
	Blocks       int              `json:"live_blocks"`
	GarbageBytes uint64           `json:"collected_garbage_bytes,omitempty"`
	Garbage      int              `json:"collected_garbage_blocks,omitempty"`
	OfCBytes     uint64           `json:"collected_held_by_c_bytes,omitempty"`
	OfC          int              `json:"collected_held_by_c_blocks,omitempty"`
	Type         string           `json:"type,omitempty"`
	Slot         uint64           `json:"slot_bytes,omitempty"`
	Block        string           `json:"block"` // the largest
	Size         uint64           `json:"block_size"`
	HeldBy       string           `json:"held_by,omitempty"`
	Frames       []desk.FrameView `json:"frames,omitempty"`
}

func viewGoRows(a *heaps.LeakAnswer) (all []goRowView) {
	for i := range a.GoRows {
		r := &a.GoRows[i]
		v := goRowView{
			Bytes: r.Live.Bytes, Blocks: r.Live.Blocks, GarbageBytes: r.Garbage.Bytes, Garbage: r.Garbage.Blocks, OfCBytes: r.OfC.Bytes, OfC: r.OfC.Blocks,
			Slot: r.Slot, Block: fmt.Sprintf("%#x", r.Block.Addr), Size: r.Block.Size, HeldBy: r.HeldBy,
		}
		if r.Type != nil {
			v.Type = r.Type.String()
		}
		if len(r.StackRow.Stack.Frames) > 0 {
			v.Frames = desk.ViewFrames(r.StackRow.Stack.Frames)
		}
		all = append(all, v)
	}
	return all
}

// A goView is what is live of Go, in JSON.
type goView struct {
	Bytes          uint64 `json:"collected_live_bytes,omitempty"`
	Blocks         int    `json:"collected_live_blocks,omitempty"`
	ReachableBytes uint64 `json:"collected_reachable_bytes,omitempty"`
	Reachable      int    `json:"collected_reachable_blocks,omitempty"`
	GarbageBytes   uint64 `json:"collected_garbage_bytes,omitempty"`
	Garbage        int    `json:"collected_garbage_blocks,omitempty"`
	OfCBytes       uint64 `json:"collected_held_by_c_bytes,omitempty"`
	OfC            int    `json:"collected_held_by_c_blocks,omitempty"`
}

func viewGo(a *heaps.LeakAnswer) goView {
	all := goSum(a)
	v := goView{Bytes: all.Bytes, Blocks: all.Blocks}
	if a.GoKnown {
		v.Reachable, v.ReachableBytes = a.Go[graph.Reachable].Blocks, a.Go[graph.Reachable].Bytes
		v.OfC, v.OfCBytes = a.Go[graph.Possible].Blocks, a.Go[graph.Possible].Bytes
		v.Garbage, v.GarbageBytes = all.Blocks-v.Reachable-v.OfC, all.Bytes-v.ReachableBytes-v.OfCBytes
	}
	return v
}
