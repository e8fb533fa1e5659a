package allocs

import (
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/heap"
	"hdb/internal/units"
	"hdb/query"
	"hdb/report"
	"hdb/session/recordings"
)

// What live, top and leaks say of mappings: tables and sums of their own, below those of the blocks. Only the peak
// is of both, as in report.Profile.

// viewMappings is nil if there is nothing to say.
func viewMappings[T any](m *query.Mappings, rows []T, total int) *desk.MappingsView[T] {
	if !anyMapped(m) {
		return nil
	}
	v := &desk.MappingsView[T]{Program: m.Sums[query.ProgramMapped], Arenas: m.Sums[query.PythonArenas], Others: m.Sums[query.OthersMapped], Unknown: m.Unknown, Rows: rows}
	if total > len(rows) {
		v.Total = total
	}
	if v.Rows == nil {
		v.Rows = []T{}
	}
	return v
}

// anyMapped reports whether there is anything to say of mappings.
func anyMapped(m *query.Mappings) bool {
	none := report.MappedSum{}
	return m.Sums[query.ProgramMapped] != none || m.Sums[query.PythonArenas] != none || m.Unknown > 0
}

// noteMapped says how much is mapped in all, and what is not known of it.
func noteMapped(o *screen.Output, m *query.Mappings) {
	if p := m.Sums[query.ProgramMapped]; p != (report.MappedSum{}) {
		reserved := ""
		if p.Reserved > 0 {
			reserved = fmt.Sprintf("; %s more reserved, not accessible", o.Sizes.Long(p.Reserved))
		}
		o.Printf("mapped by the program: %s in %s%s\n", o.Sizes.Long(p.Bytes), units.Count(p.Count, "mapping"), reserved)
	}
	if a := m.Sums[query.PythonArenas]; a.Count > 0 {
		o.Printf("arenas of pymalloc: %s in %s, by the code that caused Python to allocate them, not necessarily their current user\n", o.Sizes.Long(a.Bytes), units.Count(a.Count, "mapping"))
	}
	if m.Unknown > 0 {
		o.Printf("unknown: what %s of mmap mapped; the recording was made by an older hdb\n", units.Count(m.Unknown, "call"))
	}
}

// inLayer is what the mappings of a row are called.
func inLayer(l query.Layer, n uint64) string {
	if l == query.PythonArenas {
		return units.Count(n, "arena") + " of pymalloc"
	}
	return units.Count(n, "mapping")
}

func viewMappedEvents(c *desk.Desk, rows []query.MappedEvent) []desk.MappedEventView {
	var views []desk.MappedEventView
	for _, r := range rows {
		v := desk.ViewMapped(r.Event, r.Left)
		where := desk.EventPlace(c, r.Event)
		v.Where = strings.TrimSpace(where[0].Text + " " + where[1].Text)
		views = append(views, v)
	}
	return views
}

// printMappedLive prints the calls that made live mappings.
func printMappedLive(c *desk.Desk, o *screen.Output, rows []query.MappedEvent, m *query.Mappings) {
	names := desk.ThreadNames(c.Session)
	var table [][]screen.Span
	for _, r := range rows {
		row := desk.EventRow(c, r.Event, desk.EventPlace(c, r.Event), names)
		row[3] = screen.Plain(o.Sizes.Short(r.Left.Size))
		table = append(table, row)
	}
	if len(table) > 0 {
		o.Table(desk.EventColumns, table)
	}
	if len(rows) < len(m.Blocks) {
		o.Printf("the largest %d of %s\n", len(rows), units.Count(len(m.Blocks), "mapping"))
	}
	noteMapped(o, m)
}

// A mappedRowView is a row of top for mappings.
type mappedRowView struct {
	Layer string  `json:"layer"`
	Size  *uint64 `json:"size,omitempty"`
	heap.Site
	Bytes uint64 `json:"live_bytes"`
	Count uint64 `json:"live_mappings"`
}

func viewMappedRow(r query.MappedRow, per query.Per) mappedRowView {
	return mappedRowView{r.Layer.String(), sizeOf(r.Site, per), r.Site, r.LiveBytes, r.LiveBlocks}
}

// mappedTop is what top says of mappings.
type mappedTop struct {
	rows  []query.MappedRow
	all   *query.Mappings
	total int
	peak  *recordings.Peak // of which they are; nil: they are live at the moment
}

func (t mappedTop) view(per query.Per) *desk.MappingsView[mappedRowView] {
	var views []mappedRowView
	for _, r := range t.rows {
		views = append(views, viewMappedRow(r, per))
	}
	v := viewMappings(t.all, views, t.total)
	if v != nil && t.peak != nil {
		v.After = t.peak.Seq
	}
	return v
}

func (t mappedTop) print(c *desk.Desk, o *screen.Output, per query.Per) {
	mapped := "mapped"
	if t.peak != nil {
		mapped = "at the peak"
	}
	heads := [...]string{query.ProgramMapped: "mappings", query.PythonArenas: "arenas"}
	for layer, head := range heads {
		var table [][]screen.Span
		for _, r := range t.rows {
			if r.Layer == query.Layer(layer) {
				table = append(table, []screen.Span{screen.Plain(o.Sizes.Short(r.LiveBytes)), screen.Plain(units.Grouped(r.LiveBlocks)), screen.Func(siteName(c.Out, per, r.Site)), sitePlace(r.Site, per)})
			}
		}
		if len(table) > 0 {
			o.Table([]screen.Column{{Head: mapped, Right: true}, {Head: head, Right: true}, {Head: per.String()}, {}}, table)
		}
	}
	if len(t.rows) < t.total {
		o.Printf("%d of %s with mappings\n", len(t.rows), units.Count(t.total, per.String()))
	}
	if t.peak != nil && anyMapped(t.all) {
		o.Printf("at the peak: ")
	}
	noteMapped(o, t.all)
}

// A mappedStackView is the mappings that calls with one stack made.
type mappedStackView struct {
	Layer  string           `json:"layer"`
	Bytes  uint64           `json:"live_bytes"`
	Count  uint64           `json:"live_mappings"`
	Frames []desk.FrameView `json:"frames"`
}

// mappedStacks is what leaks says of mappings.
type mappedStacks struct {
	rows  []query.MappedStack
	all   *query.Mappings
	total int
}

func (t mappedStacks) view() *desk.MappingsView[mappedStackView] {
	if t.all == nil {
		return nil
	}
	var views []mappedStackView
	for _, r := range t.rows {
		views = append(views, mappedStackView{r.Layer.String(), r.LiveBytes, r.LiveBlocks, desk.ViewFrames(r.Stack.Frames)})
	}
	return viewMappings(t.all, views, t.total)
}

// print prints the stacks; again is the command that shows n of them.
func (t mappedStacks) print(c *desk.Desk, o *screen.Output, again func(n int) string) {
	if t.all == nil {
		return
	}
	for _, r := range t.rows {
		o.Printf("%s in %s, not unmapped\n", o.Sizes.Long(r.LiveBytes), inLayer(r.Layer, r.LiveBlocks))
		printUserFrames(c, o, r.Stack, "")
	}
	if len(t.rows) < t.total {
		o.Printf("%d of %s with mappings; `%s` shows all\n", len(t.rows), units.Count(t.total, "stack"), again(t.total))
	}
	noteMapped(o, t.all)
}
