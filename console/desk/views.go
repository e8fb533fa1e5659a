package desk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/console/screen"
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/stopped"
	"hdb/session/view"
	"hdb/symbols"
)

// The views are what --json prints; the text on the screen says the same.

// FrameView is a frame for JSON.
type FrameView struct {
	Num      *int        `json:"frame,omitempty"` // of a tail call the return of the frame that it called, nil if it called the allocator
	PC       string      `json:"pc"`
	Function string      `json:"function,omitempty"`
	Linkage  string      `json:"linkage,omitempty"`
	Offset   uint64      `json:"offset"`
	File     string      `json:"file,omitempty"`
	Line     int         `json:"line,omitempty"`
	Column   int         `json:"column,omitempty"`
	Inlined  bool        `json:"inlined,omitempty"`
	TailCall bool        `json:"tail_call,omitempty"` // deduced, not on the stack
	Module   string      `json:"module,omitempty"`
	Source   string      `json:"source"` // where the name comes from
	Found    string      `json:"found"`  // how the frame was found
	Guess    bool        `json:"guess,omitempty"`
	Signal   bool        `json:"signal,omitempty"`
	Args     []ValueView `json:"arguments,omitempty"` // of a live frame
	Locals   []ValueView `json:"locals,omitempty"`    // of a live frame, bt full
	Selected bool        `json:"selected,omitempty"`  // only where a stack is shown
	Made     bool        `json:"created,omitempty"`   // it made the goroutine
}

// ViewFrame is a frame for JSON.
func ViewFrame(f names.Frame) FrameView {
	var num *int
	if f.Num >= 0 {
		num = &f.Num
	}
	return FrameView{
		Num: num, PC: f.Code.Addr().String(), Function: f.Function, Linkage: f.Linkage, Offset: f.Offset,
		File: f.File, Line: f.Line, Column: f.Column, Inlined: f.Inlined, TailCall: f.Tail, Module: f.Module,
		Source: f.Frame.Source.String(), Found: f.How.String(), Guess: f.How.Guess(), Signal: f.Signal, Made: f.Made,
	}
}

// ViewFrames are frames for JSON.
func ViewFrames(fs []names.Frame) []FrameView {
	out := make([]FrameView, 0, len(fs))
	for _, f := range fs {
		out = append(out, ViewFrame(f))
	}
	return out
}

// ThreadView is a thread for JSON.
type ThreadView struct {
	Num      int        `json:"thread"`
	TID      int        `json:"tid"`
	Name     string     `json:"name"`
	Selected bool       `json:"selected,omitempty"`
	Routine  uint64     `json:"goroutine,omitempty"` // of Go
	Frame    *FrameView `json:"frame,omitempty"`
	Error    string     `json:"error,omitempty"`
}

// ViewThread is a thread for JSON.
func ViewThread(t view.ThreadInfo) ThreadView {
	v := ThreadView{Num: t.Num, TID: t.TID, Name: t.Name, Selected: t.Selected, Routine: t.Goroutine}
	if t.Frame.Code.Addr() != 0 {
		f := ViewFrame(t.Frame)
		v.Frame = &f
	}
	if t.Err != nil {
		v.Error = t.Err.Error()
	}
	return v
}

// EventView is an event for JSON.
type EventView struct {
	Seq      uint64  `json:"event"`
	Kind     string  `json:"kind"`
	Function string  `json:"function"`
	Addr     string  `json:"address"`
	Size     *uint64 `json:"size,omitempty"` // none of a free of no live block
	Old      string  `json:"old,omitempty"`
	Failed   bool    `json:"failed,omitempty"`
	TID      int32   `json:"tid"`
	Routine  uint64  `json:"goroutine,omitempty"` // of Go
	Time     int64   `json:"time_ns"`
	Call     string  `json:"call"`
	Where    string  `json:"where,omitempty"`
}

// ViewEvent is an event for JSON.
func ViewEvent(e *recording.Event) EventView {
	v := EventView{
		Seq: e.Seq, Kind: e.Kind.String(), Function: e.Function, Addr: fmt.Sprintf("%#x", e.Addr),
		Failed: e.Failed, TID: e.TID, Time: e.Time.Nanoseconds(), Call: e.Call(),
	}
	if e.SizeKnown() {
		v.Size = &e.Size
	}
	v.Routine, _ = e.Goroutine(e.Function)
	if e.Kind == capture.Realloc {
		v.Old = fmt.Sprintf("%#x", e.Old)
	}
	return v
}

// freedNothing is said of a free that was of no block as far as the recording knows: of
// one that was freed before, or made before the recording.
const freedNothing = "it freed no live block that was recorded"

// StrayText says it of one event.
func StrayText(o *screen.Output, e *recording.Event, stray *query.StrayFree) string {
	if stray.Before == nil {
		return freedNothing
	}
	return fmt.Sprintf("it freed no live block: %#x was freed before, by #%d %s", e.Addr, stray.Before.Seq, Called(o)(stray.Before))
}

// A returnedView is what a finished function has returned.
type returnedView struct {
	Num   int    `json:"num,omitempty"` // $N; 0: only RAX is known
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
	RAX   string `json:"rax,omitempty"`
	Why   string `json:"why,omitempty"` // why only RAX is known
}

// A watchView is what a watchpoint saw: bytes of the lowest address first, and values if the
// expression has a type.
type watchView struct {
	Addr     string `json:"address"`
	Size     int    `json:"size"`
	OldBytes string `json:"old_raw,omitempty"`
	NewBytes string `json:"new_raw,omitempty"`
	Expr     string `json:"expr,omitempty"`
	Old      string `json:"old,omitempty"`
	New      string `json:"new,omitempty"`
	Merged   bool   `json:"merged,omitempty"` // the change of another thread's hit may include the write

	Parts []watchPartView `json:"parts,omitempty"` // of a struct or an array: what has changed in it
}

// A watchPartView is a member or an element that has changed.
type watchPartView struct {
	Expr string `json:"expr"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// A metView is a condition on state that has become true.
type metView struct {
	Event  EventView   `json:"event"`
	Why    string      `json:"why"`
	Doubts []string    `json:"warnings,omitempty"`
	Late   bool        `json:"late,omitempty"`
	Ended  bool        `json:"ended,omitempty"` // before it could be stopped
	Behind uint64      `json:"events_behind,omitempty"`
	Frames []FrameView `json:"frames,omitempty"`
}

// A leftView is what a call has left whose end a stop was at.
type leftView struct {
	Function string         `json:"function"`
	Unwound  bool           `json:"unwound,omitempty"` // by an exception or longjmp
	Bytes    uint64         `json:"live_bytes"`
	Blocks   int            `json:"blocks"`
	Sites    []leftSiteView `json:"rows,omitempty"`
	Unknown  int            `json:"not_recorded,omitempty"`
}

type leftSiteView struct {
	Bytes  uint64    `json:"live_bytes"`
	Blocks int       `json:"blocks"`
	First  uint64    `json:"first_event"`
	Frame  FrameView `json:"frame"`
}

func viewLeft(l *stopped.LeftBlocks) *leftView {
	v := &leftView{Function: l.Function, Unwound: l.Left, Bytes: l.Bytes, Blocks: l.Blocks, Unknown: l.Unknown}
	for _, s := range l.Sites {
		v.Sites = append(v.Sites, leftSiteView{s.Bytes, s.Blocks, s.First.Seq, ViewFrames([]names.Frame{s.Frame})[0]})
	}
	return v
}

// ReportView is the report of a stop for JSON.
type ReportView struct {
	Reason   string        `json:"reason"`
	Headline string        `json:"headline"`
	Stops    []int         `json:"stops,omitempty"`
	Thread   *ThreadView   `json:"thread,omitempty"`
	Event    *EventView    `json:"event,omitempty"`
	Signal   string        `json:"signal,omitempty"`
	ExitCode *int          `json:"exit_code,omitempty"`
	ExitSig  string        `json:"exit_signal,omitempty"`
	Watch    *watchView    `json:"watch,omitempty"`
	Watched  []*watchView  `json:"also_watched,omitempty"` // by other watchpoints, in the same instruction
	Returned *returnedView `json:"returned,omitempty"`
	Before   uint64        `json:"freed_before,omitempty"` // the event that had freed what the event frees
	Wrong    *WrongView    `json:"wrong_free,omitempty"`
	Met      *metView      `json:"met,omitempty"`
	Left     *leftView     `json:"ended_call,omitempty"`
	Aborted  *abortView    `json:"malloc_abort,omitempty"`
	Elapsed  int64         `json:"elapsed_ns"`

	Type    string     `json:"type,omitempty"`         // of the block, in a Go program
	Creator *FrameView `json:"go_statement,omitempty"` // the go statement that made the goroutine

	Python *PythonFrameView `json:"python,omitempty"`        // the innermost function of Python
	Blamed *PythonDebugView `json:"damaged_block,omitempty"` // for which CPython's debug hooks ended the program
	Frames []FrameView      `json:"frames,omitempty"`
}

// ViewReport is the report of a stop for JSON.
func ViewReport(r *stopped.Report) ReportView {
	v := ReportView{Reason: r.Reason.String(), Headline: r.Headline(), Elapsed: r.Elapsed.Nanoseconds(), Frames: ViewFrames(r.Frames)}
	for _, st := range r.Hits {
		v.Stops = append(v.Stops, st.ID)
	}
	if r.Python != nil {
		f := ViewPythonFrame(*r.Python)
		v.Python = &f
	}
	for i, w := range r.Watched() {
		view := &watchView{w.Addr.String(), w.Size, fmt.Sprintf("% x", w.Old), fmt.Sprintf("% x", w.New), w.Name, w.OldText, w.NewText, w.Merged, nil}
		for _, p := range w.Parts {
			if p.Name != w.Name {
				view.Parts = append(view.Parts, watchPartView{p.Name, p.Old, p.New})
			}
		}
		if i > 0 {
			v.Watched = append(v.Watched, view)
			continue
		}
		v.Watch = view
	}
	if r.Thread.Num != 0 {
		t := ViewThread(r.Thread)
		v.Thread = &t
	}
	for _, cause := range r.Causes {
		v.cause(cause)
	}
	return v
}

// cause adds what a cause of the stop has for JSON.
func (v *ReportView) cause(cause stopped.Cause) {
	switch x := cause.(type) {
	case *stopped.Allocation:
		v.Event = new(ViewEvent(x.Event))
		if x.Go != nil {
			v.Type = x.Go.Type
			if x.Go.Creator != nil {
				v.Creator = &ViewFrames([]names.Frame{*x.Go.Creator})[0]
			}
		}
		if x.Stray != nil && x.Stray.Before != nil {
			v.Before = x.Stray.Before.Seq
		}
	case *stopped.WrongCall:
		v.Wrong = ViewWrong(x.WrongFree)
	case *stopped.Met:
		v.Met = &metView{ViewEvent(x.Event), x.Why.Text(units.Sizes{}), Warnings(x.Doubt), x.Late, x.Ended, x.Behind, ViewFrames(x.Frames)}
	case *stopped.LeftBlocks:
		v.Left = viewLeft(x)
	case *stopped.Signaled:
		v.Signal = x.Name
		if x.Blamed != nil {
			v.Blamed = new(ViewPythonDebug(x.Blamed.DebugBlock))
		}
		if x.Aborted != nil {
			v.Aborted = viewAbort(x.Aborted)
		}
	case *stopped.Ended:
		v.ExitCode = new(x.Code)
		if x.Signal != 0 {
			v.ExitSig = inferior.SignalName(x.Signal)
		}
	}
}

// Ended tells reports after which there is no process.
func Ended(r *stopped.Report) bool {
	return r.Reason == inferior.Exited || r.Reason == inferior.Gone
}

// FrameName is a frame's function as bt shows it, with everything that is not
// certain about it.
func FrameName(o *screen.Output, f names.Frame) []screen.Span {
	if f.Python() { // whose names have brackets that are no template's
		return markedName(f, f.Function)
	}
	return markedName(f, o.Names.Short(o.Names.Function(f.Function, f.Linkage)))
}

// wholeName is frameName with all template arguments.
func wholeName(o *screen.Output, f names.Frame) []screen.Span {
	return markedName(f, o.Names.Function(f.Function, f.Linkage))
}

// markedName adds where in the function the code lies if there is no line that tells it.
func markedName(f names.Frame, name string) []screen.Span {
	var marks []string
	switch {
	case name == "":
		name = f.CodeName()
	case f.Line == 0 && f.Offset != 0:
		name += fmt.Sprintf("+%#x", f.Offset)
	}
	if f.Made {
		name = "created by " + name
	}
	if f.Inlined {
		marks = append(marks, "[inlined]")
	}
	if f.Tail {
		marks = append(marks, "[tail call]")
	}
	if f.Frame.Source == symbols.FromJIT && f.Line > 0 { // without a line it represents the module
		marks = append(marks, "[jit]")
	}
	if f.Signal {
		marks = append(marks, "[signal]")
	}
	if f.How.Guess() {
		marks = append(marks, "[guess: "+f.How.String()+"]")
	}
	if len(marks) == 0 {
		return []screen.Span{screen.Func(name)}
	}
	return []screen.Span{screen.Func(name), screen.Guess(" " + strings.Join(marks, " "))}
}

// FramePlace is where a frame's code comes from: file and line, else the module.
func FramePlace(f names.Frame) screen.Span {
	switch {
	case f.File != "" && f.Line > 0:
		return screen.File(fmt.Sprintf("%s:%d", screen.ShortPath(f.File), f.Line))
	case f.Module != "":
		return screen.Guess("[" + strings.Trim(f.Module, "[]") + "]") // [vdso] has brackets of its own
	}
	return screen.Span{}
}

// tableMark says that a frame without a line is named by a symbol table only, and by
// which. The first function of every program is: that is nothing to tell.
func tableMark(f names.Frame) string {
	switch f.Frame.Source {
	case symbols.FromSymtab, symbols.FromMini, symbols.FromDynsym:
		if f.Line == 0 && f.Function != "_start" && f.Module != "[vdso]" {
			return " (" + f.Frame.Source.String() + ")"
		}
	}
	return ""
}

// ExplainMarks says once what the marks of frames mean, and how to get rid of them.
func ExplainMarks(c *Desk, o *screen.Output, frames []names.Frame) {
	if c.explained || !slices.ContainsFunc(frames, func(f names.Frame) bool { return tableMark(f) != "" }) {
		return
	}
	c.explained = true
	o.Line(screen.Guess("(symtab, dynsym, minidebuginfo: named by a symbol table, without lines; `info symbols` shows what is missing)"))
}

// maxNameColumn bounds how far long C++ names push the places to the right.
const maxNameColumn = 48

// PrintFrames shows frames as bt does: number, function, place, aligned.
//
// What Go's compiler puts between functions is left out, as far as its names tell.
func PrintFrames(o *screen.Output, frames []names.Frame) { PrintFolded(o, frames, 0, len(frames), nil) }

// PrintFolded is PrintFrames for those from index low up to high, with a line instead of each run of frames that is hidden.
func PrintFolded(o *screen.Output, frames []names.Frame, low, high int, hidden [][2]int) {
	var shown []names.Frame
	gaps := map[int]int{}
	for i := low; i < high; i++ {
		if len(hidden) > 0 && i == hidden[0][0] {
			gaps[len(shown)] += hidden[0][1] - i
			i = hidden[0][1] - 1
			hidden = hidden[1:]
		} else if i == low || !goruntime.Helper(frames[i].Function) {
			shown = append(shown, frames[i])
		}
	}
	printStack(o, shown, nil, -1, gaps)
}

// PrintStack prints the frames of a stack with what is known of their arguments; the frame
// with the number selected has a mark.
func PrintStack(o *screen.Output, frames []names.Frame, args FrameArgs, selected int) {
	printStack(o, frames, args, selected, nil)
}

// printStack is PrintStack with gaps: how many frames are hidden before one, by its index.
func printStack(o *screen.Output, frames []names.Frame, args FrameArgs, selected int, gaps map[int]int) {
	width := 0
	called := make([][]screen.Span, len(frames))
	for i, f := range frames {
		called[i] = args.calledName(o, f)
		if w := screen.SpansWidth(called[i]); w <= maxNameColumn {
			width = max(width, w)
		}
	}
	digits := 1
	for _, f := range frames {
		digits = max(digits, len(strconv.Itoa(max(f.Num, 0))))
	}
	for i, f := range frames {
		if o.Stopped() {
			return
		}
		if n := gaps[i]; n > 0 {
			o.Line(screen.Guess(fmt.Sprintf("(%d frames of libraries hidden)", n)))
		}
		name := called[i]
		row := append([]screen.Span{screen.Head(FrameNumber(f, digits, selected))}, name...)
		fill := max(0, width-screen.SpansWidth(name))
		row = append(row, screen.Plain(strings.Repeat(" ", fill+2)), FramePlace(f), screen.Guess(tableMark(f)))
		o.Place(row...)
	}
}

// FrameNumber begins the line of a frame. A deduced one has no number and cannot be
// selected; most of Python have none: up, down and py frame select them. The selected one
// has a mark.
func FrameNumber(f names.Frame, digits, selected int) string {
	if f.Tail || f.Num < 0 {
		if IsSelected(f, selected) {
			return strings.Repeat(" ", digits+1) + "* "
		}
		return strings.Repeat(" ", digits+3)
	}
	if f.Num == selected {
		return fmt.Sprintf("#%-*s ", digits+1, fmt.Sprintf("%d*", f.Num))
	}
	return fmt.Sprintf("#%-*d  ", digits, f.Num)
}

// PythonFrameView is a frame of Python in JSON.
type PythonFrameView struct {
	Num      int    `json:"frame"`
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"` // the file of the interpreter, if there are several
	Selected bool   `json:"selected,omitempty"`
}

// ViewPythonFrame is a function of Python for JSON.
func ViewPythonFrame(f names.Frame) PythonFrameView {
	return PythonFrameView{Num: f.Nth, Function: f.Function, File: f.File, Line: f.Line, Module: f.Module}
}

// IsSelected tells the selected frame, see selectedIn.
func IsSelected(f names.Frame, selected int) bool {
	if f.Tail || f.Num < 0 {
		return f.Python() && selected == -2-f.Nth
	}
	return f.Num == selected
}

// Quoted is a thread's name in quotes, or nothing.
func Quoted(name string) string {
	if name == "" {
		return ""
	}
	return strconv.Quote(name)
}

// Pattern compiles an optional regular expression; "" matches everything.
func Pattern(s string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	return re, nil
}
