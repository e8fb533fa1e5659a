package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/goruntime"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/names"
	"hdb/session/view"
)

// goroutinesShown and goGroupsShown are how many rows are printed if no number is given.
const (
	goroutinesShown = 100
	goGroupsShown   = 20
)

const goroutinesSynopsis = "[-running|-runnable|-syscall|-waiting] [-system] [-with FILTER] [N|all]\n-group creator|start|where|reason [...]"

const goroutinesLong = "Goroutines are read from the structures of Go's runtime, also in stripped programs and in core files. The status is as in Go's own tracebacks: what a waiting goroutine waits for, and for how long if it is a minute or more, accurate to one garbage collection cycle; a core file does not record the time. Then come the innermost function of the user's code (`show library-frames`), or the one that called the runtime, and the go statement that started the goroutine.\n\n" +
	"-with TEXT selects goroutines with TEXT in the status or in the name or file of one of these functions. Some filters of delve are known, too: userloc TEXT looks only at the function of the user's code, startloc TEXT at the goroutine's first function, goloc TEXT at the go statement; running and user select goroutines that run, and those that are not the runtime's own. -system adds the runtime's own goroutines. -group counts goroutines, with the bytes of their stacks, by the go statement that started them (creator), by their function (start), by the line where they are (where), or by status (reason). Where the goroutines of a group differ in another column, the most frequent value is shown, and how many others there are.\n\n" +
	"Examples:\n  goroutines\n  goroutines -waiting -with net/http\n  goroutines -with startloc main.worker\n  goroutines -group creator\n  goroutines -group where -with \"chan send\" 5"

func goroutineCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "goroutines", Aliases: []string{"grs"}, Group: shell.GroupStack, Synopsis: goroutinesSynopsis, Short: "list the goroutines of a Go program, or group them", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runGoroutines), Long: goroutinesLong},
		{Name: "goroutine", Aliases: []string{"gr"}, Group: shell.GroupStack, Raw: true, Direct: true, Synopsis: "[N [COMMAND]]", Short: "show the selected goroutine, or select one", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runGoroutine),
			Long: "bt, up, down, frame, print and list work on the selected goroutine until you select another one or a thread, or the program runs. If it is not running, only the registers that Go saves are known: pc, sp and bp. COMMAND runs with goroutine N selected, and the selected goroutine stays the same.\n\nExamples:\n  goroutine 17\n  goroutine 17 bt\n  goroutine"},
	}
}

// goroutineArgs is what follows goroutines.
type goroutineArgs struct {
	status []goruntime.Status // any of these; none: all
	system bool
	with   string // TEXT, or the name of one of delve's filters
	place  string // the text behind that filter
	group  string
	limit  int // rows, 0 not given, -1 all
}

func parseGoroutines(args []string) (a goroutineArgs, err error) {
	all := []goruntime.Status{"running", "runnable", "syscall", "waiting"}
	wanted := make([]bool, len(all))
	words, err := flags.All(args, func(name string) flags.Flag {
		if i := slices.Index(all, goruntime.Status(name)); i >= 0 {
			return flags.On(&wanted[i])
		}
		switch name {
		case "system":
			return flags.On(&a.system)
		case "with":
			return flags.Text(&a.with)
		case "group":
			return flags.Text(&a.group)
		}
		return flags.Flag{}
	})
	if err != nil {
		return a, fmt.Errorf("goroutines: %w", err)
	}
	for i, status := range all {
		if wanted[i] {
			a.status = append(a.status, status)
		}
	}
	if a.with == "curloc" || a.with == "label" {
		return a, fmt.Errorf("goroutines: -with %s: not supported: %s expected", a.with, knownFilters)
	}
	for _, word := range words {
		n, err := strconv.Atoi(word)
		switch {
		case a.place == "" && filtered[a.with] != nil:
			a.place = word
		case word == "all":
			a.limit = -1
		case err == nil && n > 0:
			a.limit = n
		default:
			return a, fmt.Errorf("goroutines: %q: -running, -runnable, -syscall, -waiting, -system, -with TEXT, -group WHAT, a number or all expected", word)
		}
	}
	if a.place == "" && filtered[a.with] != nil {
		return a, fmt.Errorf("goroutines: -with %s: a text must follow, a part of a function's name or file", a.with)
	}
	return a, nil
}

const knownFilters = "TEXT, user, running, userloc TEXT, goloc TEXT or startloc TEXT"

// filtered are those filters of delve's that a text follows, each with the frame that it looks at.
var filtered = map[string]func(*view.Goroutine) *names.Frame{
	"userloc":  func(x *view.Goroutine) *names.Frame { return x.Where },
	"startloc": func(x *view.Goroutine) *names.Frame { return x.Start },
	"goloc":    func(x *view.Goroutine) *names.Frame { return x.Creator },
}

// again is the command that lists all rows.
func (a *goroutineArgs) again() string {
	words := []string{"goroutines"}
	for _, status := range a.status {
		words = append(words, "-"+string(status))
	}
	if a.system {
		words = append(words, "-system")
	}
	if a.group != "" {
		words = append(words, "-group", a.group)
	}
	if a.with != "" {
		words = append(words, "-with", desk.AsWord(a.with))
	}
	if a.place != "" {
		words = append(words, desk.AsWord(a.place))
	}
	return strings.Join(append(words, "all"), " ")
}

// keeps reports whether a goroutine is to be listed.
func (a *goroutineArgs) keeps(x *view.Goroutine) bool {
	if len(a.status) > 0 && !slices.Contains(a.status, x.Status) {
		return false
	}
	has := func(f *names.Frame, text string) bool {
		return f != nil && (strings.Contains(f.Function, text) || strings.Contains(f.File, text))
	}
	switch frame := filtered[a.with]; {
	case frame != nil:
		return has(frame(x), a.place)
	case a.with == "running":
		return x.Status == "running"
	case a.with == "":
		return true
	case a.with == "user":
		return !x.System
	case strings.Contains(goroutineDoes(x), a.with):
		return true
	}
	return slices.ContainsFunc([]*names.Frame{x.Where, x.Start, x.Creator}, func(f *names.Frame) bool { return has(f, a.with) })
}

func runGoroutines(_ context.Context, c *desk.Desk, in shell.Input) error {
	a, err := parseGoroutines(in.Args)
	if err != nil {
		return err
	}
	all, lost, err := c.Session.Goroutines.List()
	if err != nil {
		return err
	}
	out := unlisted{unreadable: lost}
	list := make([]view.Goroutine, 0, len(all))
	for i := range all {
		x := &all[i]
		switch {
		case !a.keeps(x):
		case x.System && !a.system:
			out.system++
		default:
			list = append(list, *x)
		}
	}
	if a.group != "" {
		return showGoGroups(c, in, a, list, out)
	}
	showGoroutines(c, in, a, list, out)
	return nil
}

// unlisted are how many goroutines are not in a list.
type unlisted struct {
	system     int // the runtime's own
	unreadable int // whose descriptors could not be read
}

type goroutineView struct {
	ID       uint64          `json:"goroutine"`
	Selected bool            `json:"selected,omitempty"`
	Status   string          `json:"status"`
	Reason   string          `json:"reason,omitempty"`
	Waited   int64           `json:"waited_ns,omitempty"`
	Thread   int             `json:"thread,omitempty"`
	Locked   bool            `json:"locked,omitempty"`
	System   bool            `json:"system,omitempty"`
	Stack    uint64          `json:"stack_bytes"`
	Where    *desk.FrameView `json:"where,omitempty"`
	Start    *desk.FrameView `json:"start,omitempty"`
	Creator  *desk.FrameView `json:"go_statement,omitempty"`
	Parent   uint64          `json:"parent,omitempty"`
}

func viewGoroutine(x *view.Goroutine) goroutineView {
	v := goroutineView{ID: x.ID, Status: string(x.Status), Reason: x.Reason, Waited: x.Waited.Nanoseconds(), Thread: x.Thread,
		Locked: x.Locked, System: x.System, Stack: x.StackHigh - x.StackLow, Parent: x.Parent}
	v.Where, v.Start, v.Creator = maybeFrame(x.Where), maybeFrame(x.Start), maybeFrame(x.Creator)
	return v
}

func maybeFrame(f *names.Frame) *desk.FrameView {
	if f == nil {
		return nil
	}
	return new(desk.ViewFrame(*f))
}

// goroutineDoes is what Go's tracebacks have in brackets.
func goroutineDoes(x *view.Goroutine) string { return x.Does() + waitedText(x.Waited) }

// waitedText is how long a goroutine waits, "" for less than a minute.
func waitedText(d time.Duration) string {
	if d < time.Minute {
		return ""
	}
	return ", " + units.Count(int(d/time.Minute), "minute")
}

// goroutineText is goroutineDoes and its thread.
func goroutineText(x *view.Goroutine) string {
	text := goroutineDoes(x)
	if x.Locked {
		text += ", locked to thread"
	}
	if x.Thread != 0 {
		text += fmt.Sprintf(" (thread %d)", x.Thread)
	}
	return text
}

// placeColumns are a frame's function and place, empty without one.
func placeColumns(o *screen.Output, f *names.Frame) []screen.Span {
	if f == nil {
		return []screen.Span{{}, {}}
	}
	return []screen.Span{desk.FrameName(o, *f)[0], desk.FramePlace(*f)}
}

func showGoroutines(c *desk.Desk, in shell.Input, a goroutineArgs, list []view.Goroutine, out unlisted) {
	selected, _ := c.Session.Selection.Goroutine()
	shown := cutRows(list, a.limit, goroutinesShown)
	views := make([]goroutineView, 0, len(shown))
	var rows [][]screen.Span
	for i := range shown {
		x := &shown[i]
		v := viewGoroutine(x)
		v.Selected = x.ID == selected.ID
		views = append(views, v)
		mark := " "
		if v.Selected {
			mark = "*"
		}
		row := append([]screen.Span{screen.Arrow(mark), screen.Head(fmt.Sprint(x.ID)), screen.Plain(goroutineText(x))}, placeColumns(c.Out, x.Where)...)
		rows = append(rows, append(row, placeColumns(c.Out, x.Creator)...))
	}
	c.Show(in, struct {
		Goroutines []goroutineView `json:"goroutines"`
		Total      int             `json:"total"`
		System     int             `json:"system_left_out,omitempty"`
		Unreadable int             `json:"unreadable_count,omitempty"`
	}{views, len(list), out.system, out.unreadable}, func(o *screen.Output) {
		if len(rows) > 0 {
			o.Table([]screen.Column{{}, {Head: "goroutine", Right: true}, {Head: "status"}, {Head: "function"}, {}, {Head: "created by"}, {}}, rows)
		}
		goroutineSums(o, a, list, out)
		if more := len(list) - len(shown); more > 0 {
			o.Line(screen.Guess(fmt.Sprintf("(%s; `%s` lists them, `goroutines -group where` counts those that are alike)", units.Count(more, "more goroutine"), a.again())))
		}
	})
}

// cutRows are the first rows: limit, all of them if it is below 0, or as many as usual.
func cutRows[T any](list []T, limit, usual int) []T {
	if limit == 0 {
		limit = usual
	}
	if limit < 0 || limit > len(list) {
		return list
	}
	return list[:limit]
}

// goroutineSums says how many goroutines do what.
func goroutineSums(o *screen.Output, a goroutineArgs, list []view.Goroutine, out unlisted) {
	counts := map[string]int{}
	var does []string
	for i := range list {
		d := list[i].Does()
		if counts[d]++; counts[d] == 1 {
			does = append(does, d)
		}
	}
	slices.SortFunc(does, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	text := units.Count(len(list), "goroutine")
	for i, d := range does {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%s %s", sep, units.Grouped(counts[d]), d)
	}
	if out.system > 0 {
		text += fmt.Sprintf("; %s of the runtime's own left out (-system)", units.Grouped(out.system))
	}
	o.Line(screen.Plain(text))
	if a.with != "" && len(list) == 0 {
		o.Line(screen.Guess(fmt.Sprintf("(-with takes %s; TEXT is looked for in the status and in the name and file of the shown functions)", knownFilters)))
	}
	if out.unreadable > 0 {
		o.Line(screen.Warning(fmt.Sprintf("! %s could not be read, and may be missing here", units.Count(out.unreadable, "goroutine"))))
	}
}

type goGroupView struct {
	Count   int             `json:"count"`
	Stack   uint64          `json:"stack_bytes"`
	Waited  int64           `json:"longest_ns,omitempty"`
	Example uint64          `json:"example"`
	Does    string          `json:"does"`
	Where   *desk.FrameView `json:"where,omitempty"`
	Start   *desk.FrameView `json:"start,omitempty"`
	Creator *desk.FrameView `json:"go_statement,omitempty"`
	Reasons int             `json:"different_does"`
	Wheres  int             `json:"different_where"`
	Makers  int             `json:"different_go_statements"`
}

func showGoGroups(c *desk.Desk, in shell.Input, a goroutineArgs, list []view.Goroutine, out unlisted) error {
	groups, err := c.Session.Goroutines.Group(list, a.group)
	if err != nil {
		return err
	}
	shown := cutRows(groups, a.limit, goGroupsShown)
	views := make([]goGroupView, 0, len(shown))
	var rows [][]screen.Span
	for _, g := range shown {
		views = append(views, goGroupView{g.Count, g.Stack, g.Waited.Nanoseconds(), g.Example, g.Reason, maybeFrame(g.Where), maybeFrame(g.Start), maybeFrame(g.Creator), g.Reasons, g.Wheres, g.Makers})
		row := []screen.Span{screen.Plain(units.Grouped(g.Count)), screen.Plain(c.Out.Sizes.Short(g.Stack)), screen.Plain(g.Reason + waitedText(g.Waited) + others(g.Reasons))}
		if a.group == view.GroupByStart {
			row = append(row, placeColumns(c.Out, g.Start)...)
		}
		row = append(row, withOthers(placeColumns(c.Out, g.Where), g.Wheres)...)
		rows = append(rows, append(row, withOthers(placeColumns(c.Out, g.Creator), g.Makers)...))
	}
	c.Show(in, struct {
		By         string        `json:"by"`
		Groups     []goGroupView `json:"groups"`
		Total      int           `json:"total"`
		All        int           `json:"total_groups"`
		System     int           `json:"system_left_out,omitempty"`
		Unreadable int           `json:"unreadable_count,omitempty"`
	}{a.group, views, len(list), len(groups), out.system, out.unreadable}, func(o *screen.Output) {
		columns := []screen.Column{{Head: "count", Right: true}, {Head: "stacks", Right: true}, {Head: "status"}}
		if a.group == view.GroupByStart {
			columns = append(columns, screen.Column{Head: "started in"}, screen.Column{})
		}
		columns = append(columns, screen.Column{Head: "function"}, screen.Column{}, screen.Column{Head: "created by"}, screen.Column{})
		if len(rows) > 0 {
			o.Table(columns, rows)
		}
		goroutineSums(o, a, list, out)
		if more := len(groups) - len(shown); more > 0 {
			o.Line(screen.Guess(fmt.Sprintf("(%s; `%s` lists them)", units.Count(more, "more group"), a.again())))
		}
	})
	return nil
}

// others says how many different values a group has in addition to the one that is shown.
func others(different int) string {
	if different <= 1 {
		return ""
	}
	return fmt.Sprintf(" (+%s)", units.Grouped(different-1))
}

// withOthers adds it to a place.
func withOthers(place []screen.Span, different int) []screen.Span {
	place[1].Text += others(different)
	return place
}

func runGoroutine(ctx context.Context, c *desk.Desk, in shell.Input) error {
	word, rest := shell.SplitWord(in.Raw)
	if word == "" {
		x, ok := c.Session.Selection.Goroutine()
		if !ok {
			return errors.New("no goroutine: the selected thread runs none; goroutines lists all")
		}
		return showGoroutine(c, in, &x)
	}
	id, err := strconv.ParseUint(word, 10, 64)
	if err != nil || id == 0 {
		return fmt.Errorf("goroutine: %q: a goroutine's number expected", word)
	}
	if rest != "" {
		return keepingSelection(c, func() error {
			x, err := c.Session.Selection.SelectGoroutine(id)
			if err == nil {
				err = selectWhere(c, &x)
			}
			if err != nil {
				return err
			}
			return c.Execute(ctx, rest)
		})
	}
	x, err := c.Session.Selection.SelectGoroutine(id)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	if err := selectWhere(c, &x); err != nil {
		return err
	}
	return showGoroutine(c, in, &x)
}

// selectWhere selects the frame of the user's code.
func selectWhere(c *desk.Desk, x *view.Goroutine) error {
	st, err := c.Session.Selection.Stack(0)
	if err != nil || x.Where == nil {
		return err
	}
	i := slices.IndexFunc(st.Frames, func(f names.Frame) bool {
		return f.Function == x.Where.Function && f.Line == x.Where.Line && !f.Made
	})
	if i >= 0 {
		_, err = c.Session.Selection.SelectFrame(i)
	}
	return err
}

// showGoroutine prints a goroutine, and the selected frame.
func showGoroutine(c *desk.Desk, in shell.Input, x *view.Goroutine) error {
	f, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	v := viewGoroutine(x)
	args := desk.ArgumentsOf(c, []names.Frame{f})
	fv := desk.ViewFrame(f)
	fv.Args = args.View(f.Num)
	c.Show(in, struct {
		goroutineView
		Frame desk.FrameView `json:"frame"`
	}{v, fv}, func(o *screen.Output) {
		line := []screen.Span{screen.Plain(fmt.Sprintf("goroutine %d [%s]", x.ID, goroutineText(x)))}
		if x.Creator != nil {
			line = append(append(line, screen.Plain(" created by ")), placeOf(o, *x.Creator)...)
			if x.Parent != 0 {
				line = append(line, screen.Plain(fmt.Sprintf(" in goroutine %d", x.Parent)))
			}
		}
		o.Line(line...)
		desk.PrintStack(o, []names.Frame{f}, args, -1)
		c.Source.Show(o, f, c.Set.Count("stop-lines"))
	})
	return nil
}

// placeOf is a function and its place on one line.
func placeOf(o *screen.Output, f names.Frame) []screen.Span {
	return append(append(desk.FrameName(o, f), screen.Plain("  ")), desk.FramePlace(f))
}
