package allocs

import (
	"context"
	"fmt"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session/collect"
)

// collectionCommands are about the garbage of Go programs.
func collectionCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "gc", Group: shell.GroupAllocs, Beside: shell.RunsBeside, Resumes: true, Short: "have a Go program collect its garbage", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runCollect),
			Long: "One of the program's goroutines is made to call runtime.GC, by the way that its runtime has for debuggers. All threads run meanwhile, and pass breakpoints. At a stop in the program's own code the selected thread makes the call, and stands where it stood when that has returned; elsewhere, as after attach, it is the first goroutine that comes by such a place, and the program has gone on. If none does, as in a server that waits, or if the program has no runtime.GC, the runtime is made to collect by itself, as it does two minutes after its last collection. A program that runs in the background (`continue &`) runs on.\n\nIt tells how many objects the heap has now, and how many fewer that is than before; what was allocated meanwhile is among those that live, and what a register of the goroutine may point to is kept. Blocks of under 16 bytes without pointers count together. Memory that finalizers or cleanups keep is collected by the second gc. If hdb is killed, the program goes on, and the collection is made all the same.\n\nExample:\n  gc"},
	}
}

func runCollect(_ context.Context, c *desk.Desk, in shell.Input) error {
	if c.Bg.Apart(func(ctx context.Context) error { return collectBeside(ctx, c, in) }) {
		return nil
	}
	got, r, err := c.Session.GoCollections.Collect()
	if r != nil {
		c.Report(in, r)
	}
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	if got != nil {
		showCollected(c, in, got)
	}
	return nil
}

// collectBeside is gc while the program runs in the background. It is no work of the console's goroutine.
func collectBeside(ctx context.Context, c *desk.Desk, in shell.Input) error {
	got, err := c.Session.GoCollections.CollectBeside(ctx, c.Bg.Do)
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	c.Bg.Do(func() { showCollected(c, in, got) })
	return nil
}

func showCollected(c *desk.Desk, in shell.Input, got *collect.Collected) {
	type sum struct {
		Objects int    `json:"objects"`
		Bytes   uint64 `json:"live_bytes"`
	}
	v := struct {
		Before sum   `json:"before"`
		Live   sum   `json:"live"`
		Took   int64 `json:"elapsed_ns"`
		Stays  bool  `json:"stays"`
	}{sum{got.Before.Slots, got.Before.Bytes}, sum{got.Live.Slots, got.Live.Bytes}, got.Took.Nanoseconds(), got.Stays}
	c.Show(in, v, func(o *screen.Output) {
		of := func(n int, bytes uint64) string { return units.Count(n, "object") + " (" + o.Sizes.Short(bytes) + ")" }
		text, more := "collected", ""
		if got.Live.Slots <= got.Before.Slots && got.Live.Bytes <= got.Before.Bytes {
			text += " " + of(got.Before.Slots-got.Live.Slots, got.Before.Bytes-got.Live.Bytes)
		} else {
			more = ", more than before"
		}
		o.Line(screen.Plain(text + " in " + units.Time(got.Took) + "; live: " + of(got.Live.Slots, got.Live.Bytes) + more))
		if !got.Stays {
			o.Line(screen.Guess("   the program ran meanwhile"))
		}
	})
}
