package console

import (
	"context"
	"fmt"

	"hdb/console/screen"
	"hdb/internal/cformat"
)

func printfCommands() []*Command {
	return []*Command{
		{Name: "printf", Group: GroupData, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "\"FORMAT\"[, EXPRESSION...]", Short: "print values by a format of C", Run: runPrintf,
			Long: "The conversions are C's: %d %i %u %x %o %c %p, with h, hh, l, ll or z for other sizes than int, %f %e %g %a, and %s for characters in the program, up to the first NUL, or a string of a library; with flags, width and precision. %% is a percent sign, \\n a newline. hdb makes the text: nothing is called in the program.\n\nExamples:\n  printf \"%d items, %5.1f%%\\n\", list->used, 100.0 * list->used / list->max\n  printf \"%s at %p\\n\", item->name, item"},
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
	}{text}, func(o *screen.Output) { o.Text(text) })
	return nil
}
