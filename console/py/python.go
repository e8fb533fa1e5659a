package py

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/allocs"
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/python"
	"hdb/python/inspect"
	"hdb/session/cpython"
)

func pythonCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "py", Group: shell.GroupStack, Short: "show what a program is doing in Python", Needs: shell.NeedData,
			Sub: slices.Concat(pythonStopCommands(c), []*shell.Command{
				{Name: "bt", Aliases: []string{"backtrace", "where"}, Synopsis: "[N | -N]", Short: "show the Python stack of the selected thread", Needs: shell.NeedData, Repeat: shell.RepeatNone, Run: c.Does(runPythonBacktrace),
					Long: "N shows the innermost N functions, -N the outermost. They are read from the memory of the interpreter, CPython 3.8 to 3.13: nothing runs in the process, and no debug information is needed. `thread apply all py bt` shows all threads. In a capture, and after goto, it shows the functions recorded with the selected event.\n\nExamples:\n  py bt\n  py bt 5\n  thread apply all -s py bt"},
				{Name: "tasks", Short: "list asyncio tasks and where they wait", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonTasks),
					Long: "It lists the unfinished tasks of the selected thread's interpreter, each with its coroutines, innermost (the waiting one) first.\n\nExample:\n  py tasks"},
				{Name: "frame", Synopsis: "[N]", Short: "show the selected Python function, or select one", Needs: shell.NeedData, Repeat: shell.RepeatNone, Run: c.Does(runPythonFrame),
					Long: "N is its number in py bt. `frame N` also selects a Python function that bt shows.\n\nExample:\n  py frame 2"},
				{Name: "up", Synopsis: "[N]", Short: "select the Python function that called this one", Needs: shell.NeedData, Run: c.Does(pythonMover(1)), Long: "Example:\n  py up"},
				{Name: "down", Synopsis: "[N]", Short: "select the Python function called by this one", Needs: shell.NeedData, Run: c.Does(pythonMover(-1)), Long: "Example:\n  py down 2"},
				{Name: "list", Raw: true, Synopsis: "[LINES | FUNCTION | CLASS.METHOD]", Short: "show the source of the selected Python function, or of another one", Needs: shell.NeedData, Run: c.Does(runPythonList),
					Long: "LINES are as in list: a function is shown with the lines around its first one, and the next py list continues behind the lines shown. A function is searched for among those that exist in the process's memory. hdb looks for files where the process would: relative names in its working directory and along sys.path. A capture shows the lines that were saved in it.\n\nExamples:\n  py list\n  py list 10,20\n  py list Store.grow"},
				{Name: "locals", Synopsis: "[N]", Short: "show the variables of a Python function", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonLocals),
					Long: "N is the number of its frame in py bt, by default the selected one. Values are read from memory: no __repr__ runs; objects are shown by their attributes.\n\nExample:\n  py locals 2"},
				{Name: "print", Aliases: []string{"p"}, Raw: true, Synopsis: "EXPR", Short: "show a value of the selected Python function", Needs: shell.NeedObjects, Repeat: shell.RepeatSame, Run: c.Does(runPythonPrint),
					Long: "EXPR is a local, closure, global or built-in name, followed by .NAME, [KEY] or [FROM:TO] with numbers and strings; or len(EXPR). Nothing runs in the process: properties and other code are refused. `set print elements` bounds how much of a container is shown.\n\nExamples:\n  py print self.cache['key'].rows[0]\n  py print len(queue)\n  py print data[100:120]"},
			}, pythonObjectCommands(c), allocs.PymallocCommands(c))},
	}
}

func runPythonBacktrace(_ context.Context, c *desk.Desk, in shell.Input) error {
	n := 0
	switch {
	case len(in.Args) > 1:
		return errors.New("py bt: one number expected")
	case len(in.Args) == 1:
		var err error
		if n, err = strconv.Atoi(in.Args[0]); err != nil || n == 0 {
			return fmt.Errorf("py bt: %q: a number of frames expected", in.Args[0])
		}
	}
	s, err := c.Session.Python.Calls()
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
	shown := s.Frames[from:to]
	views := []desk.PythonFrameView{}
	for _, f := range shown {
		v := desk.ViewPythonFrame(f)
		v.Selected = f.Nth == s.Selected
		views = append(views, v)
	}
	type awaiterView struct {
		Task   string                 `json:"task"`
		Of     string                 `json:"awaited_task"`
		Frames []desk.PythonFrameView `json:"frames"`
	}
	var by []awaiterView
	for _, a := range s.AwaitedBy {
		by = append(by, awaiterView{a.Name, a.Of, viewPythonFrames(a.Frames)})
	}
	c.Show(in, struct {
		Event     uint64                 `json:"event,omitempty"` // of a recording
		Thread    int                    `json:"thread,omitempty"`
		TID       int                    `json:"tid,omitempty"`
		Frames    []desk.PythonFrameView `json:"frames"`
		Total     int                    `json:"total"`
		Truncated string                 `json:"truncated,omitempty"`
		Task      string                 `json:"task,omitempty"` // of asyncio, that the thread runs
		AwaitedBy []awaiterView          `json:"awaited_by,omitempty"`
		Tasks     int                    `json:"task_count,omitempty"` // of an event loop that waits
	}{s.Event, s.Thread.Num, s.Thread.TID, views, len(s.Frames), s.Truncated, s.Task, by, s.Waiting}, func(o *screen.Output) {
		desk.PrintStack(o, shown, nil, s.Selected)
		if more := len(s.Frames) - (to - from); more > 0 {
			o.Line(screen.Guess("(" + units.Count(more, "more frame") + ")"))
		}
		if s.Several {
			o.Line(screen.Guess("(" + interpretersOf(s.Frames) + ")"))
		}
		if s.Truncated != "" {
			o.Line(screen.Guess("(there may be more: " + s.Truncated + ")"))
		}
		switch {
		case len(s.AwaitedBy) > 0:
			for _, a := range s.AwaitedBy {
				o.Printf("task %s is awaited by task %s:\n", a.Of, a.Name)
				desk.PrintFrames(o, a.Frames)
			}
		case s.Task != "":
			o.Line(screen.Guess("(in task " + s.Task + ", which no task awaits)"))
		case s.Waiting > 0:
			o.Line(screen.Guess("(the event loop waits, and so do " + units.Count(s.Waiting, "task") + ": py tasks)"))
		}
	})
	return nil
}

// interpretersOf says which frames are those of which interpreter's file.
func interpretersOf(frames []names.Frame) string {
	var parts []string
	for i := 0; i < len(frames); {
		end := i
		for end+1 < len(frames) && frames[end+1].Module == frames[i].Module {
			end++
		}
		what := fmt.Sprintf("frames %d to %d", i, end)
		if i == end {
			what = fmt.Sprintf("frame %d", i)
		}
		parts = append(parts, what+" of "+frames[i].Module)
		i = end + 1
	}
	return strings.Join(parts, ", ")
}

func viewPythonFrames(frames []names.Frame) (views []desk.PythonFrameView) {
	for _, f := range frames {
		views = append(views, desk.ViewPythonFrame(f))
	}
	return views
}

func runPythonTasks(_ context.Context, c *desk.Desk, in shell.Input) error {
	tasks, err := c.Session.Python.Tasks()
	if err != nil {
		return fmt.Errorf("py tasks: %w", err)
	}
	views := []pythonTaskView{}
	for _, t := range tasks {
		views = append(views, viewPythonTask(t))
	}
	c.Show(in, struct {
		Tasks []pythonTaskView `json:"tasks"`
	}{views}, func(o *screen.Output) {
		for i, v := range views {
			printTask(o, v, tasks[i])
		}
		if len(views) == 0 {
			o.Line(screen.Plain("no tasks of asyncio"))
		}
	})
	return nil
}

type pythonTaskView struct {
	Name      string                 `json:"task"`
	Running   bool                   `json:"running,omitempty"`
	Thread    bool                   `json:"selected_thread,omitempty"` // which runs it
	Waits     string                 `json:"waits_for,omitempty"`
	AwaitedBy []string               `json:"awaited_by,omitempty"`
	Frames    []desk.PythonFrameView `json:"frames"`
}

func viewPythonTask(t cpython.Task) pythonTaskView {
	v := pythonTaskView{t.Name, t.Running, t.Thread, t.Waits, nil, viewPythonFrames(t.Named())}
	for _, w := range t.Waiters {
		v.AwaitedBy = append(v.AwaitedBy, w.Name)
	}
	return v
}

func printTask(o *screen.Output, v pythonTaskView, t cpython.Task) {
	text := ""
	switch {
	case v.Thread:
		text = "  runs in the selected thread"
	case v.Running:
		text = "  runs in another thread"
	case v.Waits != "":
		text = "  waits for " + v.Waits
	}
	if len(v.AwaitedBy) > 0 {
		text += "  awaited by " + strings.Join(v.AwaitedBy, ", ")
	}
	o.Line(screen.Plain("task "+v.Name), screen.Guess(text))
	desk.PrintFrames(o, t.Named())
}

// pythonNumber is the number of a frame behind a command, -1 without.
func pythonNumber(in shell.Input) (int, error) {
	switch {
	case len(in.Args) > 1:
		return 0, fmt.Errorf("%s: one frame's number expected", in.Name)
	case len(in.Args) == 0:
		return -1, nil
	}
	n, err := strconv.Atoi(in.Args[0])
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q: the number of a frame in py bt expected", in.Name, in.Args[0])
	}
	return n, nil
}

func runPythonFrame(_ context.Context, c *desk.Desk, in shell.Input) error {
	n, err := pythonNumber(in)
	if err != nil {
		return err
	}
	var f names.Frame
	if n < 0 {
		f, err = c.Session.Python.Frame()
	} else {
		f, err = c.Session.Python.Select(n)
	}
	return showPythonFrame(c, in, f, err)
}

func pythonMover(sign int) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		f, err := c.Session.Python.Move(sign * n)
		return showPythonFrame(c, in, f, err)
	}
}

// showPythonFrame shows a function of Python that was selected, with its source.
func showPythonFrame(c *desk.Desk, in shell.Input, f names.Frame, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	c.Source.Listing = desk.Listing{}
	c.Show(in, desk.ViewPythonFrame(f), func(o *screen.Output) {
		desk.PrintFrames(o, []names.Frame{f})
		c.Source.Show(o, f, c.Set.Count("stop-lines"))
	})
	return nil
}

func runPythonList(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if t, err := python.ParseTarget(in.Raw, ""); err == nil && t.Function != "" {
		return listPythonFunction(ctx, c, in)
	}
	if l := c.Source.Listing; l.Language != desk.PythonLanguage || l.Last == 0 { // else it continues what was listed
		f, err := c.Session.Python.Frame()
		if err != nil {
			return fmt.Errorf("py list: %w", err)
		}
		if !c.Session.Python.Selected() || l.Language != desk.PythonLanguage {
			if _, err := c.Session.Python.Select(f.Nth); err != nil {
				return fmt.Errorf("py list: %w", err)
			}
			c.Source.Listing = desk.Listing{}
		}
	}
	return listPython(ctx, c, in)
}

// listPython lists lines of a source of Python, where the next py list continues.
func listPython(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if err := data.RunList(ctx, c, in); err != nil {
		return fmt.Errorf("py list: %w", err)
	}
	c.Source.Listing.Language = desk.PythonLanguage
	return nil
}

// listPythonFunction lists where a function of Python begins.
func listPythonFunction(ctx context.Context, c *desk.Desk, in shell.Input) error {
	file, line, others, err := c.Session.Python.Definition(in.Raw)
	if err == nil {
		err = c.Session.Python.Find(file)
	}
	if err != nil {
		return fmt.Errorf("py list: %w", err)
	}
	if others > 0 {
		c.Err.Line(screen.Guess(fmt.Sprintf("(%s more of that name; FILE:FUNCTION names one)", units.Count(others, "function"))))
	}
	in.Raw = fmt.Sprintf("%s:%d", file, line)
	return listPython(ctx, c, in)
}

func runPythonLocals(_ context.Context, c *desk.Desk, in shell.Input) error {
	n, err := pythonNumber(in)
	if err != nil {
		return err
	}
	f, vars, more, err := c.Session.Python.Locals(n, inspect.DefaultLimits)
	if err != nil {
		return fmt.Errorf("py locals: %w", err)
	}
	views := []desk.ValueView{}
	for _, v := range vars {
		views = append(views, desk.ValueView{Name: v.Name, Value: v.Value})
	}
	c.Show(in, struct {
		Function string           `json:"function"`
		Locals   []desk.ValueView `json:"locals"`
		More     int              `json:"more,omitempty"`
	}{f.Code.Qualname, views, more}, func(o *screen.Output) {
		for _, v := range vars {
			o.Text(v.Name + " = " + v.Value + "\n")
		}
		if more > 0 {
			o.Line(screen.Guess("(" + units.Count(more, "more variable") + ": py print NAME)"))
		}
		if len(vars) == 0 {
			o.Line(screen.Plain("no locals"))
		}
	})
	return nil
}

// maxPythonElements bounds what set print elements asks for: 0 of it is all.
const maxPythonElements = 10000

func runPythonPrint(_ context.Context, c *desk.Desk, in shell.Input) error {
	expr := strings.TrimSpace(in.Raw)
	if expr == "" {
		return errors.New("py print: an expression must follow, as self.rows[0]")
	}
	l := inspect.Limits{Elements: c.Set.Count("print elements"), Depth: 4}
	if l.Elements == 0 || l.Elements > maxPythonElements {
		l.Elements = maxPythonElements
	}
	text, err := c.Session.Python.Eval(expr, l)
	if err != nil {
		return fmt.Errorf("py print: %w", err)
	}
	c.Show(in, desk.ValueView{Name: expr, Value: text}, func(o *screen.Output) { o.Text(text + "\n") })
	return nil
}

// PythonFrames are the values of set python-frames.
var PythonFrames = map[string]names.PythonFrames{"merged": names.PythonMerged, "native": names.PythonNative, "both": names.PythonBoth}
