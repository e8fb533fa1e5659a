package data

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/session"
	"hdb/session/cpython"
	"hdb/session/view"
)

func stackCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "bt", Aliases: []string{"backtrace", "where", "stack"}, Group: shell.GroupStack, Args: []shell.ArgKind{shell.ArgEvent}, Synopsis: "[full] [N | -N]\n[full] #EVENT", Short: "show the stack", Needs: shell.NeedData, Run: c.Does(runBacktrace),
			Long: "N shows the innermost N frames, -N the outermost. -full, or full, adds each frame's local variables, its address, how it was found and its linkage name. #EVENT shows the recorded stack of an event.\n\n" +
				"[inlined] marks calls that the compiler inlined into their caller. [tail call] marks functions that ended in a jump to the one above: they are not on the stack, but deduced from DWARF call sites, and have no number. [guess] marks frames that were not found by call frame information. A module in brackets replaces missing line information. (symtab), (minidebuginfo) and (dynsym) mark functions named only by a symbol table: the file's own, the compressed one of stripped programs, or the dynamic symbols.\n\n" +
				"Functions that Go's compiler and runtime insert (method values, go and defer statements, reflection) are left out, as in Go's own tracebacks; -full and `set go-wrappers on` show them. A goroutine's stack ends with the go statement that started it.\n\n" +
				"The stack ends at the program's main function; `set backtrace past-main on` shows its callers.\n\nExamples:\n  bt\n  bt 5\n  bt -3\n  bt -full\n  bt #4711"},
		{Name: "frame", Aliases: []string{"f"}, Group: shell.GroupStack, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgWord, shell.ArgFunction}, Synopsis: "[N [COMMAND]]\nlevel N [COMMAND]\nfunction NAME\napply N|-N|all|level N... [-q] [-c|-s] COMMAND", Short: "show the selected frame, or select one", Needs: shell.NeedData, Run: c.Does(runFrame),
			Long: "COMMAND runs in that frame, and the selected frame stays the same. `function` selects the innermost frame of that function, inlined or not. `apply` runs the command in the N innermost frames (N), the N outermost (-N), all, or those with the numbers given.\n\n" + applyFlags("frame") + "\n\nExamples:\n  frame 2\n  frame 2 list\n  frame function main\n  frame apply 3 info locals\n  frame apply all -s print size"},
		{Name: "up", Group: shell.GroupStack, Synopsis: "[N]", Short: "select the frame that called this one", Needs: shell.NeedData, Run: c.Does(mover(1)), Long: "Example:\n  up 2"},
		{Name: "down", Aliases: []string{"dow"}, Group: shell.GroupStack, Synopsis: "[N]", Short: "select the frame called by this one", Needs: shell.NeedData, Run: c.Does(mover(-1)), Long: "Example:\n  down"},
		{Name: "thread", Aliases: []string{"t", "tr"}, Group: shell.GroupStack, Direct: true, Raw: true, Synopsis: "[N]\nname [NAME]\nfind REGEXP\napply N...|all [-ascending] [-q] [-c|-s] COMMAND", Short: "show the selected thread, select one, or run a command in several", Args: []shell.ArgKind{shell.ArgThread}, Needs: shell.NeedData, Run: c.Does(runThread),
			Long: applyFlags("thread") + "\n\n`thread name` names the selected thread in hdb only; the program does not see it. `thread find` lists the threads whose name or TID matches.\n\nExamples:\n  thread 3\n  thread name reader\n  thread find read\n  thread apply all bt\n  thread apply 1 4-6 bt 3"},
		{Name: "faas", Group: shell.GroupStack, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgCommand}, Synopsis: "[-q] COMMAND", Short: "run a command in all frames, ignoring errors: frame apply all -s", Needs: shell.NeedData, Repeat: shell.RepeatNone, Run: c.Does(short("frame apply all -s ")), Long: "Example:\n  faas print size"},
		{Name: "taas", Group: shell.GroupStack, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgCommand}, Synopsis: "[-q] COMMAND", Short: "run a command in all threads, ignoring errors: thread apply all -s", Needs: shell.NeedData, Repeat: shell.RepeatNone, Run: c.Does(short("thread apply all -s ")), Long: "Example:\n  taas print $rip"},
		{Name: "tfaas", Group: shell.GroupStack, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgCommand}, Synopsis: "[-q] COMMAND", Short: "run a command in all frames of all threads, ignoring errors", Needs: shell.NeedData, Repeat: shell.RepeatNone, Run: c.Does(short("thread apply all -s -- frame apply all -s ")), Long: "Example:\n  tfaas print size"},
		{Name: "threads", Group: shell.GroupStack, Short: "list the threads", Synopsis: "[N...]", Args: []shell.ArgKind{shell.ArgThread}, Needs: shell.NeedData, Run: c.Does(infoThreads), Long: "It is the same as info threads.\n\nExample:\n  threads 2-4"},
		{Name: "inferior", Aliases: []string{"inferiors"}, Group: shell.GroupStack, Synopsis: "[PID]", Short: "list the processes of the session, or switch to one held since a fork", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runInferior),
			Long: "With `set detach-on-fork off` the side of a fork that is not followed is held; inferior PID switches to it.\n\nExample:\n  inferior 4712"},
	}
}

type stackView struct {
	Event     uint64           `json:"event,omitempty"`
	Frames    []desk.FrameView `json:"frames"`
	Total     int              `json:"total"`
	Truncated string           `json:"truncated,omitempty"`
}

// btArgs is what follows bt.
type btArgs struct {
	full    bool
	n       int // > 0 innermost, < 0 outermost, 0 the limit of the settings
	isEvent bool
	event   uint64 // if isEvent
}

func parseBacktrace(args []string) (btArgs, error) {
	var b btArgs
	for _, a := range args {
		n, err := strconv.Atoi(a)
		seq, isEvent := desk.EventNumber(a)
		switch {
		case a == "-full" || a == "full":
			b.full = true
		case isEvent:
			b.isEvent, b.event = true, seq
		case err == nil && n != 0:
			b.n = n
		default:
			return b, fmt.Errorf("bt: %q: N, -N, -full or #EVENT expected", a)
		}
	}
	return b, nil
}

func runBacktrace(_ context.Context, c *desk.Desk, in shell.Input) error {
	b, err := parseBacktrace(in.Args)
	if err != nil {
		return err
	}
	var st names.Stack
	called, selected := c.Session.Selection.Called(), -1
	if b.isEvent {
		e, of, err := c.Session.Queries.EventStack(b.event)
		if err != nil {
			return err
		}
		if st, called = of, e.Function; !c.Session.Settings.PastMain {
			st = st.ToMain()
		}
	} else if st, err = c.Session.Selection.Stack(0); err != nil {
		return err
	} else if f, err := c.Session.Selection.Frame(); err == nil {
		selected = f.Num
	}
	frames, unmerged := st.Frames, ""
	if !b.isEvent {
		frames, unmerged = mergePython(c, frames)
		selected = SelectedIn(c, frames, selected)
	}
	if !b.full && !c.Set.Flag("go-wrappers") {
		frames = c.Session.Selection.WithoutGoHelpers(frames, selected)
	}
	total := len(frames)
	limit := b.n
	if limit == 0 {
		limit = c.Set.Count("backtrace limit")
	}
	switch {
	case limit > 0 && limit < len(frames):
		frames = frames[:limit]
	case limit < 0 && -limit < len(frames):
		frames = frames[len(frames)+limit:]
	}
	shown := len(frames)
	frames = withTailCalls(c.Session, frames, called)
	v := stackView{Event: b.event, Frames: desk.ViewFrames(frames), Total: total, Truncated: st.Truncated}
	var args, locals desk.FrameArgs
	if !b.isEvent {
		if args = desk.ArgumentsOf(c, frames); b.full {
			locals = desk.LocalsOf(c, frames)
		}
	}
	for i, f := range frames {
		if v.Frames[i].Selected = desk.IsSelected(f, selected); f.Tail || f.Num < 0 {
			continue
		}
		v.Frames[i].Args, v.Frames[i].Locals = args.View(f.Num), locals.View(f.Num)
	}
	c.Show(in, v, func(o *screen.Output) {
		if b.full {
			if at, in := c.Session.Selection.InProbe(); in && !b.isEvent {
				o.Line(screen.Guess(fmt.Sprintf("(the thread is at %v, in the probe's code, whose frames are left out)", at)))
			}
			PrintFull(o, frames, args, locals, selected)
		} else {
			desk.PrintStack(o, frames, args, selected)
			desk.ExplainMarks(c, o, frames)
		}
		if unmerged != "" {
			o.Line(screen.Guess("(without Python functions: " + unmerged + ")"))
		}
		if more := total - shown; more > 0 && limit > 0 {
			o.Line(screen.Guess(fmt.Sprintf("(%s; `bt -%d` shows the outermost)", units.Count(more, "more frame"), min(more, 10))))
		} else if st.Truncated != "" {
			o.Line(screen.Guess("(the stack ends early: " + st.Truncated + ")"))
		}
	})
	return nil
}

// mergePython puts the functions of Python into the selected stack, as set python-frames wants
// them.
func mergePython(c *desk.Desk, frames []names.Frame) (merged []names.Frame, why string) {
	if !c.Session.Mode().Readable() || c.Session.Recalled() {
		return frames, ""
	}
	return c.Session.Python.Merged(frames, merging(c))
}

// merging is how the functions of Python are in stacks, by set python-frames.
func merging(c *desk.Desk) cpython.Merge {
	switch c.Set.Value("python-frames") {
	case "merged":
		return cpython.MergeHiding
	case "both":
		return cpython.MergeBoth
	}
	return cpython.MergeNone
}

// SelectedIn is the number of the selected frame of a stack with functions of Python in it. One of
// these without a number has one below 0, see isSelected.
func SelectedIn(c *desk.Desk, frames []names.Frame, native int) int {
	f, ok := c.Session.Python.Here()
	if !ok || native < 0 {
		return native
	}
	for _, m := range frames {
		if m.Python() && m.Nth == f.Nth && m.Num < 0 && c.Session.Python.Selected() {
			return -2 - m.Nth
		}
	}
	return native
}

// withTailCalls adds deduced frames where frames are shown as they were found: up to the first of
// Python, behind which some are left out.
func withTailCalls(s *session.Session, frames []names.Frame, called string) []names.Frame {
	n := slices.IndexFunc(frames, func(f names.Frame) bool { return f.Python() })
	if n < 0 {
		return s.Selection.WithTailCalls(frames, called)
	}
	return append(s.Selection.WithTailCalls(frames[:n], called), frames[n:]...)
}

// PrintFull shows all that is known of each frame.
func PrintFull(o *screen.Output, frames []names.Frame, args, locals desk.FrameArgs, selected int) {
	for _, f := range frames {
		o.Line(append(append([]screen.Span{screen.Head(desk.FrameNumber(f, 2, selected))}, args.WholeName(o, f)...), screen.Plain("  "), fullPlace(f))...)
		how := fmt.Sprintf("found by %s, named by %s", f.How, f.Frame.Source)
		if f.Inlined {
			how = fmt.Sprintf("inlined, named by %s", f.Frame.Source)
		}
		if f.Tail {
			how = "deduced from call sites, named by " + f.Frame.Source.String()
		}
		o.Line(screen.Plain("     "), screen.Addr(f.Code.Addr().String()), screen.Plain(fullOffset(f)), screen.Guess("  "+how))
		if f.Linkage != "" && f.Linkage != f.Function {
			o.Line(screen.Guess("     linked as " + f.Linkage))
		}
		for _, x := range locals[f.Num] {
			o.Text("     " + x.Name + " = " + strings.ReplaceAll(x.Value, "\n", "\n     ") + "\n")
		}
	}
}

// fullOffset is how far a frame is in its function, and in which module.
func fullOffset(f names.Frame) string {
	if f.Function == "" || f.Inlined {
		return " in " + OrUnknown(f.Module)
	}
	return fmt.Sprintf(" +%#x in %s", f.Offset, OrUnknown(f.Module))
}

// OrUnknown is a text, or what represents none.
func OrUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// fullPlace is a frame's place with its whole path and column.
func fullPlace(f names.Frame) screen.Span {
	if f.File == "" || f.Line == 0 {
		return desk.FramePlace(f)
	}
	at := fmt.Sprintf("%s:%d", f.File, f.Line)
	if f.Column > 0 {
		at += fmt.Sprintf(":%d", f.Column)
	}
	return screen.File(at)
}

// ShowFrame prints the selected frame with its source.
func ShowFrame(c *desk.Desk, in shell.Input, f names.Frame) {
	args := desk.ArgumentsOf(c, []names.Frame{f})
	v := desk.ViewFrame(f)
	v.Args = args.View(f.Num)
	c.Show(in, v, func(o *screen.Output) {
		desk.PrintStack(o, []names.Frame{f}, args, -1)
		c.Source.Show(o, f, c.Set.Count("stop-lines"))
	})
}

func runFrame(ctx context.Context, c *desk.Desk, in shell.Input) error {
	old, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	word, line := shell.SplitWord(in.Raw)
	if word == "" {
		if c.Session.Python.Selected() {
			if old, err = c.Session.Python.Frame(); err != nil {
				return err
			}
		}
		ShowFrame(c, in, old)
		return nil
	}
	if strings.HasPrefix("apply", word) {
		return frameApply(ctx, c, line)
	}
	choose, line, err := chooseFrame(c, word, line)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	if line == "" {
		f, err := choose()
		if err != nil {
			return err
		}
		ShowFrame(c, in, f)
		return nil
	}
	return keepingSelection(c, func() error {
		if _, err := choose(); err != nil {
			return err
		}
		return c.Execute(ctx, line)
	})
}

// chooseFrame reads N, `level N` or `function NAME`, and returns what selects that frame
// and what is left of the line.
func chooseFrame(c *desk.Desk, word, line string) (choose func() (names.Frame, error), rest string, err error) {
	switch {
	case strings.HasPrefix("function", word):
		if line == "" {
			return nil, "", errors.New("frame function: the name of a function must follow")
		}
		return func() (names.Frame, error) { return c.Session.Selection.SelectFunction(line) }, "", nil
	case strings.HasPrefix("level", word):
		word, line = shell.SplitWord(line)
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return nil, "", fmt.Errorf("frame: %q: a frame's number or `function NAME` expected", word)
	}
	return func() (names.Frame, error) { return c.Session.Python.SelectFrame(n, merging(c)) }, line, nil
}

func mover(sign int) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		f, err := c.Session.Python.Up(sign*n, merging(c))
		if err != nil {
			return err
		}
		c.Source.Listing = desk.Listing{}
		ShowFrame(c, in, f)
		return nil
	}
}

func runThread(ctx context.Context, c *desk.Desk, in shell.Input) error {
	word, rest := shell.SplitWord(in.Raw)
	if word != "" && strings.HasPrefix("apply", word) {
		return threadApply(ctx, c, rest)
	}
	if word == "" {
		t, err := c.Session.Selection.Thread()
		if err != nil {
			return err
		}
		c.Show(in, desk.ViewThread(t), func(o *screen.Output) { o.Printf("thread %d (tid %d) %s\n", t.Num, t.TID, desk.Quoted(t.Name)) })
		return nil
	}
	switch word {
	case "name":
		return c.Session.Selection.NameThread(rest)
	case "find":
		return findThreads(c, in, rest)
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return fmt.Errorf("thread: %q: a thread's number, apply, name or find expected", word)
	}
	t, err := c.Session.Selection.SelectThread(n)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	if rest != "" { // delve: thread N COMMAND
		return c.Execute(ctx, rest)
	}
	f, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	v := desk.ViewThread(t)
	args := desk.ArgumentsOf(c, []names.Frame{f})
	fv := desk.ViewFrame(f)
	fv.Args = args.View(f.Num)
	v.Frame = &fv
	c.Show(in, v, func(o *screen.Output) {
		o.Printf("thread %d (tid %d) %s\n", t.Num, t.TID, desk.Quoted(t.Name))
		desk.PrintStack(o, []names.Frame{f}, args, -1)
		c.Source.Show(o, f, c.Set.Count("stop-lines"))
	})
	return nil
}

// findThreads is `thread find`: the threads whose name or tid matches a regular expression.
func findThreads(c *desk.Desk, in shell.Input, expr string) error {
	if expr == "" {
		return errors.New("thread find: a regular expression must follow")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return fmt.Errorf("thread find: %w", err)
	}
	rows, err := c.Session.Selection.Threads()
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(t view.ThreadInfo) bool {
		return !re.MatchString(t.Name) && !re.MatchString(strconv.Itoa(t.TID))
	})
	views := make([]desk.ThreadView, 0, len(rows))
	for _, t := range rows {
		views = append(views, desk.ViewThread(t))
	}
	c.Show(in, struct {
		Threads []desk.ThreadView `json:"threads"`
	}{views}, func(o *screen.Output) {
		for _, t := range rows {
			o.Printf("thread %d (tid %d) %s\n", t.Num, t.TID, desk.Quoted(t.Name))
		}
		if len(rows) == 0 {
			o.Printf("no thread matches %s\n", expr)
		}
	})
	return nil
}

func runInferior(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		return infoInferiors(ctx, c, in)
	}
	pid, err := strconv.Atoi(in.Args[0])
	if err != nil {
		return fmt.Errorf("inferior: %q is not a process ID", in.Args[0])
	}
	return desk.Reported(c, in)(c.Session.SwitchInferior(pid))
}

func infoInferiors(_ context.Context, c *desk.Desk, in shell.Input) error {
	procs, err := c.Session.Inferiors()
	if err != nil {
		return err
	}
	type view struct {
		PID      int    `json:"pid"`
		Exe      string `json:"program"`
		Selected bool   `json:"selected,omitempty"`
	}
	views := make([]view, 0, len(procs))
	var rows [][]screen.Span
	for _, p := range procs {
		views = append(views, view{p.PID, p.Exe, p.Selected})
		mark := " "
		if p.Selected {
			mark = "*"
		}
		rows = append(rows, []screen.Span{screen.Arrow(mark), screen.Head(strconv.Itoa(p.PID)), screen.File(p.Exe)})
	}
	c.Show(in, struct {
		Processes []view `json:"processes"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{}, {Head: "process", Right: true}, {Head: "program"}}, rows)
	})
	return nil
}

func infoThreads(_ context.Context, c *desk.Desk, in shell.Input) error {
	threads, err := c.Session.Selection.Threads()
	if err != nil {
		return err
	}
	golang := slices.ContainsFunc(threads, func(t view.ThreadInfo) bool { return t.Goroutine != 0 })
	if in.Raw != "" {
		wanted, rest, err := threadList(threads, in.Raw)
		if err != nil {
			return fmt.Errorf("info threads: %w", err)
		}
		if rest != "" {
			return fmt.Errorf("info threads: %q: a thread's number expected", rest)
		}
		threads = wanted
	}
	views := make([]desk.ThreadView, 0, len(threads))
	var rows [][]screen.Span
	placed := false // a capture keeps no place of a thread
	for _, t := range threads {
		views = append(views, desk.ViewThread(t))
		placed = placed || t.Err != nil || t.Frame.Code.Addr() != 0
		mark := " "
		if t.Selected {
			mark = "*"
		}
		row := []screen.Span{screen.Arrow(mark), screen.Head(fmt.Sprint(t.Num)), screen.Plain(fmt.Sprint(t.TID)), screen.Plain(desk.Quoted(t.Name))}
		if golang {
			row = append(row, goroutineColumn(t.Goroutine))
		}
		switch {
		case t.Err != nil:
			row = append(row, screen.Warning(t.Err.Error()), screen.Span{})
		case t.Frame.Code.Addr() != 0:
			row = append(row, desk.FrameName(c.Out, t.Frame)[0], desk.FramePlace(t.Frame))
		default:
			row = append(row, screen.Span{}, screen.Span{})
		}
		rows = append(rows, row)
	}
	c.Show(in, struct {
		Threads []desk.ThreadView `json:"threads"`
	}{views}, func(o *screen.Output) {
		columns := []screen.Column{{}, {Head: "thread", Right: true}, {Head: "tid", Right: true}, {Head: "name"}, {Head: "function"}, {}}
		if golang {
			columns = slices.Insert(columns, 4, screen.Column{Head: "goroutine", Right: true})
		}
		if !placed {
			columns = columns[:4]
			for i := range rows {
				rows[i] = rows[i][:4]
			}
		}
		o.Table(columns, rows)
	})
	return nil
}

// goroutineColumn is the number of the goroutine that a thread runs.
func goroutineColumn(id uint64) screen.Span {
	if id == 0 {
		return screen.Plain("-")
	}
	return screen.Plain(fmt.Sprint(id))
}

func infoFrame(_ context.Context, c *desk.Desk, in shell.Input) error {
	f, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	passed := c.Session.Selection.Passed()
	c.Show(in, struct {
		desk.FrameView
		Passed string `json:"passed_over,omitempty"`
	}{desk.ViewFrame(f), passedWords[passed]}, func(o *screen.Output) {
		PrintFull(o, []names.Frame{f}, nil, nil, -1)
		if c.Session.Mode().Readable() {
			o.Printf("     canonical frame address %s\n", f.CFA)
		}
		if lang := f.Language.String(); lang != "" {
			o.Printf("     language %s\n", lang)
		}
		if text := passedText[passed]; text != "" {
			o.Printf("     %s\n", text)
		}
	})
	return nil
}

// passedWords are the reasons why no block belongs to a frame, in JSON.
var passedWords = map[query.Passed]string{
	query.PassedAllocator: "allocator", query.PassedWrapper: "wrapper", query.PassedRuntime: "runtime", query.PassedLibrary: "library", query.PassedStart: "start",
}

// passedText says why blocks belong to a frame further out, and what changes that.
var passedText = map[query.Passed]string{
	query.PassedAllocator: "an allocator's function: blocks belong to an outer frame",
	query.PassedWrapper:   "a wrapper by its name: blocks belong to an outer frame; `show wrappers` prints the expression, `set wrappers` changes it",
	query.PassedRuntime:   "of a runtime, or made by a compiler: blocks belong to an outer frame",
	query.PassedLibrary:   "a library's by its name, source or module: blocks belong to an outer frame; `show library-frames` prints the expression, `set library-frames` changes it",
}
