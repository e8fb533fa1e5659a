package desk

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/units"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session"
	"hdb/session/heaps"
	"hdb/values/blocktype"
)

// An EventList is how a command lists events.
type EventList struct {
	In        shell.Input
	From      query.Moment
	Condition *cond.Cond // which they match, nil: any
	Which     string     // those that are shown when not all are: "the last"
	None      string     // what is said when there are none; "" nothing
	Below     func(o *screen.Output)
	Mappings  *MappingsView[MappedEventView]         // that are live, in JSON; nil: none
	Types     func(*recording.Event) *blocktype.Type // of live blocks; nil: they are not told

	Unfollowed *heaps.WalkedBlocks // that are live, too, in JSON; nil: not known
}

// typed is an event with the type of its block.
type typed struct {
	EventView
	TypeView
}

// TypeText is a type in a row: a guess has a question mark.
func TypeText(o *screen.Output, t *blocktype.Type) screen.Span {
	switch {
	case t == nil:
		return screen.Span{}
	case t.How == blocktype.Guess:
		return screen.Guess(o.Names.Short(t.String()) + "?")
	case !t.How.Sure():
		return screen.Guess("perhaps " + o.Names.Short(t.String()))
	}
	return screen.Plain(o.Names.Short(t.String()))
}

// typedColumns are eventColumns and the types of live blocks.
var typedColumns = append(slices.Clone(EventColumns), screen.Column{Head: "type"})

// Listed is what the rows of a list are of.
type Listed struct {
	Total int
	More  bool // there may be more than total
}

// ListPart is how many events are laid out before they are printed: a user who has seen enough, or
// an output that is full, ends a list of millions at the next part.
const ListPart = 256

// ListEvents prints events as they are found, or why there are none: as a table with the place
// in the user's code, or as an object of JSON. of is asked behind the last one.
func ListEvents(ctx context.Context, c *Desk, l EventList, events iter.Seq[*recording.Event], of func() Listed) error {
	var show eventPrinter = newEventTable(c, l)
	if c.Opt.JSON {
		c.Notices.Hold() // their lines have no place within this one
		defer c.Notices.Release()
		show = newEventObject(c, l)
	}
	var part []*recording.Event
	for e := range events {
		if ctx.Err() != nil {
			show.cut()
			return shell.ErrInterrupted
		}
		if part = append(part, e); len(part) < ListPart {
			continue
		}
		if show.add(part); c.Out.Stopped() {
			show.cut()
			return nil
		}
		part = part[:0]
	}
	if len(part) > 0 {
		show.add(part)
	}
	if c.Out.Stopped() { // the events may have ended early for that
		show.cut()
		return nil
	}
	show.end(of())
	return nil
}

// An eventPrinter prints a list part by part.
type eventPrinter interface {
	add(part []*recording.Event)
	end(of Listed)
	cut() // ends a list of which not all was printed
}

// eventTable prints a list as a table.
type eventTable struct {
	c     *Desk
	list  EventList
	names map[int]string // of threads
	table *screen.LongTable
	shown int
	stray bool // a free of no live block is among them
}

func newEventTable(c *Desk, l EventList) *eventTable {
	columns := EventColumns
	if l.Types != nil {
		columns = typedColumns
	}
	return &eventTable{c: c, list: l, names: ThreadNames(c.Session), table: screen.NewLongTable(c.Out, columns)}
}

func (t *eventTable) add(part []*recording.Event) {
	t.shown += len(part)
	rows := make([][]screen.Span, len(part))
	for i, e := range part {
		t.stray = t.stray || !e.SizeKnown()
		rows[i] = EventRow(t.c, e, EventPlace(t.c, e), t.names)
		if t.list.Types != nil {
			rows[i] = append(rows[i], TypeText(t.c.Out, t.list.Types(e)))
		}
	}
	t.table.Add(rows)
}

func (t *eventTable) end(of Listed) {
	endOfList(t.c.Out, t.list, t.shown, of)
	if t.stray {
		t.c.Out.Line(screen.Guess("(?: a free of no live block that was recorded)"))
	}
	t.c.Out.Careful(t.c.Session.Recorded.Gaps())
}

func (t *eventTable) cut() {}

// endOfList is what is below a list.
func endOfList(o *screen.Output, l EventList, shown int, of Listed) {
	if l.Below != nil {
		defer l.Below(o)
	}
	if of.Total == 0 {
		if l.None != "" {
			o.Printf("%s\n", l.None)
		}
		return
	}
	if shown == of.Total && !of.More {
		return
	}
	all := l.In.Name + " all"
	if !l.From.IsPresent() {
		all += " since " + l.From.String()
	}
	if l.Condition != nil {
		all += " if " + strings.TrimSpace(l.Condition.Source())
	}
	total := units.Grouped(of.Total)
	if of.More {
		total += " or more"
	}
	o.Printf("%s %d of %s; `%s` lists all\n", l.Which, shown, total, all)
}

// eventObject prints {"v":1,"command":NAME,"events":[...],"total":N}, of a list that was
// interrupted {"v":1,"command":NAME,"events":[...],"interrupted":true}.
type eventObject struct {
	c      *Desk
	head   string // the fields that each object begins with
	name   string
	before string // what is before the next event
	list   EventList
}

func newEventObject(c *Desk, l EventList) *eventObject {
	head := strings.TrimSuffix(shell.JSONLine(l.In.Name, struct{}{}), "}\n")
	return &eventObject{c: c, head: head, name: l.In.Name, before: head + `,"events":[`, list: l}
}

func (o *eventObject) add(part []*recording.Event) {
	if o.c.Out.Stopped() {
		return
	}
	var b strings.Builder
	for _, e := range part {
		v, where := ViewEvent(e), EventPlace(o.c, e)
		v.Where = strings.TrimSpace(where[0].Text + " " + where[1].Text)
		b.WriteString(o.before)
		var of *blocktype.Type
		if o.list.Types != nil {
			of = o.list.Types(e)
		}
		b.WriteString(shell.JSONText(typed{v, ViewType(of)}))
		o.before = ","
	}
	o.c.Out.Raw(b.String())
}

func (o *eventObject) end(of Listed) {
	defer o.c.Out.Whole()()
	rest := shell.JSONLine(o.name, struct {
		Total int  `json:"total"`
		More  bool `json:"more,omitempty"`

		Mappings *MappingsView[MappedEventView] `json:"mapped,omitempty"`
		*unfollowedView
	}{of.Total, of.More, o.list.Mappings, viewUnfollowed(o.list.Unfollowed)}, o.c.Session.Recorded.Gaps()...)
	o.c.Out.Raw(strings.TrimPrefix(o.before, ",") + "]" + rest[len(o.head):])
}

// An unfollowedView sums up the live blocks that only the heap itself has.
type unfollowedView struct {
	Blocks int    `json:"not_recorded"`
	Bytes  uint64 `json:"not_recorded_bytes"`
}

func viewUnfollowed(w *heaps.WalkedBlocks) *unfollowedView {
	if w == nil {
		return nil
	}
	return &unfollowedView{w.Blocks, w.Bytes}
}

// cut ends the object where it is, if it has begun: a reader can tell a list that is not
// whole from one that is.
func (o *eventObject) cut() {
	if o.before != "," {
		return
	}
	defer o.c.Out.Whole()()
	o.c.Out.Raw(`],"interrupted":true}` + "\n")
}

// EventColumns are those of a list of events.
var EventColumns = []screen.Column{{Head: "event", Right: true}, {Head: "time", Right: true}, {Head: "thread", Right: true}, {Head: "size", Right: true}, {Head: "call"}, {Head: "function"}, {Head: ""}}

// EventRow is an event in a list of them.
func EventRow(c *Desk, e *recording.Event, where [2]screen.Span, names map[int]string) []screen.Span {
	where[0].Text = c.Out.Names.Short(where[0].Text)
	size := "?"
	if e.SizeKnown() {
		size = c.Out.Sizes.Short(e.Size)
	}
	return []screen.Span{
		screen.Head(fmt.Sprintf("#%d", e.Seq)), screen.Plain(units.Time(e.Time)), screen.Plain(Runner(e, names)),
		screen.Plain(size), screen.Plain(Called(c.Out)(e)), where[0], where[1],
	}
}

// Runner is the thread of an event, by its number, or where it is known the goroutine: g17.
func Runner(e *recording.Event, threads map[int]string) string {
	if id, ok := e.Goroutine(e.Function); ok {
		return fmt.Sprintf("g%d", id)
	}
	return threads[int(e.TID)]
}

// ThreadNames maps thread IDs to the numbers that users see.
func ThreadNames(s *session.Session) map[int]string {
	names := map[int]string{}
	for tid, n := range s.Selection.ThreadNumbers() { // of a core file, which has no recording
		names[tid] = strconv.Itoa(n)
	}
	for _, t := range s.Recorded.Threads() {
		names[int(t.TID)] = strconv.Itoa(t.Num)
	}
	return names
}

// EventPlace is the function that an event's block belongs to, and its place.
func EventPlace(c *Desk, e *recording.Event) [2]screen.Span {
	st := c.Session.Queries.StackOf(e)
	if len(st.Frames) == 0 {
		return [2]screen.Span{}
	}
	f := st.Frames[c.Session.Selection.UserFrame(st.Frames)]
	name := c.Out.Names.Function(f.Function, f.Linkage)
	if name == "" {
		name = f.Name()
	}
	return [2]screen.Span{screen.Func(name), FramePlace(f)}
}

// EventNumber reads #4711.
func EventNumber(word string) (uint64, bool) {
	digits, ok := strings.CutPrefix(word, "#")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

// A MappingsView is what JSON has of live mappings, whose rows are of type T.
type MappingsView[T any] struct {
	Program report.MappedSum `json:"mmap"`
	Arenas  report.MappedSum `json:"python_arena,omitzero"`
	Others  report.MappedSum `json:"other,omitzero"`
	Unknown uint64           `json:"unknown_calls,omitempty"`
	After   uint64           `json:"after,omitempty"` // the event of the peak, where they are those of the peak
	Total   int              `json:"total,omitempty"` // of the rows, if not all are there
	Rows    []T              `json:"rows"`
}

// A MappedEventView is a call that made a mapping.
type MappedEventView struct {
	EventView
	Layer string `json:"layer"`
	Left  uint64 `json:"live_bytes"`
}

// ViewMapped is a mapping that is live for JSON: the event that made it and what is left of it.
func ViewMapped(e *recording.Event, left query.MappedBlock) MappedEventView {
	return MappedEventView{ViewEvent(e), left.Layer.String(), left.Size}
}
