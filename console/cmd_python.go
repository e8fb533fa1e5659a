package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/python"
)

func pythonCommands() []*Command {
	return []*Command{
		{Name: "py", Group: GroupStack, Short: "what a program does in Python", Needs: NeedMemory,
			Sub: []*Command{
				{Name: "bt", Aliases: []string{"backtrace", "where"}, Synopsis: "[N | -N]", Short: "show the functions of Python that the selected thread is in", Needs: NeedMemory, Repeat: RepeatNone, Run: runPythonBacktrace,
					Long: "N shows the innermost N, -N the outermost. They are read from the interpreter's memory, of CPython 3.8 to 3.13: nothing runs in the process, and no debug information is needed. `thread apply all py bt` shows those of all threads.\n\nExamples:\n  py bt\n  py bt 5\n  thread apply all -s py bt"},
				{Name: "locals", Synopsis: "[N]", Short: "show the variables of a function of Python", Needs: NeedMemory, Repeat: RepeatNone, Run: runPythonLocals,
					Long: "N is the number of its frame in py bt, 0 without. Values are read from memory: no __repr__ runs; objects are shown by their attributes.\n\nExample:\n  py locals 2"},
			}},
	}
}

// pythonFrameView is a frame of Python in JSON.
type pythonFrameView struct {
	Num      int    `json:"frame"`
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
}

func runPythonBacktrace(_ context.Context, c *Console, in Input) error {
	n := 0
	switch {
	case len(in.Args) > 1:
		return errors.New("py bt: one number is taken")
	case len(in.Args) == 1:
		var err error
		if n, err = strconv.Atoi(in.Args[0]); err != nil || n == 0 {
			return fmt.Errorf("py bt: %q: a number of frames expected", in.Args[0])
		}
	}
	s, err := c.s.Python.Stack()
	if err != nil {
		return fmt.Errorf("py bt: %w", err)
	}
	from, to := 0, len(s.Frames)
	switch {
	case n > 0:
		to = min(n, to)
	case n < 0:
		from = max(0, to+n)
	}
	views := []pythonFrameView{}
	for i, f := range s.Frames[from:to] {
		views = append(views, pythonFrameView{from + i, f.Code.Qualname, f.Code.File, f.Line})
	}
	c.show(in, struct {
		Frames    []pythonFrameView `json:"frames"`
		Total     int               `json:"total"`
		Truncated string            `json:"truncated,omitempty"`
	}{views, len(s.Frames), s.Truncated}, func(o *screen.Output) {
		printFrames(o, s.Named()[from:to])
		if more := len(s.Frames) - (to - from); more > 0 {
			o.Line(screen.Guess("(" + units.Count(more, "more frame") + ")"))
		}
		if s.Truncated != "" {
			o.Line(screen.Guess("(there may be more: " + s.Truncated + ")"))
		}
	})
	return nil
}

func runPythonLocals(_ context.Context, c *Console, in Input) error {
	n := 0
	switch {
	case len(in.Args) > 1:
		return errors.New("py locals: the number of one frame is taken")
	case len(in.Args) == 1:
		var err error
		if n, err = strconv.Atoi(in.Args[0]); err != nil || n < 0 {
			return fmt.Errorf("py locals: %q: the number of a frame in py bt expected", in.Args[0])
		}
	}
	f, vars, err := c.s.Python.Locals(n, python.DefaultLimits)
	if err != nil {
		return fmt.Errorf("py locals: %w", err)
	}
	views := []valueView{}
	for _, v := range vars {
		views = append(views, valueView{Name: v.Name, Value: v.Value})
	}
	c.show(in, struct {
		Function string      `json:"function"`
		Locals   []valueView `json:"locals"`
	}{f.Code.Qualname, views}, func(o *screen.Output) {
		for _, v := range vars {
			o.Text(v.Name + " = " + v.Value + "\n")
		}
		if len(vars) == 0 {
			o.Line(screen.Plain("no locals"))
		}
	})
	return nil
}
