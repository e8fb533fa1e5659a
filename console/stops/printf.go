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
		{Name: "printf", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "\"FORMAT\"[, EXPRESSION...]", Short: "print values with a C format", Run: c.Does(runPrintf),
			Long: "The conversions are C's: %d %i %u %x %o %c %p, with h, hh, l, ll or z for sizes other than int, %f %e %g %a, and %s for characters in the program, up to the first NUL, or for a library's string type; with flags, width and precision. %% is a percent sign, \\n a newline. hdb formats the text; the program's printf is not called.\n\nExamples:\n  printf \"%d items, %5.1f%%\\n\", list->used, 100.0 * list->used / list->max\n  printf \"%s at %p\\n\", item->name, item"},
		{Name: "dprintf", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Synopsis: "LOCATION [if CONDITION],\"FORMAT\"[, EXPRESSION...]", Short: "print at a place in the code, or at allocations, without stopping", Run: c.Does(runDprintf),
			Long: "It is a numbered stop like break's, but it prints using the format, as printf does, and the program continues; condition, ignore, enable and delete work on it. The expressions are read in the frame of the stop; at an allocation, in the frame of the function that the block belongs to. They cannot call functions. If an expression has no value there, nothing is printed, and hdb reports it once in a run.\n\nEach hit costs its thread some tens of microseconds, while the others run on. At allocations, the probe evaluates a part of the condition in the process: events for which that part does not hold cost nothing. If the arguments are $size, $addr, $old, $event or $thread, and the condition uses no variables of the program, the probe records the event and no thread stops: an event costs about a microsecond, and its text may appear some milliseconds later.\n\nExamples:\n  dprintf parse.c:120,\"%s: %d\\n\", name, count\n  dprintf alloc if size >= 1k,\"%lu at %p\\n\",$size,$addr"},
		{Name: "trace", Group: shell.GroupStops, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone, Synopsis: "LOCATION [if CONDITION]", Short: "print each call of a function and its result, without stopping", Run: c.Does(runTrace),
			Long: "It is a numbered stop after which the program continues: condition, ignore, enable and delete work on it. A line that begins with > is a call with its arguments, one with < a return with its value (Go functions without it); calls inside traced calls are indented, for each thread. If the place is not the beginning of a function, or the call is inlined, a line with * marks each arrival. Arguments are formatted with the print settings in effect when the trace was set.\n\nEach line costs its thread some tens of microseconds, while the others run on. To print expressions at a place use dprintf; info breakpoints counts the hits.\n\nExamples:\n  trace parse\n  trace Cache::insert if thread == 2\n  trace list.c:88"},
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
