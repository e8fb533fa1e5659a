package shell

import (
	"context"
	"errors"
	"fmt"
)

func scriptWords(c *Shell) []*Command {
	return []*Command{
		{Name: "if", Group: GroupSupport, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "EXPRESSION", Short: "run the lines up to `else` or `end` if an expression is true", Repeat: RepeatNone, Run: c.does(runIf),
			Long: "The lines between `else` and `end` are run if it is 0 or void. Blocks may be nested.\n\nExample:\n  if $_exitcode != 0\n    echo failed\n  else\n    echo passed\n  end"},
		{Name: "while", Group: GroupSupport, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "EXPRESSION", Short: "run the lines up to `end` as long as an expression is true", Repeat: RepeatNone, Run: c.does(runWhile),
			Long: "`loop_break` leaves the loop, `loop_continue` begins its next round. Ctrl-C ends it.\n\nExample:\n  set $i = 0\n  while $i < 3\n    print table[$i++]\n  end"},
		{Name: "loop_break", Group: GroupSupport, Short: "leave the innermost while", Repeat: RepeatNone, Run: c.does(func(context.Context, *Shell, Input) error { return errLoopBreak }), Long: "Example:\n  loop_break"},
		{Name: "loop_continue", Group: GroupSupport, Short: "begin the next round of the innermost while", Repeat: RepeatNone, Run: c.does(func(context.Context, *Shell, Input) error { return errLoopContinue }), Long: "Example:\n  loop_continue"},
	}
}

func runIf(ctx context.Context, c *Shell, in Input) error {
	src, err := c.interp.block(in)
	if err != nil {
		return err
	}
	holds, err := c.host.Holds(in.Raw)
	if err != nil {
		return fmt.Errorf("if: %w", err)
	}
	n, otherwise := len(src.lines), elseLine(src.lines)
	if holds {
		return c.interp.runLines(ctx, src.part(0, otherwise))
	}
	return c.interp.runLines(ctx, src.part(min(otherwise+1, n), n))
}

func runWhile(ctx context.Context, c *Shell, in Input) error {
	src, err := c.interp.block(in)
	if err != nil {
		return err
	}
	for !c.interp.quit && !c.ending() {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		holds, err := c.host.Holds(in.Raw)
		if err != nil {
			return fmt.Errorf("while: %w", err)
		}
		if !holds {
			return nil
		}
		err = c.interp.runLines(ctx, src.part(0, len(src.lines)))
		switch {
		case errors.Is(err, errLoopBreak):
			return nil
		case err != nil && !errors.Is(err, errLoopContinue):
			return err
		}
	}
	return nil
}
