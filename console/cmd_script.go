package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

func scriptCommands() []*Command {
	return []*Command{
		{Name: "if", Group: GroupSupport, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "EXPRESSION", Short: "run the lines up to `else` or `end` where an expression is true", Repeat: RepeatNone, Run: runIf,
			Long: "The lines between `else` and `end` are run where it is 0 or void. Blocks may stand within blocks.\n\nExample:\n  if $_exitcode != 0\n    echo failed\n  else\n    echo passed\n  end"},
		{Name: "while", Group: GroupSupport, Raw: true, Args: []ArgKind{ArgExpression}, Synopsis: "EXPRESSION", Short: "run the lines up to `end` as long as an expression is true", Repeat: RepeatNone, Run: runWhile,
			Long: "`loop_break` leaves the loop, `loop_continue` goes on with its next round. Ctrl-C ends it.\n\nExample:\n  set $i = 0\n  while $i < 3\n    print table[$i++]\n  end"},
		{Name: "loop_break", Group: GroupSupport, Short: "leave the innermost while", Repeat: RepeatNone, Run: func(context.Context, *Console, Input) error { return errLoopBreak }, Long: "Example:\n  loop_break"},
		{Name: "loop_continue", Group: GroupSupport, Short: "go on with the next round of the innermost while", Repeat: RepeatNone, Run: func(context.Context, *Console, Input) error { return errLoopContinue }, Long: "Example:\n  loop_continue"},
	}
}

// Errors by which the lines of a loop end.
var (
	errLoopBreak    = errors.New("loop_break: there is no while around it")
	errLoopContinue = errors.New("loop_continue: there is no while around it")
)

// block reads the lines of an if or while: also where its expression is missing, as they
// are no commands of now.
func (r *interpreter) block(in Input) (*scriptSource, error) {
	src := &scriptSource{block: true}
	if n := len(r.sources); n > 0 {
		if around, ok := r.sources[n-1].(*scriptSource); ok {
			src.name, src.first = around.name, around.first+around.at
		}
	}
	lines, err := r.readBlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	src.lines = lines
	if strings.TrimSpace(in.Raw) == "" {
		return nil, fmt.Errorf("%s: an expression must follow", in.Name)
	}
	return src, nil
}

// part is the lines of a block from one to another.
func (s *scriptSource) part(from, to int) *scriptSource {
	return &scriptSource{name: s.name, first: s.first + from, lines: s.lines[from:to], block: s.block}
}

// elseLine is the index of a block's own else, or the number of its lines.
func elseLine(lines []string) int {
	b := block{open: 1}
	for i, l := range lines {
		if l == "else" && b.open == 1 {
			return i
		}
		b.step(l)
	}
	return len(lines)
}

func runIf(ctx context.Context, c *Console, in Input) error {
	src, err := c.interp.block(in)
	if err != nil {
		return err
	}
	holds, err := c.s.Values.Holds(in.Raw)
	if err != nil {
		return fmt.Errorf("if: %w", err)
	}
	n, otherwise := len(src.lines), elseLine(src.lines)
	if holds {
		return c.interp.runLines(ctx, src.part(0, otherwise))
	}
	return c.interp.runLines(ctx, src.part(min(otherwise+1, n), n))
}

func runWhile(ctx context.Context, c *Console, in Input) error {
	src, err := c.interp.block(in)
	if err != nil {
		return err
	}
	for !c.interp.quit && !c.ending() {
		if ctx.Err() != nil {
			return errInterrupted
		}
		holds, err := c.s.Values.Holds(in.Raw)
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
