package py

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/console/stops"
	"hdb/internal/units"
	"hdb/python/inspect"
	"hdb/session/cpython"
	"hdb/session/stepping"
	"hdb/session/stopped"
)

func cythonCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "cy", Group: shell.GroupStack, Short: "debug Cython extensions by their source", Needs: shell.NeedProgram,
			Sub: []*shell.Command{
				{Name: "bt", Aliases: []string{"backtrace", "where"}, Synopsis: "[-a] [N | -N]", Short: "show the Cython and Python stack of the selected thread", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runCythonBacktrace),
					Long: "A C function is shown if Cython code called it by name and the output of `cython --gdb` lists it. -a shows all frames except the interpreter's, as bt does; N shows the innermost, -N the outermost.\n\nExamples:\n  cy bt\n  cy bt -a"},
				{Name: "break", Aliases: []string{"b"}, Raw: true, Synopsis: "FUNCTION | MODULE:LINE [if CONDITION]", Short: "set breakpoints on functions or lines of Cython source", Needs: shell.NeedProgram, Repeat: shell.RepeatNone, Run: c.Does(runCythonBreak),
					Long: "FUNCTION is module.class.function or its last parts; all matching functions get a breakpoint, at the first statement, in a generator too. In a module that is not loaded yet, the breakpoint stays pending. `break` takes module.function and FILE.pyx:LINE, too.\n\nExamples:\n  cy break shop.Stock.grow\n  cy break grow if by > 100\n  cy break shop:34"},
				{Name: "step", Aliases: []string{"s"}, Synopsis: "[N]", Short: "run to the next line of Cython source, into functions", Needs: shell.NeedLive, Resumes: true, Run: c.Does(cythonStepper((*stepping.CythonSteps).Step)),
					Long: "If a call goes through Python rather than directly to a C function, the step ends in the next Cython function that is entered. If a function returns to Python, the step ends in the interpreter.\n\nExample:\n  cy step"},
				{Name: "next", Aliases: []string{"n"}, Synopsis: "[N]", Short: "run to the next line of Cython source, over calls", Needs: shell.NeedLive, Resumes: true, Run: c.Does(cythonStepper((*stepping.CythonSteps).Next)), Long: "Example:\n  cy next 3"},
				{Name: "finish", Short: "run until the selected function returns to Cython or Python code", Needs: shell.NeedLive, Resumes: true, Run: c.Does(runCythonFinish), Long: "It shows the returned value, an object as in py print.\n\nExample:\n  cy finish"},
				{Name: "up", Synopsis: "[N]", Short: "select the Cython or Python function that called this one", Needs: shell.NeedMemory, Run: c.Does(cythonMover(1)), Long: "Example:\n  cy up"},
				{Name: "down", Synopsis: "[N]", Short: "select the Cython or Python function called by this one", Needs: shell.NeedMemory, Run: c.Does(cythonMover(-1)), Long: "Example:\n  cy down"},
				{Name: "list", Raw: true, Synopsis: "[LINES]", Short: "show the source of the selected Cython function", Needs: shell.NeedMemory, Run: c.Does(runCythonList),
					Long: "LINES are as in list.\n\nExamples:\n  cy list\n  cy list 10,20"},
				{Name: "locals", Short: "show the variables of the selected Cython function", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runCythonLocals),
					Long: "C variables are read using debug information; objects are shown as in py locals, with the C attributes of their classes. Variables shared with enclosing functions are included. With the output of `cython --gdb`, a C variable whose declaration has not run yet is marked as possibly without a value.\n\nExample:\n  cy locals"},
				{Name: "globals", Short: "show the module variables of the selected Cython function", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runCythonGlobals), Long: "Example:\n  cy globals"},
				{Name: "print", Aliases: []string{"p"}, Raw: true, Synopsis: "EXPR", Short: "show a value of the selected Cython function", Needs: shell.NeedMemory, Repeat: shell.RepeatSame, Run: c.Does(runCythonPrint),
					Long: "EXPR begins with a local, module or built-in name. C attributes of a cdef class are read directly; other attributes, elements and len() as in py print. Other C expressions on names of the source are evaluated too: `total * 2`. Nothing runs in the process.\n\nExamples:\n  cy print self.count\n  cy print stocks[0]\n  cy print by + 1"},
			}},
	}
}

func cythonOptions(c *desk.Desk) (o cpython.CythonOptions, err error) {
	if o.C, err = c.ArgumentOptions(); err != nil {
		return o, err
	}
	o.Object = inspect.DefaultLimits
	if n := c.Set.Count("print elements"); n > 0 && n < maxPythonElements {
		o.Object.Elements = n
	} else {
		o.Object.Elements = maxPythonElements
	}
	return o, nil
}

func runCythonBacktrace(ctx context.Context, c *desk.Desk, in shell.Input) error {
	n, all := 0, false
	for _, word := range in.Args {
		number, err := strconv.Atoi(word)
		switch {
		case word == "-a":
			all = true
		case err != nil || number == 0 || n != 0:
			return fmt.Errorf("cy bt: %q: -a or a number of frames expected", word)
		default:
			n = number
		}
	}
	frames, truncated, why, err := c.Session.Cython.Stack()
	if err != nil {
		return fmt.Errorf("cy bt: %w", err)
	}
	if all {
		st, err := c.Session.Selection.Stack(0)
		if err != nil {
			return err
		}
		frames, why = c.Session.Python.Merged(st.Frames, cpython.MergeHiding)
	}
	from, to := 0, len(frames)
	switch {
	case n > 0:
		to = min(n, to)
	case n < 0:
		from = max(0, to+n)
	}
	total := len(frames)
	frames = frames[from:to]
	selected := -1
	if f, err := c.Session.Selection.Frame(); err == nil {
		selected = data.SelectedIn(c, frames, f.Num)
	}
	args := desk.ArgumentsOf(c, frames)
	views := []desk.FrameView{}
	for _, f := range frames {
		v := desk.ViewFrame(f)
		v.Selected = desk.IsSelected(f, selected)
		v.Args = args.View(f.Num)
		views = append(views, v)
	}
	c.Show(in, struct {
		Frames    []desk.FrameView `json:"frames"`
		Total     int              `json:"total"`
		Truncated string           `json:"truncated,omitempty"`
		Unmerged  string           `json:"unmerged,omitempty"`
		Problems  []string         `json:"problems,omitempty"`
	}{views, total, truncated, why, c.Session.Names().Cython.Problems()}, func(o *screen.Output) {
		desk.PrintStack(o, frames, args, selected)
		if more := total - len(frames); more > 0 {
			o.Line(screen.Guess("(" + units.Count(more, "more frame") + ")"))
		}
		if len(frames) == 0 {
			o.Line(screen.Plain("no function of Cython or Python"))
		}
		if why != "" {
			o.Line(screen.Guess("(without Python functions: " + why + ")"))
		}
		for _, p := range c.Session.Names().Cython.Problems() {
			o.Line(screen.Guess("(" + p + ")"))
		}
	})
	return nil
}

func runCythonBreak(ctx context.Context, c *desk.Desk, in shell.Input) error {
	location, condition := shell.SplitWord(in.Raw)
	switch {
	case location == "":
		return errors.New("cy break: module.function or MODULE:LINE must follow")
	case location == "-p":
		return errors.New("cy break: not a Cython function: for Python functions use py break")
	}
	all, err := c.Session.Cython.Location(location)
	if err != nil {
		return fmt.Errorf("cy break: %w", err)
	}
	for _, at := range all {
		one := in
		one.Raw = strings.TrimSpace(at + " " + condition)
		if err := stops.Breaker(false, false)(ctx, c, one); err != nil {
			return fmt.Errorf("cy break: %w", err)
		}
	}
	return nil
}

func cythonStepper(verb func(*stepping.CythonSteps, int) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		r, err := verb(c.Session.CythonStepping, n)
		if err != nil {
			err = fmt.Errorf("%s: %w", in.Name, err)
		}
		return desk.Reported(c, in)(r, err)
	}
}

func runCythonFinish(_ context.Context, c *desk.Desk, in shell.Input) error {
	o, err := cythonOptions(c)
	if err != nil {
		return err
	}
	r, err := c.Session.CythonStepping.Finish(o.Object)
	if err != nil {
		err = fmt.Errorf("cy finish: %w", err)
	}
	return desk.Reported(c, in)(r, err)
}

func cythonMover(sign int) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		f, err := c.Session.Cython.Up(sign * n)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		c.Source.Listing = desk.Listing{}
		data.ShowFrame(c, in, f)
		return nil
	}
}

func runCythonList(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if err := data.RunList(ctx, c, in); err != nil {
		return fmt.Errorf("cy list: %w", err)
	}
	return nil
}

func runCythonLocals(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if c.Session.Python.Selected() {
		return runPythonLocals(ctx, c, in)
	}
	o, err := cythonOptions(c)
	if err != nil {
		return err
	}
	f, vars, err := c.Session.Cython.Locals(o)
	if err != nil {
		return fmt.Errorf("cy locals: %w", err)
	}
	type view struct {
		desk.ValueView
		Early bool `json:"early,omitempty"` // it may have no value yet
	}
	views := []view{}
	for _, v := range vars {
		views = append(views, view{desk.ValueView{Name: v.Name, Type: v.Type, Value: v.Value}, v.Early})
	}
	c.Show(in, struct {
		Function string `json:"function"`
		Locals   []view `json:"locals"`
	}{f.Function, views}, func(o *screen.Output) {
		for _, v := range vars {
			if text := v.Name + " = " + v.Value; v.Early {
				o.Line(screen.Plain(text), screen.Guess("   (its line has not run yet: it may have no value)"))
			} else {
				o.Text(text + "\n")
			}
		}
		if len(vars) == 0 {
			o.Line(screen.Plain("no locals"))
		}
	})
	return nil
}

func runCythonGlobals(_ context.Context, c *desk.Desk, in shell.Input) error {
	o, err := cythonOptions(c)
	if err != nil {
		return err
	}
	module, objects, own, err := c.Session.Cython.Globals(o)
	if err != nil {
		return fmt.Errorf("cy globals: %w", err)
	}
	ofPython, ofC := []desk.ValueView{}, []desk.ValueView{}
	for _, v := range objects {
		ofPython = append(ofPython, desk.ValueView{Name: v.Name, Value: v.Value})
	}
	for _, v := range own {
		ofC = append(ofC, desk.ValueView{Name: v.Name, Type: v.Type, Value: v.Value})
	}
	c.Show(in, struct {
		Module  string           `json:"module"`
		Objects []desk.ValueView `json:"objects"`
		C       []desk.ValueView `json:"c_variables"`
	}{module, ofPython, ofC}, func(o *screen.Output) {
		o.Line(screen.Plain("of module " + module + ":"))
		for _, v := range ofPython {
			o.Text("  " + v.Name + " = " + v.Value + "\n")
		}
		if len(ofC) > 0 {
			o.Line(screen.Plain("of its C:"))
		}
		for _, v := range ofC {
			o.Text("  " + v.Name + " = " + v.Value + "\n")
		}
	})
	return nil
}

func runCythonPrint(ctx context.Context, c *desk.Desk, in shell.Input) error {
	expr := strings.TrimSpace(in.Raw)
	if expr == "" {
		return errors.New("cy print: an expression must follow, as self.count")
	}
	if c.Session.Python.Selected() {
		return runPythonPrint(ctx, c, in)
	}
	o, err := cythonOptions(c)
	if err != nil {
		return err
	}
	v, err := c.Session.Cython.Print(expr, o)
	if err != nil {
		return fmt.Errorf("cy print: %w", err)
	}
	c.Show(in, desk.ValueView{Name: v.Name, Type: v.Type, Value: v.Value}, func(o *screen.Output) { o.Text(v.Value + "\n") })
	return nil
}
