package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/heap"
	"hdb/internal/cond"
	"hdb/session"
)

func allocCommands() []*Command {
	return []*Command{
		recordCommand(),
		{Name: "allocs", Group: GroupAllocs, Raw: true, Synopsis: "[N | all] [if CONDITION]", Short: "list recorded events, the last 20 unless told otherwise", Args: []ArgKind{ArgCondition}, Run: runAllocs,
			Long: "Each row shows the event, when and in which thread it happened, and the first frame of the user's code. `bt #N` and `list #N` show more of one.\n\nExamples:\n  allocs\n  allocs 5 if size >= 1MiB\n  allocs all if func(\"parse\")"},
		{Name: "live", Group: GroupAllocs, Raw: true, Synopsis: "[N | all] [if CONDITION]", Short: "list recorded blocks that were not given back, largest first", Args: []ArgKind{ArgCondition}, Run: runLive,
			Long: "Examples:\n  live\n  live all if size >= 64k"},
		{Name: "top", Group: GroupAllocs, Synopsis: "[N] [[by] live|bytes|count]", Short: "rank functions by what they allocated", Args: []ArgKind{ArgWord}, Run: runTop,
			Long: "live is what they have not given back, bytes all they asked for, count how often.\n\nA row is the function that allocs shows: the first one of the user's code that is no wrapper. What the compiler has merged into it counts for it; `bt #N` shows these [inlined] frames, and `list -cost` has the lines of both.\n\nExamples:\n  top\n  top 5 by bytes"},
		{Name: "alloc", Group: GroupAllocs, Synopsis: "list\nadd FUNCTION size=ARGn [ptr=RET]\nadd FUNCTION free=ARGn", Short: "list the allocator functions, or name one of your own", Args: []ArgKind{ArgSub, ArgFunction},
			Long: "Example:\n  alloc add pool_get size=ARG2 ptr=RET",
			Sub: []*Command{
				{Name: "list", Short: "list the functions whose calls are events", Run: runAllocList},
				{Name: "add", Raw: true, Synopsis: "FUNCTION size=ARGn [count=ARGn] [align=ARGn] [old=ARGn] [ptr=RET | ptr=*ARGn]\nFUNCTION free=ARGn", Short: "make calls of a function events", Args: []ArgKind{ArgFunction}, Repeat: RepeatNone, Run: runAllocAdd,
					Long: "ARG1 is the first integer or pointer argument, RET the result, *ARGn what an argument points to afterwards; a number is a constant. old= makes it a realloc.\n\nExample:\n  alloc add pool_get size=ARG2 ptr=RET\n  alloc add pool_put free=ARG2"},
			}},
		{Name: "goto", Group: GroupAllocs, Synopsis: "#N", Short: "select an event of a capture", Needs: NeedData, Repeat: RepeatNone, Run: runGoto,
			Long: "bt, frame and list then show its stack.\n\nExample:\n  goto #4711"},
	}
}

// rowLimit reads `[N | all]` and the condition behind it.
func rowLimit(in Input) (limit int, condition *cond.Cond, err error) {
	limit = 20
	word, rest := splitWord(in.Raw)
	if word == "all" {
		in.Raw, limit = rest, 0
	}
	n, condition, err := countAndCondition(in)
	if n > 0 {
		limit = n
	}
	return limit, condition, err
}

func runAllocs(ctx context.Context, c *Console, in Input) error {
	limit, condition, err := rowLimit(in)
	if err != nil {
		return err
	}
	seq, err := c.s.Recorded(condition, false)
	if err != nil {
		return err
	}
	var rows []*session.Event
	total := 0
	for e := range seq {
		if ctx.Err() != nil {
			return errInterrupted
		}
		total++
		rows = append(rows, e)
		if limit > 0 && len(rows) >= 2*limit {
			rows = append(rows[:0], rows[len(rows)-limit:]...)
		}
	}
	if limit > 0 && len(rows) > limit {
		rows = rows[len(rows)-limit:]
	}
	c.showEvents(in, rows, total, condition, "the last", "no recorded event matches")
	return nil
}

func runLive(ctx context.Context, c *Console, in Input) error {
	limit, condition, err := rowLimit(in)
	if err != nil {
		return err
	}
	seq, err := c.s.Recorded(condition, true)
	if err != nil {
		return err
	}
	var rows []*session.Event
	bytes := uint64(0)
	for e := range seq {
		if ctx.Err() != nil {
			return errInterrupted
		}
		rows = append(rows, e)
		bytes += e.Size
	}
	slices.SortStableFunc(rows, func(a, b *session.Event) int { return cmp.Compare(b.Size, a.Size) })
	total := len(rows)
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	none := noneLive
	if condition != nil {
		none += " and matches"
	}
	c.showEvents(in, rows, total, condition, "the largest", none)
	if c.cfg.JSON {
		return nil
	}
	if total > 0 {
		c.out.printf("live: %s in %s\n", longSize(bytes), counted(total, "recorded block"))
		c.noteBlind()
	}
	if condition == nil {
		c.noteUnrecorded(c.out, true)
	}
	return nil
}

// noteUnrecorded says that there was more than what is recorded: blocks that live,
// or events.
func (c *Console) noteUnrecorded(o *output, live bool) {
	if c.s.Mode() == session.Saved {
		if recorded, seen := c.s.Recordings(); recorded != seen {
			o.printf("of the recorded events only: the capture has %s of %s\n", grouped(recorded), grouped(seen))
		}
		return
	}
	st := c.s.RecordStatus()
	why := ""
	if st.Filter != "" {
		why = "; the filter is " + st.Filter
	}
	switch {
	case live && st.KeptBlocks != st.LiveBlocks:
		o.printf("not recorded: %s of %s%s\n", counted(st.LiveBlocks-st.KeptBlocks, "more live block"), longSize(st.LiveBytes-st.KeptBytes), why)
	case !live && st.Recorded != st.Seen:
		o.printf("of the recorded events only: %s of %s%s\n", grouped(st.Recorded), grouped(st.Seen), why)
	}
}

// noneLive is what there is to say of a heap that is empty, as far as it is known.
const noneLive = "no recorded block is live"

// showEvents prints events as a table, with the place in the user's code, or why
// there are none.
func (c *Console) showEvents(in Input, rows []*session.Event, total int, condition *cond.Cond, which, none string) {
	views := make([]eventView, 0, len(rows))
	var table [][]span
	names := c.threadNames()
	for _, e := range rows {
		v := viewEvent(e)
		where := c.eventPlace(e)
		v.Where = strings.TrimSpace(where[0].text + " " + where[1].text)
		where[0].text = c.out.names.short(where[0].text)
		views = append(views, v)
		table = append(table, []span{
			{styleHead, fmt.Sprintf("#%d", e.Seq)}, {plain, shortTime(e.Time)}, {plain, names[int(e.TID)]},
			{plain, shortSize(e.Size)}, {plain, v.Call}, where[0], where[1],
		})
	}
	c.show(in, struct {
		Total  int         `json:"total"`
		Events []eventView `json:"events"`
	}{total, views}, func(o *output) {
		if total == 0 {
			o.printf("%s\n", none)
			return
		}
		o.table([]column{{head: "event", right: true}, {head: "time", right: true}, {head: "thread", right: true}, {head: "size", right: true}, {head: "call"}, {head: "function"}, {head: ""}}, table)
		if len(rows) < total {
			all := in.Name + " all"
			if condition != nil {
				all += " if ..."
			}
			o.printf("%s %d of %s; `%s` lists all\n", which, len(rows), grouped(total), all)
		}
	})
}

// noteBlind says when what seems to live may be gone.
func (c *Console) noteBlind() {
	if c.s.Blind() {
		c.Notify("the program ran on while not every allocator call was followed: some of these blocks may be freed by now")
	}
}

// threadNames maps thread IDs to the numbers that users see.
func (c *Console) threadNames() map[int]string {
	names := map[int]string{}
	for _, t := range c.s.RecordedThreads() {
		names[int(t.TID)] = strconv.Itoa(t.Num)
	}
	return names
}

// eventPlace is the function and place of an event's first frame with a line,
// or of its first frame.
func (c *Console) eventPlace(e *session.Event) [2]span {
	_, st, err := c.s.EventStack(e.Seq)
	if err != nil || len(st.Frames) == 0 {
		return [2]span{}
	}
	f := st.Frames[c.s.UserFrame(st.Frames)]
	return [2]span{c.out.wholeName(f)[0], framePlace(f)}
}

func runTop(_ context.Context, c *Console, in Input) error {
	by, limit := heap.ByLive, 20
	args := in.Args
	if len(args) > 0 && args[0] != "by" && !slices.Contains(heap.Measures[:], args[0]) {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("top: %q: a number of rows or `by live|bytes|count` expected", args[0])
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
			i = slices.Index(heap.Measures[:], words[0])
		}
		if i < 0 {
			return fmt.Errorf("top: %q: `by live`, `by bytes` or `by count` expected", strings.Join(args, " "))
		}
		by = heap.Measure(i)
	}
	rows, err := c.s.Top(by)
	if err != nil {
		return err
	}
	if by == heap.ByLive { // of what they gave back the other measures tell
		rows = slices.DeleteFunc(rows, func(r heap.Row) bool { return r.LiveBlocks == 0 })
	}
	total := len(rows)
	rows = rows[:min(limit, total)]
	c.showTop(in, rows, by, total)
	return nil
}

type topView struct {
	Function  string `json:"function"`
	Linkage   string `json:"linkage,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Module    string `json:"module,omitempty"`
	Bytes     uint64 `json:"bytes"`
	Count     uint64 `json:"count"`
	LiveBytes uint64 `json:"live_bytes"`
	LiveCount uint64 `json:"live_blocks"`
}

func (c *Console) showTop(in Input, rows []heap.Row, by heap.Measure, total int) {
	views := make([]topView, 0, len(rows))
	var table [][]span
	for _, r := range rows {
		s := r.Site
		views = append(views, topView{s.Function, s.Linkage, s.File, s.Line, s.Module, r.Bytes, r.Count, r.LiveBytes, r.LiveBlocks})
		place := span{styleFile, fmt.Sprintf("%s:%d", shortPath(s.File), s.Line)}
		if s.Line == 0 {
			place = span{styleGuess, "[" + s.Module + "]"}
		}
		numbers := []span{{plain, shortSize(r.LiveBytes)}, {plain, grouped(r.LiveBlocks)}}
		if by != heap.ByLive {
			numbers = []span{{plain, shortSize(r.Bytes)}, {plain, grouped(r.Count)}}
		}
		table = append(table, append(numbers, span{styleFunc, c.out.names.short(c.out.names.function(s.Function, s.Linkage))}, place))
	}
	c.show(in, struct {
		By    string    `json:"by"`
		Total int       `json:"total"`
		Rows  []topView `json:"rows"`
	}{by.String(), total, views}, func(o *output) {
		heads := []column{{head: "live", right: true}, {head: "blocks", right: true}, {head: "function"}, {}}
		none := noneLive
		if by != heap.ByLive {
			none = "no allocation was recorded"
			heads[0].head, heads[1].head = "bytes", "calls"
		}
		if len(rows) == 0 {
			o.printf("%s\n", none)
		} else {
			o.table(heads, table)
		}
		if len(rows) < total {
			o.printf("%d of %s; `top %d by %s` lists all\n", len(rows), counted(total, "function"), total, by)
		}
		c.noteUnrecorded(o, by == heap.ByLive)
	})
}

func runAllocList(_ context.Context, c *Console, in Input) error {
	type view struct {
		Name   string `json:"name"`
		Symbol string `json:"symbol"`
		Kind   string `json:"kind"`
		Group  string `json:"group"`
	}
	var views []view
	var rows [][]span
	for _, f := range c.s.AllocFunctions() {
		views = append(views, view{f.Name, f.Symbol, f.Kind.String(), f.Group})
		rows = append(rows, []span{{styleFunc, f.Name}, {plain, f.Kind.String()}, {plain, f.Group}, {styleGuess, f.Symbol}})
	}
	c.show(in, struct {
		Functions []view `json:"functions"`
	}{views}, func(o *output) {
		o.table([]column{{head: "function"}, {head: "kind"}, {head: "group"}, {head: "symbol"}}, rows)
	})
	return nil
}

func runAllocAdd(_ context.Context, c *Console, in Input) error {
	if in.Raw == "" {
		return errors.New("alloc add: FUNCTION size=ARGn ptr=RET must follow")
	}
	f, err := c.s.AddFunction(in.Raw)
	if err != nil {
		return err
	}
	c.say("calls of %s are events of kind %s now", f.Name, f.Kind.String())
	return nil
}

// eventNumber reads #4711.
func eventNumber(word string) (uint64, bool) {
	digits, ok := strings.CutPrefix(word, "#")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

func runGoto(_ context.Context, c *Console, in Input) error {
	n, ok := eventNumber(in.Arg(0))
	if !ok {
		return fmt.Errorf("goto: %q: an event like #4711 expected", in.Arg(0))
	}
	return c.reported(in)(c.s.Goto(n))
}
