package py

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/console/stops"
	"hdb/session/pystops"
	"hdb/session/stopped"
)

func pythonStopCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "break", Aliases: []string{"b"}, Raw: true, Synopsis: "FILE:LINE | MODULE:LINE | LINE | FUNCTION | CLASS.METHOD [thread N] [if CONDITION]", Short: "stop at a line or function of Python", Repeat: shell.RepeatNone, Run: c.Does(pythonBreaker(false)),
			Long: "FILE is the end of a path, MODULE the dotted name of a module, LINE a line of the selected function's file. A line without code means the next line with code. If no loaded code contains the place, the stop stays pending: hdb searches a module's code when the module is about to run. The stop has a number, which `info breakpoints`, `delete`, `disable`, `condition`, `ignore` and `commands` take.\n\n" +
				"The bytecode is not changed and nothing runs in the process: each place takes one of the processor's four debug registers, which stops the interpreter when it gets there. Until then the program runs at full speed; the head of a loop has two places, so it takes two registers. If too few registers are free, or the machine has none that stop threads (`hdb doctor`), hdb uses traps at the jumps of the interpreter's loop instead: each Python instruction then costs some 25 µs. Each arrival at the place costs some 0.2 ms, even if CONDITION does not hold, because hdb evaluates it.\n\n" +
				"Examples:\n  py break app.py:40\n  py break app.store:12 if len(self.parts) > 3\n  py break Store.grow"},
		{Name: "tbreak", Aliases: []string{"tb"}, Raw: true, Synopsis: "FILE:LINE | FUNCTION ... [if CONDITION]", Short: "set a stop like py break, deleted at its first hit", Repeat: shell.RepeatNone, Run: c.Does(pythonBreaker(true)), Long: "Example:\n  py tbreak app.py:40"},
		{Name: "next", Aliases: []string{"n"}, Raw: true, Synopsis: "[N]", Short: "run to the next line of the Python function", Needs: shell.NeedLive, Run: c.Does(pythonStepper((*pystops.Steps).Next)),
			Long: "With N, it does this N times. Functions that the line calls run at full speed. At the end of the function it stops at the next line of the caller. If the coroutine or generator is suspended, py next waits until it resumes. It uses one debug register to stop at each instruction of the function, some 30 µs each, and another at its end. If none are free, each Python instruction costs some 25 µs, also in functions that the line calls.\n\nExamples:\n  py next\n  py next 3"},
		{Name: "step", Aliases: []string{"s"}, Raw: true, Synopsis: "[N]", Short: "run to the next Python line, into functions", Needs: shell.NeedLive, Run: c.Does(pythonStepper((*pystops.Steps).Step)),
			Long: "With N, it does this N times. It takes two debug registers, three with 3.11 and 3.12.\n\nExample:\n  py step"},
		{Name: "finish", Synopsis: "", Short: "run to the end of the selected Python function", Needs: shell.NeedLive, Run: c.Does(runPythonFinish), Long: "A coroutine ends when it returns, not where it awaits.\n\nExample:\n  py finish"},
		{Name: "until", Raw: true, Synopsis: "[LINE]", Short: "run to a later line of the Python function, or to the first line at or after LINE", Needs: shell.NeedLive, Run: c.Does(runPythonUntil),
			Long: "It runs all iterations of a loop, and each instruction in them costs a stop of some 30 µs; `py tbreak LINE` and `continue` avoid these stops. It also stops at the end of the function.\n\nExamples:\n  py until\n  py until 40"},
	}
}

func pythonBreaker(temporary bool) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		file := ""
		if f, err := c.Session.Python.Frame(); err == nil {
			file = f.File
		}
		st, err := c.Session.Stops.BreakPython(in.Raw, file, temporary)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		stops.TellStop(c, in, st)
		return nil
	}
}

func pythonStepper(verb func(*pystops.Steps, int) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		return desk.Reported(c, in)(verb(c.Session.PythonStepping, n))
	}
}

func runPythonFinish(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return errors.New("py finish: it takes no arguments")
	}
	return desk.Reported(c, in)(c.Session.PythonStepping.Finish())
}

func runPythonUntil(_ context.Context, c *desk.Desk, in shell.Input) error {
	line := 0
	if in.Raw != "" {
		var err error
		if line, err = strconv.Atoi(in.Raw); err != nil || line < 1 {
			return fmt.Errorf("py until: %q: a line of the function expected", in.Raw)
		}
	}
	return desk.Reported(c, in)(c.Session.PythonStepping.Until(line))
}
