package allocs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/units"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session"
	"hdb/session/allocators"
	"hdb/session/heaps"
	"hdb/session/target"
	"hdb/values/blocktype"
)

func allocCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		recordCommand(c),
		assertCommand(c),
		{Name: "allocs", Group: shell.GroupAllocs, While: shell.RunsAlongside, Raw: true, Synopsis: "[N | all] [since MOMENT] [if CONDITION]", Short: "list recorded events, by default the last 20", Args: []shell.ArgKind{shell.ArgSince}, Run: c.Does(runAllocs),
			Long: "Each row shows the event, when and in which thread it happened, and the function that the block belongs to (see `help top`). `bt #N` and `list #N` show the stack and the source of one event. With `since` it lists the events after a moment, in any form that goto takes.\n\nExamples:\n  allocs\n  allocs 5 if size >= 1MiB\n  allocs since warm\n  allocs all if func(\"parse\")"},
		{Name: "live", Group: shell.GroupAllocs, While: shell.RunsAlongside, Raw: true, Synopsis: "[N | all] [since MOMENT] [if CONDITION]", Short: "list recorded live blocks and mappings, largest first", Args: []shell.ArgKind{shell.ArgSince}, Run: c.Does(runLive),
			Long: "With `since` it lists the blocks that were allocated after the moment, in any form that goto takes. `leaks since MOMENT` shows their stacks.\n\nAfter the blocks come the mappings that the program made itself with mmap, mremap, mprotect or sbrk and did not unmap, in whole pages, each with the size that is still mapped. Pages that cannot be accessed (PROT_NONE) are shown as reserved; they count as memory once mprotect makes them accessible. Mappings of allocators, of the dynamic linker and of the C library, such as thread stacks, are left out; pymalloc's arenas are shown if the blocks in them are not recorded. `kind(mmap)` selects mappings. Totals never mix blocks and mappings, because blocks are inside mappings.\n\nExamples:\n  live\n  live if kind(mmap)\n  live all if size >= 64k\n  live since warm"},
		{Name: "alloc", Group: shell.GroupAllocs, Synopsis: "list\nadd FUNCTION size=ARGn [ptr=RET]\nadd FUNCTION free=ARGn", Short: "list the allocator functions, or add one of your own", Args: []shell.ArgKind{shell.ArgSub, shell.ArgFunction},
			Long: "FUNCTION is written as for `break`: pool_get, Pool::get, Pool<int>::get(long), pool.c:get, a linkage name or *ADDRESS; or as MODULE+0xOFFSET, which is how a function of a stripped file is shown. A function not found in any loaded library stays pending.\n\nExample:\n  alloc add pool_get size=ARG2 ptr=RET",
			Sub: []*shell.Command{
				{Name: "list", Short: "list the functions whose calls are recorded as events", Run: c.Does(runAllocList)},
				{Name: "add", Raw: true, Synopsis: "FUNCTION size=ARGn [count=ARGn] [align=ARGn] [old=ARGn] [ptr=RET | ptr=*ARGn]\nFUNCTION free=ARGn", Short: "record the calls of a function as events", Args: []shell.ArgKind{shell.ArgFunction}, Repeat: shell.RepeatNone, Run: c.Does(runAllocAdd),
					Long: "FUNCTION is written as for `break`, or as MODULE+0xOFFSET; the functions that it matches are listed. A name selects all its overloads: add the parameter types to select one. A function not found in any loaded library stays pending. Inlined calls cannot be followed; hdb says how many there are.\n\nARG1 is the first integer or pointer argument (`this` in a method), RET the result, *ARGn the value that an argument points to after the call; a number is a constant. old= marks the function as a realloc.\n\nExample:\n  alloc add pool_get size=ARG2 ptr=RET\n  alloc add pool_put free=ARG2\n  alloc add app::Pool::get size=ARG2\n  alloc add libpool.so+0x1149 size=ARG1"},
			}},
	}
}

// rowLimit reads `[N | all] [since MOMENT]` and the condition behind it.
func rowLimit(c *desk.Desk, in shell.Input) (limit int, from query.Moment, condition *cond.Cond, err error) {
	limit = 20
	if in, from, err = since(c, in); err != nil {
		return 0, from, nil, err
	}
	word, rest := shell.SplitWord(in.Raw)
	if word == "all" {
		in.Raw, limit = rest, 0
	}
	n, condition, err := desk.CountAndCondition(in)
	if n > 0 {
		limit = n
	}
	return limit, from, condition, err
}

func runAllocs(ctx context.Context, c *desk.Desk, in shell.Input) error {
	limit, from, condition, err := rowLimit(c, in)
	if err != nil {
		return err
	}
	seq, err := c.Session.Queries.Events(condition, from)
	if err != nil {
		return err
	}
	list := desk.EventList{In: in, From: from, Condition: condition, Which: "the last", None: orWaiting(c.Session, noMatch)}
	total := 0
	counted := func(yield func(*recording.Event) bool) {
		for e := range seq {
			if total++; !yield(e) {
				return
			}
		}
	}
	if limit == 0 {
		return desk.ListEvents(ctx, c, list, counted, func() desk.Listed { return desk.Listed{Total: total} })
	}
	var rows []*recording.Event
	for e := range counted {
		if ctx.Err() != nil {
			return shell.ErrInterrupted
		}
		if rows = append(rows, e); len(rows) >= 2*limit {
			rows = append(rows[:0], rows[len(rows)-limit:]...)
		}
	}
	rows = rows[max(0, len(rows)-limit):]
	return desk.ListEvents(ctx, c, list, slices.Values(rows), func() desk.Listed { return desk.Listed{Total: total} })
}

const noMatch = "no recorded event matches"

func runLive(ctx context.Context, c *desk.Desk, in shell.Input) error {
	limit, from, condition, err := rowLimit(c, in)
	if err != nil {
		return err
	}
	live, err := c.Session.Queries.Live(ctx, condition, from, limit)
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		if from.IsPresent() && c.Session.Heap.Unrecorded(err) {
			return showWalked(ctx, c, in, condition, limit)
		}
		return err
	}
	rows, mapped, err := c.Session.Queries.MappedLive(ctx, condition, from, limit)
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return err
	}
	total := live.Blocks
	none, head := noneLive, "live"
	if !from.IsPresent() {
		none, head = none+" that was allocated since "+from.String(), "live since "+from.String()
	}
	if condition != nil {
		none += " and matches"
		if len(mapped.Blocks) > 0 { // those do
			none = ""
		}
	}
	var unfollowed *heaps.WalkedBlocks
	if condition == nil && from.IsPresent() {
		if unfollowed, err = c.Session.Heap.UnrecordedBlocks(ctx); err != nil {
			return shell.ErrInterrupted
		}
	}
	below := func(o *screen.Output) {
		if total > 0 {
			o.Printf("%s: %s in %s\n", head, o.Sizes.Long(live.Bytes), units.Count(total, "recorded block"))
		}
		switch {
		case condition != nil:
		case unfollowed != nil:
			noteUnfollowed(o, unfollowed)
		default:
			noteUnrecorded(c.Session, o, true)
		}
		printMappedLive(c, o, rows, mapped)
	}
	list := desk.EventList{In: in, From: from, Condition: condition, Which: "the largest", None: orWaiting(c.Session, none), Below: below, Unfollowed: unfollowed}
	list.Types = typesOf(c, live.Largest)
	list.Mappings = viewMappings(mapped, viewMappedEvents(c, rows), len(mapped.Blocks))
	return desk.ListEvents(ctx, c, list, slices.Values(live.Largest), func() desk.Listed { return desk.Listed{Total: total} })
}

// typesOf tells the types of live blocks; nil if none of the first is known.
func typesOf(c *desk.Desk, events []*recording.Event) func(*recording.Event) *blocktype.Type {
	types := func(e *recording.Event) *blocktype.Type {
		return c.Session.BlockTypes.OfEvent(e)
	}
	for _, e := range events[:min(len(events), desk.ListPart)] {
		if types(e) != nil {
			return types
		}
	}
	return nil
}

// noteUnfollowed says which live blocks the heap itself has in addition to the recorded ones.
func noteUnfollowed(o *screen.Output, w *heaps.WalkedBlocks) {
	if w.Blocks == 0 {
		return
	}
	o.Printf("not recorded: %s in %s, by usable size, found in the heap itself\n", o.Sizes.Long(w.Bytes), units.Count(w.Blocks, "live block"))
	if w.Go {
		o.Printf("%s\n", ofSlots)
	}
}

// noteUnrecorded says that there was more than what is recorded: blocks that live,
// or events.
func noteUnrecorded(s *session.Session, o *screen.Output, live bool) {
	if s.Mode() == target.Saved {
		if recorded, seen := s.Recorded.Counts(); recorded != seen {
			o.Printf("based on recorded events only: the capture has %s of %s\n", units.Grouped(recorded), units.Grouped(seen))
		}
		return
	}
	st := s.Recorded.Status()
	why := ""
	if st.Filter != "" {
		why = "; the filter is " + st.Filter
	}
	switch {
	case live && st.KeptBlocks != st.LiveBlocks:
		if st.Doubt != report.NoDoubt {
			why = ", which may be freed by now" + why
		}
		if st.CallsMissed {
			why = ", and what was allocated before hdb followed the calls" + why
		}
		o.Printf("not recorded: %s of %s%s\n", units.Count(st.LiveBlocks-st.KeptBlocks, "more live block"), o.Sizes.Long(st.LiveBytes-st.KeptBytes), why)
	case !live && st.Recorded != st.Seen:
		o.Printf("based on recorded events only: %s of %s%s\n", units.Grouped(st.Recorded), units.Grouped(st.Seen), why)
	}
}

// orWaiting is what there is to say of an empty answer, unless nothing was recorded yet.
func orWaiting(s *session.Session, none string) string {
	if text := s.Recorded.Waiting(); text != "" {
		return text
	}
	return none
}

// noneLive is what there is to say of a heap that is empty, as far as it is known.
const noneLive = "no recorded block is live"

func runAllocList(_ context.Context, c *desk.Desk, in shell.Input) error {
	type view struct {
		Name   string `json:"name"`
		Symbol string `json:"symbol"`
		Kind   string `json:"kind"`
		Group  string `json:"group"`
	}
	var views []view
	var rows [][]screen.Span
	for _, f := range c.Session.Allocators.All() {
		views = append(views, view{f.Name, f.Symbol, f.Kind.String(), f.Group})
		rows = append(rows, []screen.Span{screen.Func(f.Name), screen.Plain(f.Kind.String()), screen.Plain(f.Group), screen.Guess(f.Symbol)})
	}
	c.Show(in, struct {
		Functions []view `json:"functions"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "function"}, {Head: "kind"}, {Head: "group"}, {Head: "symbol"}}, rows)
	})
	return nil
}

func runAllocAdd(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("alloc add: FUNCTION size=ARGn ptr=RET must follow")
	}
	f, err := c.Session.Allocators.Add(in.Raw)
	if err != nil {
		return fmt.Errorf("alloc add: %w", err)
	}
	c.Show(in, struct {
		Name     string              `json:"name"`
		Kind     string              `json:"kind"`
		Pending  bool                `json:"pending,omitempty"`
		Meant    string              `json:"did_you_mean,omitempty"`
		Places   []breakpoints.Place `json:"places,omitempty"`
		Warnings []string            `json:"warnings,omitempty"`
	}{f.Name, f.Kind.String(), len(f.Places) == 0, f.Meant, f.Places, f.Warnings}, func(o *screen.Output) {
		for _, line := range AddedText(f) {
			o.Printf("%s\n", line)
		}
		o.Careful(f.Warnings)
	})
	return nil
}

// maxMatched is how many of the places of one function are listed.
const maxMatched = 10

// AddedText says what alloc add matched, a line each; the warnings are not among them.
func AddedText(f *allocators.UserFunction) []string {
	switch len(f.Places) {
	case 0:
		line := f.Name + ": no such place yet, pending"
		if f.Meant != "" {
			line += "; did you mean " + f.Meant + "?"
		}
		return []string{line}
	case 1:
		return []string{fmt.Sprintf("calls of %s are events of kind %s now: %s", f.Name, f.Kind, matchedText(f.Places[0]))}
	}
	lines := []string{fmt.Sprintf("calls of %s are events of kind %s now: %s", f.Name, f.Kind, units.Count(len(f.Places), "place"))}
	for _, p := range f.Places[:min(len(f.Places), maxMatched)] {
		lines = append(lines, "  "+matchedText(p))
	}
	if more := len(f.Places) - maxMatched; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// matchedText is a function that was matched: what it is, where, and in which module.
func matchedText(p breakpoints.Place) string {
	return desk.PlaceText(p) + " in " + filepath.Base(p.Module)
}
