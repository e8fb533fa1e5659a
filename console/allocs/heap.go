package allocs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/report"
)

func heapCommands(c *desk.Desk) []*shell.Command {
	measures, pers := strings.Join(topMeasures, "|"), strings.Join(topPers, "|")
	return []*shell.Command{
		{Name: "top", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[N] [[by] " + measures + "] [per " + pers + "]", Short: "rank functions by what they allocated", Args: []shell.ArgKind{shell.ArgWord}, Run: c.Does(runTop),
			Long: "live is bytes not freed; bytes, all bytes allocated; count, allocations; blocks, live blocks. temporary counts blocks that were freed before another one was allocated. peak counts the bytes that were live at the high-water mark, in blocks and in the program's own mappings. The default is live; for a recording that has ended it is peak, and a line says what is live at the end.\n\nA row is the function that the blocks belong to, in this and in all other commands: the function of the innermost frame of the user's own code, including inlined calls. Three kinds of frames are passed over: allocators; wrappers, which only allocate for their callers (`show wrappers`); and library frames (`show library-frames`), which are functions of std::, __gnu_cxx::, and of Rust's core, alloc and std, functions from system headers, and system libraries. If no frame is left, it is the innermost function in the program's own modules that is neither an allocator nor a wrapper; failing that, the innermost function that is not an allocator, a library's wrapper or the caller of main. A function without a name is shown as MODULE+OFFSET of its first instruction. `list -cost` also charges an allocation to each line whose call was inlined.\n\nLive mappings that the program made with mmap, mremap, mprotect or sbrk have a table of their own, and so have pymalloc's arenas. An arena's row is the code that caused Python to allocate the arena, not necessarily its current user. `help live` explains what counts as a mapping.\n\n`per type` counts live blocks by type, with arrays of one type in one row whatever their length. Blocks of unknown type are counted for the function that they belong to, in a row with a ? in front. Without a recording it counts the blocks found by walking the heap. docs/heap.md says how types are found.\n\nretained counts the bytes that only the blocks of a row keep alive: what would become unreachable if nothing pointed to any of them, the blocks themselves included. A block counts once in each row that every path to it passes through, so the rows add up to more than the total. Lost blocks retain nothing that the program can reach. It needs a process whose memory can be searched, and works per function, line, module, type or global: a variable retains what would become unreachable if it were null, and its live column is what it points to directly. docs/heap.md defines what counts as a pointer.\n\nExamples:\n  top\n  top 5 by bytes\n  top peak per line\n  top per type\n  top by retained\n  top by retained per global"},
		leaksCommand(c),
		{Name: "temporary", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[N]", Short: "show the stacks of blocks that were freed before another one was allocated", Args: []shell.ArgKind{shell.ArgWord}, Run: c.Does(stackRanker(heap.ByTemporary)),
			Long: "Such a block could often be on the stack, or be reused.\n\nExample:\n  temporary 5"},
		{Name: "whence", Group: shell.GroupAllocs, While: shell.RunsAlongside, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "ADDRESS", Short: "show which recorded block an address is in, who allocated it and when", Repeat: shell.RepeatNone, Run: c.Does(runWhence),
			Long: "ADDRESS may be an expression, as for x: a pointer is the address that it holds, &NAME the address of a variable, #EVENT the block that an event made. A block that is not recorded is found by walking glibc's heap, but its allocator call is unknown.\n\nExamples:\n  whence 0x55555578a2c8\n  whence list->head\n  whence #4711\n  whence $1"},
		diffCommand(c),
	}
}

// perOf takes `per WORD`, one of pers, off the end of the words.
func perOf(in shell.Input, words, pers []string) ([]string, query.Per, error) {
	i := slices.Index(words, "per")
	if i < 0 {
		return words, query.PerFunction, nil
	}
	if i+2 == len(words) && slices.Contains(pers, words[i+1]) {
		return words[:i], query.Per(slices.Index(query.Pers[:], words[i+1])), nil
	}
	if i+2 < len(words) && slices.Contains(pers, words[i+1]) {
		first := strings.Join(slices.Concat(words[:i], words[i+2:], words[i:i+2]), " ")
		return nil, 0, fmt.Errorf("%s: %q: `per %s` comes last: %s %s", in.Name, strings.Join(words, " "), words[i+1], in.Name, first)
	}
	return nil, 0, fmt.Errorf("%s: %q: `per %s` expected", in.Name, strings.Join(words[i:], " "), strings.Join(pers, "|"))
}

// topPers are what the rows of top may represent.
var topPers = append(slices.Clone(query.Pers[:query.PerStack]), query.PerType.String(), query.PerGlobal.String())

func runTop(ctx context.Context, c *desk.Desk, in shell.Input) error {
	by, limit, chosen := heap.ByLive, 20, false
	args, per, err := perOf(in, in.Args, topPers)
	if err != nil {
		return err
	}
	measures := strings.Join(topMeasures, "|")
	if len(args) > 0 && args[0] != "by" && !slices.Contains(topMeasures, args[0]) {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("top: %q: a number of rows or `by %s` expected", args[0], measures)
		}
		limit, args = n, args[1:]
	}
	if len(args) > 0 {
		words := args
		if words[0] == "by" {
			words = words[1:]
		}
		i := -1
		if len(words) == 1 {
			i = slices.Index(topMeasures, words[0])
		}
		switch {
		case i < 0:
			return fmt.Errorf("top: %q: `by %s` expected", strings.Join(args, " "), measures)
		case words[0] == retained:
			return topRetained(ctx, c, in, per, limit)
		}
		by, chosen = heap.Measure(i), true
	}
	if per == query.PerGlobal {
		return errors.New("top: per global works only with `by retained`: variables allocate nothing")
	}
	if per == query.PerType {
		return topTypes(ctx, c, in, by, chosen, limit)
	}
	if !chosen {
		if by, err = c.Session.Queries.TopUsual(); err != nil {
			return err
		}
	}
	rows, err := c.Session.Queries.Top(by, per)
	if err != nil {
		return err
	}
	note := ""
	if !chosen && by == heap.ByPeak {
		live, err := c.Session.Queries.LiveBytes()
		if err != nil {
			return err
		}
		note = peakNote(c.Out.Sizes, live, liveMost(c, per, rows), "top by live")
	}
	rows = slices.DeleteFunc(rows, func(r heap.Row) bool { return !by.NonZero(r) })
	below := ""
	if per == query.PerFunction {
		below = belowText(by, rows)
	}
	top := topAnswer{below: below, rows: rows[:min(limit, len(rows))], by: by, per: per, total: len(rows), note: note}
	switch {
	case by == heap.ByPeak:
		mapped, all, peak, err := c.Session.Queries.MappedAtPeak(per)
		if err != nil {
			return err
		}
		top.mapped = &mappedTop{mapped[:min(limit, len(mapped))], all, len(mapped), &peak}
	case !chosen || by == heap.ByLive:
		mapped, all, err := c.Session.Queries.MappedTop(per)
		if err != nil {
			return err
		}
		top.mapped = &mappedTop{rows: mapped[:min(limit, len(mapped))], all: all, total: len(mapped)}
	}
	showTop(c, in, top)
	return nil
}

// liveMost is the row that has most at the end, "" if it is the first one, which had most at the peak.
func liveMost(c *desk.Desk, per query.Per, rows []heap.Row) string {
	best := 0
	for i := range rows {
		if rows[i].LiveBytes > rows[best].LiveBytes {
			best = i
		}
	}
	if best == 0 {
		return ""
	}
	return siteName(c.Out, per, rows[best].Site)
}

// belowText says what shows the functions that a row calls which has more than nine tenths, and of which no source is
// known: then libraries do the work.
func belowText(by heap.Measure, rows []heap.Row) string {
	var all uint64
	for _, r := range rows {
		all += by.Of(r)
	}
	if len(rows) == 0 || rows[0].Site.File != "" || by.Of(rows[0])/9 <= all/10 {
		return ""
	}
	return fmt.Sprintf("%s has %s of all, with what it calls in libraries: `tree --full` shows the functions there", rows[0].Site.Function, units.Percent(by.Of(rows[0]), all))
}

// A topView is a row of top in JSON.
type topView struct {
	Size *uint64 `json:"size,omitempty"` // of the blocks, per size
	heap.Row
}

func topViewOf(r heap.Row, per query.Per) topView { return topView{sizeOf(r.Site, per), r} }

// sizeOf is the size that a row represents, nil if rows represent something else.
func sizeOf(s heap.Site, per query.Per) *uint64 {
	if per != query.PerSize {
		return nil
	}
	return &s.Size
}

// topNumbers are the numbers that a measure is shown with, and their heads.
func topNumbers(sizes units.Sizes, by heap.Measure, r heap.Row) (numbers []screen.Span, heads [2]string) {
	switch by {
	case heap.ByBytes, heap.ByCount:
		return []screen.Span{screen.Plain(sizes.Short(r.Bytes)), screen.Plain(units.Grouped(r.Count))}, [2]string{"bytes", "calls"}
	case heap.ByTemporary:
		return []screen.Span{screen.Plain(units.Grouped(r.Temporary)), screen.Plain(units.Grouped(r.Count))}, [2]string{"temporary", "calls"}
	case heap.ByPeak:
		return []screen.Span{screen.Plain(sizes.Short(r.PeakBytes)), screen.Plain(sizes.Short(r.LiveBytes))}, [2]string{"peak", "live"}
	}
	return []screen.Span{screen.Plain(sizes.Short(r.LiveBytes)), screen.Plain(units.Grouped(r.LiveBlocks))}, [2]string{"live", "blocks"}
}

// topAnswer is what top shows: rows, of total, and why they are by this measure if it was not chosen.
type topAnswer struct {
	rows  []heap.Row
	by    heap.Measure
	per   query.Per
	total int
	note  string

	below  string     // what shows more of a row that has nearly all
	mapped *mappedTop // nil: the measure is not of what is live
}

func showTop(c *desk.Desk, in shell.Input, top topAnswer) {
	rows, by, per, total := top.rows, top.by, top.per, top.total
	views := make([]topView, 0, len(rows))
	var table [][]screen.Span
	for _, r := range rows {
		views = append(views, topViewOf(r, per))
		numbers, _ := topNumbers(c.Out.Sizes, by, r)
		table = append(table, append(numbers, screen.Func(siteName(c.Out, per, r.Site)), sitePlace(r.Site, per)))
	}
	var mappings *desk.MappingsView[mappedRowView]
	if top.mapped != nil {
		mappings = top.mapped.view(per)
	}
	c.Answer(in, struct {
		By    string    `json:"measure"`
		Per   string    `json:"per"`
		Total int       `json:"total"`
		Rows  []topView `json:"rows"`

		Mappings *desk.MappingsView[mappedRowView] `json:"mapped,omitempty"`
	}{by.String(), per.String(), total, views, mappings}, func(o *screen.Output) {
		if top.note != "" {
			o.Printf("%s\n", top.note)
		}
		if m := top.mapped; m != nil && m.peak != nil && m.peak.Mapped > 0 {
			p := m.peak
			o.Printf("peak %s, after event #%d: heap %s, mappings %s\n", o.Sizes.Long(p.Bytes), p.Seq, o.Sizes.Short(p.Bytes-p.Mapped), o.Sizes.Short(p.Mapped))
		}
		_, heads := topNumbers(o.Sizes, by, heap.Row{})
		switch {
		case len(rows) > 0:
			o.Table([]screen.Column{{Head: heads[0], Right: true}, {Head: heads[1], Right: true}, {Head: per.String()}, {}}, table)
		case by == heap.ByLive || by == heap.ByBlocks:
			o.Printf("%s\n", orWaiting(c.Session, noneLive))
		case by == heap.ByTemporary:
			o.Printf("%s\n", orWaiting(c.Session, "no recorded block was temporary"))
		default:
			o.Printf("%s\n", orWaiting(c.Session, "no allocation was recorded"))
		}
		if len(rows) < total {
			more := ""
			if per == query.PerType {
				more = " per type"
			}
			o.Printf("%d of %s; `top %d by %s%s` lists all\n", len(rows), units.Count(total, per.String()), total, by, more)
		}
		if top.below != "" {
			o.Printf("%s\n", top.below)
		}
		noteUnrecorded(c.Session, o, by == heap.ByLive)
		if top.mapped != nil {
			top.mapped.print(c, o, per)
		}
	})
}

// siteName is a site's function as the settings show it.
func siteName(o *screen.Output, per query.Per, s heap.Site) string {
	if per == query.PerSize {
		return o.Sizes.Long(s.Size)
	}
	names := o.Names
	return names.Short(names.Function(s.Function, s.Linkage))
}

// sitePlace is where a site is, of rows that represent one.
func sitePlace(s heap.Site, per query.Per) screen.Span {
	switch {
	case per != query.PerFunction && per != query.PerLine:
		return screen.Span{}
	case s.Line == 0 && report.RuntimeModule(s.Module):
		return screen.Guess("[" + s.Module + ", a runtime library]")
	case s.Line == 0 && s.File != "":
		return screen.File(screen.ShortPath(s.File))
	case s.Line == 0:
		return screen.Guess("[" + s.Module + "]")
	}
	return screen.File(fmt.Sprintf("%s:%d", screen.ShortPath(s.File), s.Line))
}

// rowCount reads an optional number of rows.
func rowCount(in shell.Input, otherwise int) (int, error) {
	switch {
	case len(in.Args) == 0:
		return otherwise, nil
	case len(in.Args) == 1:
		if n, err := strconv.Atoi(in.Args[0]); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s: %q: a number of rows expected", in.Name, strings.Join(in.Args, " "))
}

// stackRanker shows the stacks with the largest numbers.
func stackRanker(by heap.Measure) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		limit, err := rowCount(in, 5)
		if err != nil {
			return err
		}
		return rankStacks(c, in, by, limit)
	}
}

func rankStacks(c *desk.Desk, in shell.Input, by heap.Measure, limit int) error {
	rows, total, err := c.Session.Queries.TopStacks(by, limit)
	if err != nil {
		return err
	}
	showStackRows(c, in, rows, by, total, leftOut{}, mappedStacks{})
	return nil
}

// A stackRowView is what was allocated with one stack.
type stackRowView struct {
	heap.Row
	Frames []desk.FrameView `json:"frames"`
}

func viewStackRow(r query.StackRow) stackRowView {
	return stackRowView{r.Row, desk.ViewFrames(r.Stack.Frames)}
}

// printUserFrames prints a stack without its inner frames, of allocators, wrappers and libraries, up to the function that
// the block belongs to, and without outer ones that only lead to the user's code; set fold off shows both. all is the command
// that shows them anyway, "" none.
func printUserFrames(c *desk.Desk, o *screen.Output, st names.Stack, all string) {
	if !c.Set.Flag("fold") {
		desk.PrintFrames(o, st.Frames)
		return
	}
	user, outer, of, between := c.Session.Folds.Of(st.Frames)
	if user > 0 {
		if all != "" {
			all = "; `" + all + "` shows all"
		}
		o.Line(screen.Guess(fmt.Sprintf("(%s of allocators and libraries hidden%s)", units.Count(user, "frame"), all)))
	}
	desk.PrintFolded(o, st.Frames, user, len(st.Frames)-outer, between)
	if outer > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%d outer frames of %s hidden)", outer, of)))
	}
}

func showStackRows(c *desk.Desk, in shell.Input, rows []query.StackRow, by heap.Measure, total int, kept leftOut, mapped mappedStacks) {
	views := make([]stackRowView, 0, len(rows))
	for _, r := range rows {
		views = append(views, viewStackRow(r))
	}
	c.Answer(in, struct {
		By    string `json:"measure"`
		Total int    `json:"total"`
		query.Kept
		Rows     []stackRowView                      `json:"rows"`
		Mappings *desk.MappingsView[mappedStackView] `json:"mapped,omitempty"`
	}{by.String(), total, kept.Kept, views, mapped.view()}, func(o *screen.Output) {
		if len(rows) == 0 && by == heap.ByTemporary {
			o.Printf("%s\n", orWaiting(c.Session, "no recorded block was temporary"))
		} else if len(rows) == 0 && kept.Blocks > 0 {
			o.Printf("no recorded block of the program's own is live\n")
		} else if len(rows) == 0 {
			o.Printf("%s\n", orWaiting(c.Session, noneLive))
		}
		for _, r := range rows {
			if by == heap.ByTemporary {
				o.Printf("%s of %s temporary\n", units.Count(r.Temporary, "block"), units.Grouped(r.Count))
			} else {
				o.Printf("%s, of %s allocated\n", units.Blocks(o.Sizes, r.LiveBytes, r.LiveBlocks), units.Grouped(r.Count))
			}
			printUserFrames(c, o, r.Stack, "")
		}
		if len(rows) < total {
			o.Printf("%d of %s; `%s %d%s` shows all\n", len(rows), units.Count(total, "stack"), in.Name, total, kept.flag())
		}
		noteKept(o, kept.Kept)
		if len(rows) > 0 {
			kept.note(o)
		}
		if by == heap.ByLive && c.Session.Queries.PythonEnded() {
			o.Printf("Python frees its objects as it ends: `top` shows who held memory at the peak, and so does `leaks` after `goto peak`\n")
		}
		noteUnrecorded(c.Session, o, by == heap.ByLive)
		mapped.print(c, o, func(n int) string { return fmt.Sprintf("%s %d%s", in.Name, n, kept.flag()) })
	})
}

func runWhence(_ context.Context, c *desk.Desk, in shell.Input) error {
	addr, err := c.Eval.AddressOf(in, strings.TrimSpace(in.Raw))
	if err != nil {
		return err
	}
	w, err := c.Session.Queries.Whence(addr)
	if err != nil || w.Event == nil {
		if b, ok := c.Session.Heap.Block(addr); ok {
			showWalkedBlock(c, in, addr, b.Addr, b.Size)
			return nil
		}
	}
	if err != nil {
		return err
	}
	showWhence(c, in, w)
	return nil
}

type whenceView struct {
	Address string  `json:"address"`
	Block   string  `json:"block,omitempty"`
	Offset  *uint64 `json:"offset,omitempty"` // in the block
	Size    *uint64 `json:"size,omitempty"`   // of it
	desk.TypeView
	Field  string           `json:"field,omitempty"` // of the type, at the offset
	Age    int64            `json:"age_ns,omitempty"`
	Event  *desk.EventView  `json:"event,omitempty"`
	Frames []desk.FrameView `json:"frames,omitempty"`
	Last   *desk.EventView  `json:"last,omitempty"`
	Before uint64           `json:"freed_before,omitempty"` // the event that had freed what last frees

	Mapping *desk.MappedEventView `json:"mapping,omitempty"` // that the address is in, if in no block
}

func viewWhence(w *query.Whence) whenceView {
	v := whenceView{Address: fmt.Sprintf("%#x", w.Addr)}
	switch {
	case w.Event != nil:
		e := desk.ViewEvent(w.Event)
		v.Block, v.Offset, v.Size = fmt.Sprintf("%#x", w.Start), new(w.Addr-w.Start), &w.Event.Size
		v.Event, v.Age, v.Frames = &e, int64(w.Age), desk.ViewFrames(w.Frames)
		if v.TypeView = desk.ViewType(w.Type); w.Type != nil {
			v.Field, _ = w.Type.Field(w.Addr - w.Start)
		}
	case w.Last != nil:
		e := desk.ViewEvent(w.Last)
		v.Last = &e
		if w.Stray != nil && w.Stray.Before != nil {
			v.Before = w.Stray.Before.Seq
		}
	}
	if m := w.Mapping; m != nil {
		mapping := desk.ViewMapped(m.Event, m.Left)
		v.Mapping = &mapping
	}
	return v
}

func showWhence(c *desk.Desk, in shell.Input, w *query.Whence) {
	v := viewWhence(w)
	c.AnswerOfMemory(in, v, func(o *screen.Output) {
		switch {
		case w.Event != nil:
			o.Printf("%#x is byte %s of %s at %#x\n", w.Addr, units.Grouped(w.Addr-w.Start), o.Sizes.Long(w.Event.Size), w.Start)
			desk.PrintBlockType(o, w.Type, w.Addr-w.Start)
			o.Printf("#%d %s   thread %s   %s, %s ago\n", w.Event.Seq, desk.Called(o)(w.Event), desk.Runner(w.Event, desk.ThreadNames(c.Session)), units.Time(w.Event.Time), units.Time(w.Age))
			printUserFrames(c, o, names.Stack{Frames: w.Frames}, fmt.Sprintf("bt #%d", w.Event.Seq))
			return
		case w.Last != nil:
			o.Printf("%#x is in no live block that was recorded; the last event about it was #%d %s\n", w.Addr, w.Last.Seq, desk.Called(o)(w.Last))
			if w.Stray != nil {
				o.Printf("%s\n", desk.StrayText(o, w.Last, w.Stray))
			}
		default:
			o.Printf("%#x is in no block that was recorded\n", w.Addr)
		}
		if m := w.Mapping; m != nil {
			what := "a mapping of the program"
			if m.Left.Layer == query.PythonArenas {
				what = "an arena of pymalloc"
			}
			o.Printf("it is in %s, of which %s are left: #%d %s\n", what, o.Sizes.Long(m.Left.Size), m.Event.Seq, desk.Called(o)(m.Event))
		}
		if c.Session.PythonHeaps.Holds(w.Addr) {
			o.Line(screen.Guess(fmt.Sprintf("(it is in an arena of CPython's allocator: py block %#x)", w.Addr)))
		}
		if w.Below != 0 {
			o.Printf("below: %s at %#x, which ends %s before\n", o.Sizes.Long(w.BelowSize), w.Below, o.Sizes.Long(w.Addr-w.Below-w.BelowSize))
		}
		if w.Above != 0 {
			o.Printf("above: a block at %#x, %s after it\n", w.Above, o.Sizes.Long(w.Above-w.Addr))
		}
	})
}

// BlockHistory lists the recorded events about an address.
func BlockHistory(ctx context.Context, c *desk.Desk, in shell.Input) error {
	text, limit := strings.TrimSpace(in.Raw), 20
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		n, err := strconv.Atoi(text[i+1:])
		switch {
		case text[i+1:] == "all":
			text, limit = strings.TrimSpace(text[:i]), 0
		case err == nil && n > 0:
			text, limit = strings.TrimSpace(text[:i]), n
		}
	}
	addr, err := c.Eval.AddressOf(in, text)
	if err != nil {
		return err
	}
	events, total, more, err := c.Session.Queries.History(addr, limit)
	if err != nil {
		return err
	}
	in.Name += " " + text
	list := desk.EventList{In: in, Which: "the last", None: fmt.Sprintf("no recorded event has the address %#x", addr)}
	return desk.ListEvents(ctx, c, list, slices.Values(events), func() desk.Listed { return desk.Listed{Total: total, More: more} })
}
