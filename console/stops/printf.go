package stops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cformat"
)

func printfCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "printf", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "\"FORMAT\"[, EXPRESSION...]", Short: "print values by a format of C", Run: c.Does(runPrintf),
			Long: "The conversions are C's: %d %i %u %x %o %c %p, with h, hh, l, ll or z for other sizes than int, %f %e %g %a, and %s for characters in the program, up to the first NUL, or a string of a library; with flags, width and precision. %% is a percent sign, \\n a newline. hdb makes the text.\n\nExamples:\n  printf \"%d items, %5.1f%%\\n\", list->used, 100.0 * list->used / list->max\n  printf \"%s at %p\\n\", item->name, item"},
		{Name: "dprintf", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Synopsis: "LOCATION [if CONDITION],\"FORMAT\"[, EXPRESSION...]", Short: "print at a place in the code, or at allocations, and go on", Run: c.Does(runDprintf),
			Long: "It is a numbered stop, as break sets one, but for that it prints by the format, as printf does, and the program goes on; condition, ignore, enable and delete work on it. The expressions are read in the frame that the stop is at, at an allocation in that of the function which the block belongs to. No function is called for them. One that has no value there is told once in a run, and nothing is printed.\n\nEach hit costs some tens of microseconds in the thread that makes it, while the others run on. At allocations, a part of the condition that is decided in the process costs nothing where it does not hold. If the arguments are $size, $addr, $old, $event or $thread, and the condition asks for no variables of the program, the probe records the event and no thread stops: an event costs about a microsecond, and its text may come some milliseconds later.\n\nExamples:\n  dprintf parse.c:120,\"%s: %d\\n\", name, count\n  dprintf alloc if size >= 1k,\"%lu at %p\\n\",$size,$addr"},
		{Name: "trace", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Synopsis: "LOCATION [if CONDITION]", Short: "tell of each call of a function and what it returns, and go on", Run: c.Does(runTrace),
			Long: "It is a numbered stop that does not stop: condition, ignore, enable and delete work on it. A line that begins with > tells of a call with its arguments, one with < of a return with the value, but of a Go function without it; calls that are made inside of traced ones are indented, for each thread. Where the place is not the beginning of a function, or the call is inlined, a line with * tells of each arrival. Arguments are shown as bt shows them when the trace is set.\n\nEach line costs some tens of microseconds in the thread that it is about, while the others run on. dprintf prints what one likes at a place; info breakpoints counts the hits.\n\nExamples:\n  trace parse\n  trace Cache::insert if thread == 2\n  trace list.c:88"},
	}
}

func runTrace(_ context.Context, c *desk.Desk, in shell.Input) error {
	if strings.TrimSpace(in.Raw) == "" {
		return errors.New("trace: a function, file:line or *address must follow")
	}
	o, err := c.ArgumentOptions()
	if err != nil {
		return err
	}
	st, err := c.Session.Traces.Set(in.Raw, o)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	TellStop(c, in, st)
	return nil
}

func runPrintf(_ context.Context, c *desk.Desk, in shell.Input) error {
	f, err := cformat.Parse(in.Raw)
	if err != nil {
		return fmt.Errorf("printf: %w", err)
	}
	text, err := c.Session.Values.Printf(f)
	if err != nil {
		return fmt.Errorf("printf: %w", err)
	}
	c.Show(in, struct {
		Text string `json:"text"`
	}{text}, func(o *screen.Output) { o.Verbatim(text) })
	return nil
}

func runDprintf(_ context.Context, c *desk.Desk, in shell.Input) error {
	st, err := c.Session.Stops.Dprintf(in.Raw)
	if err != nil {
		return err
	}
	TellStop(c, in, st)
	return nil
}
