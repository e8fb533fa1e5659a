package console

import (
	"context"
	"fmt"

	"hdb/console/screen"
	"hdb/internal/cformat"
)

func printfCommands() []*Command {
	return []*Command{
		{Name: "printf", Group: GroupData, Direct: true, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "\"FORMAT\"[, EXPRESSION...]", Short: "print values by a format of C", Run: runPrintf,
			Long: "The conversions are C's: %d %i %u %x %o %c %p, with h, hh, l, ll or z for other sizes than int, %f %e %g %a, and %s for characters in the program, up to the first NUL, or a string of a library; with flags, width and precision. %% is a percent sign, \\n a newline. hdb makes the text.\n\nExamples:\n  printf \"%d items, %5.1f%%\\n\", list->used, 100.0 * list->used / list->max\n  printf \"%s at %p\\n\", item->name, item"},
		{Name: "dprintf", Group: GroupStops, Raw: true, Args: []ArgKind{ArgLocation}, Repeat: RepeatNone, Synopsis: "LOCATION [if CONDITION],\"FORMAT\"[, EXPRESSION...]", Short: "print at a place in the code, or at allocations, and go on", Run: runDprintf,
			Long: "It is a numbered stop, as break sets one, but for that it prints by the format, as printf does, and the program goes on; condition, ignore, enable and delete work on it. The expressions are read in the frame that the stop is at, at an allocation in that of the function which the block belongs to. No function is called for them. One that has no value there is told once in a run, and nothing is printed.\n\nEach hit costs some tens of microseconds in the thread that makes it, while the others run on. At allocations, a part of the condition that is decided in the process costs nothing where it does not hold, and arguments like $size, $addr, $old, $event and $thread need no look at the stack.\n\nExamples:\n  dprintf parse.c:120,\"%s: %d\\n\", name, count\n  dprintf alloc if size >= 1k,\"%lu at %p\\n\",$size,$addr"},
	}
}

func runPrintf(_ context.Context, c *Console, in Input) error {
	f, err := cformat.Parse(in.Raw)
	if err != nil {
		return fmt.Errorf("printf: %w", err)
	}
	text, err := c.s.Values.Printf(f)
	if err != nil {
		return fmt.Errorf("printf: %w", err)
	}
	c.show(in, struct {
		Text string `json:"text"`
	}{text}, func(o *screen.Output) { o.Verbatim(text) })
	return nil
}

func runDprintf(_ context.Context, c *Console, in Input) error {
	st, err := c.s.Stops.Dprintf(in.Raw)
	if err != nil {
		return err
	}
	tellStop(c, in, st)
	return nil
}
