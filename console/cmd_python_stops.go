package console

import (
	"context"
	"fmt"
)

func pythonStopCommands() []*Command {
	return []*Command{
		{Name: "break", Aliases: []string{"b"}, Raw: true, Synopsis: "FILE:LINE | MODULE:LINE | LINE | FUNCTION | CLASS.METHOD [thread N] [if CONDITION]", Short: "stop at a line or function of Python", Repeat: RepeatNone, Run: pythonBreaker(false),
			Long: "FILE is the end of a path, MODULE the dotted name of a module, LINE a line of the file that the selected function is in. A line without code is the next one that has some. A place that no code has yet stays pending: the code of a module is looked through when it is about to run. The stop has a number: `info breakpoints`, `delete`, `disable`, `condition`, `ignore` and `commands` take it.\n\n" +
				"The bytecode is not changed and nothing runs in the process: each place takes one of the four debug registers of the processor, which tells when the interpreter comes to it. Until then the program runs at its own speed; a line at which a loop goes on has two places. A pass costs some 0.2 ms, and so does one where CONDITION does not hold, which hdb decides.\n\n" +
				"Examples:\n  py break app.py:40\n  py break app.store:12 if len(self.parts) > 3\n  py break Store.grow"},
		{Name: "tbreak", Aliases: []string{"tb"}, Raw: true, Synopsis: "FILE:LINE | FUNCTION ... [if CONDITION]", Short: "py break that is deleted by its first hit", Repeat: RepeatNone, Run: pythonBreaker(true), Long: "Example:\n  py tbreak app.py:40"},
	}
}

func pythonBreaker(temporary bool) func(context.Context, *Console, Input) error {
	return func(_ context.Context, c *Console, in Input) error {
		file := ""
		if f, err := c.s.Python.Frame(); err == nil {
			file = f.File
		}
		st, err := c.s.Stops.BreakPython(in.Raw, file, temporary)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		tellStop(c, in, st)
		return nil
	}
}
