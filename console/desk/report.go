package desk

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/lazyregexp"
	"hdb/internal/units"
	"hdb/names"
	"hdb/recording"
	"hdb/report"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/values"
)

// Report shows why and where the inferior stopped, in the one shape of all
// stops, and lines up the commands attached to the stops that were hit.
func (c *Desk) Report(in shell.Input, r *stopped.Report) {
	c.Exit.Reported(r)
	if pid, _, _, live := c.Session.Process(); live {
		c.Stopped = map[int]string{pid: r.Headline()}
	}
	defer c.Out.Whole()() // also when Ctrl-C made the stop
	c.Session.ConsoleLog.Moment()
	var follow []shell.Following
	silent := len(r.Hits) > 0
	for _, st := range r.Hits {
		silent = silent && st.Silent
		if len(st.Commands) > 0 {
			follow = append(follow, newHook(st))
		}
	}
	c.Follow(follow...)
	c.Source.Listing = Listing{}
	if silent {
		return
	}
	v := ViewReport(r)
	if fn := stopped.CauseOf[*stopped.Finished](r); fn != nil && !fn.Left {
		v.Returned = returned(c, fn)
	}
	var gaps []string
	if r.Drawn {
		gaps = c.Session.Recorded.Gaps()
	}
	c.ShowCareful(in, struct {
		Stop ReportView `json:"stop"`
	}{v}, gaps, func(o *screen.Output) {
		PrintReport(c, o, r)
		if v.Returned != nil {
			v.Returned.print(o)
		}
	})
	if c.Session.Mode() == target.Live {
		c.Eval.ShowDisplays()
	}
}

// newHook is the list of commands of a stop, counted as its lines were written.
func newHook(st *breakpoints.Stop) shell.Following {
	lines := st.Commands
	if st.Silent {
		lines = slices.Concat([]string{"# silent"}, lines)
	}
	return shell.Following{Name: fmt.Sprintf("commands of breakpoint %d", st.ID), Lines: lines}
}

// PrintReport prints why and where the inferior stopped.
func PrintReport(c *Desk, o *screen.Output, r *stopped.Report) {
	if !stepped(r) {
		o.Line(Headline(o, r))
	}
	alloc, wrong, left := stopped.CauseOf[*stopped.Allocation](r), stopped.CauseOf[*stopped.WrongCall](r), stopped.CauseOf[*stopped.LeftBlocks](r)
	if alloc != nil && alloc.Go != nil {
		printGoAllocation(o, alloc.Go)
	}
	if wrong != nil {
		o.Line(screen.Guess("   " + WrongText(o, wrong.WrongFree)))
	}
	if met := stopped.CauseOf[*stopped.Met](r); met != nil {
		printMet(o, met)
	}
	if left != nil {
		printLeft(o, left)
	}
	if alloc != nil && alloc.Stray != nil && wrong == nil {
		o.Line(screen.Guess("   " + StrayText(o, alloc.Event, alloc.Stray)))
	}
	if r.InPython && r.Python != nil {
		printInPython(o, r)
		c.Source.Show(o, *r.Python, c.Set.Count("stop-lines"))
		return
	}
	if len(r.Frames) == 0 {
		return
	}
	shown := r.Frames
	if len(shown) > maxReportFrames {
		// The way from the allocator to the user's code; its middle is in bt.
		shown = slices.Concat(shown[:2], shown[len(shown)-maxReportFrames+2:])
	}
	if alloc != nil || wrong != nil || left != nil && left.Left {
		shown = UserFrames(r.Frames)
	}
	PrintStack(o, shown, ArgumentsOf(c, shown), -1)
	show := c.Source.Show
	if r.Leaving { // mostly in exit of the C library: its source is not looked for
		show = c.Source.showFound
	}
	printed := show(o, r.Frames[len(r.Frames)-1], c.Set.Count("stop-lines"))
	if r.Python != nil && (!stepped(r) || len(r.Frames) > 0 && names.IsPythonLoop(r.Frames[0].Function) || r.Verb == "attach" || r.Verb == "core") {
		printInPython(o, r)
		if !printed {
			c.Source.Show(o, *r.Python, c.Set.Count("stop-lines"))
		}
	}
	if wrong != nil {
		PrintWrong(o, wrong.WrongFree)
	}
	if s := stopped.CauseOf[*stopped.Signaled](r); s != nil {
		if s.Blamed != nil {
			o.Line(screen.Guess(blamedText(s.Blamed)))
		}
		if s.Aborted != nil {
			printAbort(o, s.Aborted)
		}
	}
}

// printGoAllocation prints what is known of an allocation of a Go program.
func printGoAllocation(o *screen.Output, a *stopped.GoAllocation) {
	var parts []string
	if a.Type != "" {
		parts = append(parts, a.Type)
	}
	if a.Goroutine != 0 {
		parts = append(parts, fmt.Sprintf("goroutine %d", a.Goroutine))
	}
	if len(parts) == 0 {
		return
	}
	line := []screen.Span{screen.Plain("   " + strings.Join(parts, ", "))}
	if a.Creator != nil {
		line = append(append(append(line, screen.Plain(", ")), FrameName(o, *a.Creator)...), screen.Plain("  "), FramePlace(*a.Creator))
	}
	o.Line(line...)
}

// maxLeftSites bounds the rows of a stop at a call that has left blocks.
const maxLeftSites = 5

// printLeft prints where the blocks were made that a call has left.
func printLeft(o *screen.Output, l *stopped.LeftBlocks) {
	for _, site := range l.Sites[:min(len(l.Sites), maxLeftSites)] {
		f := site.Frame
		text := fmt.Sprintf("   %s in %s by %s", o.Sizes.Short(site.Bytes), units.Count(site.Blocks, "block"), screen.ShortName(f.Function))
		if place := FramePlace(f).Text; place != "" {
			text += "  " + place
		}
		o.Line(screen.Plain(text), screen.Guess(fmt.Sprintf("   first #%d", site.First.Seq)))
	}
	if more := len(l.Sites) - maxLeftSites; more > 0 {
		o.Line(screen.Guess("   and by " + units.Count(more, "more place")))
	}
	if l.Unknown > 0 {
		stacks := "their stacks"
		if l.Unknown == 1 {
			stacks = "its stack"
		}
		o.Line(screen.Guess(fmt.Sprintf("   %s of no recorded event: record start has %s", units.Count(l.Unknown, "block"), stacks)))
	}
}

// printInPython prints the function of Python that a thread has stopped in.
func printInPython(o *screen.Output, r *stopped.Report) {
	o.Line(append(append([]screen.Span{screen.Plain("in Python: ")}, FrameName(o, *r.Python)...), screen.Plain("  "), FramePlace(*r.Python))...)
}

// returned is what a function has returned; nil: nothing.
func returned(c *Desk, fn *stopped.Finished) *returnedView {
	switch {
	case fn.Object != "":
		return &returnedView{Type: "object", Value: fn.Object}
	case fn.Unknown:
		return nil
	}
	o, err := c.Eval.Options("")
	if err != nil {
		return nil
	}
	ret, err := c.Session.Values.Returned(fn.Frame, o)
	switch {
	case errors.Is(err, values.ErrNoDebug):
		return &returnedView{RAX: fmt.Sprintf("%#x", fn.RAX), Why: "no debug information tells its type"}
	case err != nil:
		return &returnedView{RAX: fmt.Sprintf("%#x", fn.RAX), Why: err.Error()}
	case ret.Num == 0:
		return nil
	}
	return &returnedView{Num: ret.Num, Type: ret.Type, Value: ret.Value}
}

func (v *returnedView) print(o *screen.Output) {
	if v.RAX == "" && v.Num == 0 {
		o.Text("value returned is " + v.Value + "\n")
		return
	}
	if v.Num == 0 {
		o.Line(screen.Plain("rax = "+v.RAX), screen.Guess("   (the value returned, if it is an integer or a pointer: "+v.Why+")"))
		return
	}
	o.Text(fmt.Sprintf("value returned is $%d = %s\n", v.Num, v.Value))
}

// printMet prints the numbers that have made a condition on state true. If the process continued
// behind the event, it prints the event's stack, before the thread's present one.
func printMet(o *screen.Output, m *stopped.Met) {
	doubt := func() {
		if m.Doubt != report.NoDoubt {
			o.Line(screen.Guess("   " + report.DoubtText(m.Doubt)))
		}
	}
	if !m.Late {
		o.Line(screen.Guess("   " + m.Why.Text(o.Sizes)))
		doubt()
		return
	}
	if m.Ended {
		o.Printf("%s %d, hit %d: #%d %s\n", m.Stop.Word(), m.Stop.ID, m.Stop.Hits, m.Event.Seq, Called(o)(m.Event))
	}
	text := "   " + m.Why.Text(o.Sizes)
	if m.Thread != 0 {
		text += fmt.Sprintf(", by thread %d", m.Thread)
	}
	switch {
	case m.Ended:
		text += fmt.Sprintf("; the program ended %s later, before it could be stopped", units.Count(m.Behind, "event"))
	case m.Behind > 0:
		text += fmt.Sprintf("; the program was stopped %s later", units.Count(m.Behind, "event"))
	}
	o.Line(screen.Guess(text))
	doubt()
	if len(m.Frames) > 0 {
		PrintFrames(o, UserFrames(m.Frames))
	}
	if len(m.Frames) > 0 && !m.Ended {
		o.Line(screen.Guess("the thread is now at:"))
	}
}

// Called words the calls of events as the output shows sizes.
func Called(o *screen.Output) func(*recording.Event) string {
	return func(e *recording.Event) string { return e.CallText(o.Sizes.Argument) }
}

// numberedCall begins an event in a recorded text.
var numberedCall = lazyregexp.New(`#([0-9]+) `)

// WithSizes words the call in a recorded text, which has it as it is in the program, as the
// output shows sizes.
func WithSizes(c *Desk, text string) string {
	m := numberedCall().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	seq, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return text
	}
	e, ok := c.Session.Recorded.Event(seq)
	if !ok {
		return text
	}
	return strings.Replace(text, m[0]+e.Call(), m[0]+Called(c.Out)(e), 1)
}

// Headline is a report's first line.
func Headline(o *screen.Output, r *stopped.Report) screen.Span {
	warn := r.Signal() != nil && r.Signal().Fatal || r.Exit().Signal != 0
	if fn := stopped.CauseOf[*stopped.Finished](r); fn != nil {
		short, finished := *r, *fn
		finished.Function = screen.ShortName(finished.Function)
		short.Causes = slices.Clone(r.Causes)
		short.Causes[slices.Index(r.Causes, stopped.Cause(fn))] = &finished
		r = &short
	}
	if warn {
		return screen.Warning(r.HeadlineOf(stopped.Wording{Call: Called(o), Sizes: o.Sizes}))
	}
	return screen.Plain(r.HeadlineOf(stopped.Wording{Call: Called(o), Sizes: o.Sizes}))
}

// maxReportFrames bounds the frames of a stop; the one that the
// block belongs to, which is the last of them, is always among them.
const maxReportFrames = 6

// UserFrames are the frames of an allocation that are worth a line: the
// selected one and the calls inlined into it.
func UserFrames(frames []names.Frame) []names.Frame {
	n := len(frames) - 1
	first := n
	for first > 0 && frames[first-1].Inlined && frames[first-1].CFA == frames[n].CFA {
		first--
	}
	return frames[first:]
}

// stepped tells reports that need no headline: the user said where to go, and
// nothing else happened on the way.
func stepped(r *stopped.Report) bool {
	switch {
	case len(r.Hits) > 0, len(r.Causes) > 0, r.Verb == "":
		return false
	}
	return r.Reason == inferior.Stepped || r.Reason == inferior.Trapped
}

// withoutSource tells a frame in which threads of Go wait: whoever attaches to a program does not look for
// its source.
func withoutSource(f names.Frame) bool {
	name, _, _ := strings.Cut(f.Function, "(")
	return goruntime.Internal(name) || strings.HasSuffix(f.File, ".s") && (strings.HasPrefix(name, "syscall.") || strings.HasPrefix(name, "runtime/internal/"))
}

// PythonLanguage is how frames of Python name their language.
const PythonLanguage = "python"

// PastEndError says that a source file has no such line.
type PastEndError struct {
	file       string
	Line, last int
	whole      bool // the file is; of others a capture keeps some lines
}

func (e *PastEndError) Error() string {
	if !e.whole {
		return fmt.Sprintf("line %d: the last line in the capture of %s is %d", e.Line, e.file, e.last)
	}
	return fmt.Sprintf("line %d: the last line of %s is %d", e.Line, e.file, e.last)
}

// Reported shows a verb's report.
func Reported(c *Desk, in shell.Input) func(*stopped.Report, error) error {
	return func(r *stopped.Report, err error) error {
		if err != nil {
			return err
		}
		c.Report(in, r)
		return nil
	}
}

// Times reads an optional count.
func Times(in shell.Input) (int, error) {
	if in.Raw == "" {
		return 1, nil
	}
	n, ok := CountOf(in.Raw)
	if !ok || n == 0 {
		return 0, fmt.Errorf("%s: %q: a number of times expected", in.Name, in.Raw)
	}
	return int(n), nil
}
