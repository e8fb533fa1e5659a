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
			Long: "FILE is the end of a path, MODULE the dotted name of a module, LINE a line of the file that the selected function is in. A line without code is the next one that has some. A place that no code has yet stays pending: the code of a module is looked through when it is about to run. The stop has a number: `info breakpoints`, `delete`, `disable`, `condition`, `ignore` and `commands` take it.\n\n" +
				"The bytecode is not changed and nothing runs in the process: each place takes one of the four debug registers of the processor, which tells when the interpreter comes to it. Until then the program runs at its own speed; a line at which a loop goes on has two places. Where fewer registers are free, or the machine has none that stop threads (`hdb doctor`), traps at the jumps of the interpreter's loop take their place: then each instruction of Python costs some 25 µs. A pass costs some 0.2 ms, and so does one where CONDITION does not hold, which hdb decides.\n\n" +
				"Examples:\n  py break app.py:40\n  py break app.store:12 if len(self.parts) > 3\n  py break Store.grow"},
		{Name: "tbreak", Aliases: []string{"tb"}, Raw: true, Synopsis: "FILE:LINE | FUNCTION ... [if CONDITION]", Short: "py break that is deleted by its first hit", Repeat: shell.RepeatNone, Run: c.Does(pythonBreaker(true)), Long: "Example:\n  py tbreak app.py:40"},
		{Name: "next", Aliases: []string{"n"}, Raw: true, Synopsis: "[N]", Short: "run to the next line of the function of Python", Needs: shell.NeedLive, Run: c.Does(pythonStepper((*pystops.Steps).Next)),
			Long: "N times. What the line calls runs at its own speed; at the end of the function, the next line of the one that called it. A coroutine or generator that is suspended is waited for. Each instruction of the function itself is a stop of some 30 µs, by a debug register; another one tells of the function's end. Without free ones each instruction of Python, of whatever the line calls too, costs some 25 µs.\n\nExamples:\n  py next\n  py next 3"},
		{Name: "step", Aliases: []string{"s"}, Raw: true, Synopsis: "[N]", Short: "run to the next line of Python, also of a function that is called", Needs: shell.NeedLive, Run: c.Does(pythonStepper((*pystops.Steps).Step)),
			Long: "N times. It takes two debug registers, three with 3.11 and 3.12.\n\nExample:\n  py step"},
		{Name: "finish", Synopsis: "", Short: "run to the end of the selected function of Python", Needs: shell.NeedLive, Run: c.Does(runPythonFinish), Long: "A coroutine ends when it returns, not where it awaits.\n\nExample:\n  py finish"},
		{Name: "until", Raw: true, Synopsis: "[LINE]", Short: "run to a line behind this one, or from LINE on, of the function of Python", Needs: shell.NeedLive, Run: c.Does(runPythonUntil),
			Long: "It goes on through the rounds of a loop, each instruction of which is a stop of some 30 µs: `py tbreak LINE` and `continue` have none. The end of the function stops, too.\n\nExamples:\n  py until\n  py until 40"},
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
