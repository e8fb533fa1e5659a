package screen

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/heap"
	"hdb/internal/units"
)

// of is a sum's number of the measure.
func (v *Monitor) of(n *MonitorSum) uint64 {
	switch v.by {
	case heap.ByBytes:
		return n.Bytes
	case heap.ByCount:
		return n.Count
	case heap.ByTemporary:
		return n.Temporary
	}
	return n.LiveBytes
}

// companion is the number that is shown next to it.
func (v *Monitor) companion(n *MonitorSum) string {
	switch v.by {
	case heap.ByLive:
		return units.Grouped(n.LiveCount)
	case heap.ByCount:
		return v.sizes.Short(n.Bytes)
	}
	return units.Grouped(n.Count)
}

// nonZero reports whether there is anything to say of a sum. Blocks may have no bytes.
func (v *Monitor) nonZero(n *MonitorSum) bool {
	switch v.by {
	case heap.ByLive:
		return n.LiveCount > 0
	case heap.ByBytes:
		return n.Count > 0
	}
	return v.of(n) > 0
}

// selected are the rows that are to be shown, sorted, and the whole of the measure.
func (v *Monitor) selected() (rows []*MonitorRow, whole uint64) {
	for i := range v.Rows {
		r := &v.Rows[i]
		whole += v.of(&r.Own)
		if v.nonZero(&r.Total) && v.passes(r) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *MonitorRow) int {
		own, total := cmp.Compare(v.of(&b.Own), v.of(&a.Own)), cmp.Compare(v.of(&b.Total), v.of(&a.Total))
		if own != 0 && v.order == orderOwn { // names are compared where they matter
			return own
		}
		name := cmp.Or(cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.File, b.Site.File),
			cmp.Compare(a.Site.Module, b.Site.Module), cmp.Compare(a.Site.Line, b.Site.Line), cmp.Compare(a.Key.TID, b.Key.TID))
		switch v.order {
		case orderTotal:
			return cmp.Or(total, own, name)
		case orderChange:
			return cmp.Or(cmp.Compare(v.change(b), v.change(a)), own, total, name)
		case orderRate:
			return cmp.Or(cmp.Compare(v.grown(b), v.grown(a)), own, total, name)
		case orderName:
			return cmp.Or(name, own)
		}
		return cmp.Or(own, total, name)
	})
	return rows, whole
}

// passes reports whether the filters let a row through.
func (v *Monitor) passes(r *MonitorRow) bool {
	has := func(which int, texts ...string) bool {
		words := v.filters[which]
		return words == "" || strings.Contains(strings.ToLower(strings.Join(texts, "\n")), strings.ToLower(words))
	}
	return has(filterAny, r.Site.Function, r.Site.File, r.Site.Module, v.thread(r)) &&
		has(filterFunction, r.Site.Function) && has(filterModule, r.Site.Module)
}

// change is how much a row's own has grown since the changes count.
func (v *Monitor) change(r *MonitorRow) int64 { return int64(v.of(&r.Own) - v.of(&r.Base)) }

// grown is how much it has grown in the last span of the clock.
func (v *Monitor) grown(r *MonitorRow) int64 { return int64(v.of(&r.To) - v.of(&r.From)) }

// thread is a row's, "" of all threads.
func (v *Monitor) thread(r *MonitorRow) string {
	if !v.PerThread || len(v.path) > 0 {
		return ""
	}
	if name, ok := v.Threads[r.Key.TID]; ok {
		return name
	}
	switch tid := r.Key.TID; {
	case tid == heap.MoreGoroutines:
		return "other goroutines"
	case tid < 0:
		return fmt.Sprintf("g%d", -tid)
	}
	return fmt.Sprintf("TID %d", r.Key.TID)
}

// The widths of the columns.
const (
	sizeCells   = 11
	changeCells = 12 // with a sign
	shareCells  = 6
	threadCells = 18
	changeFrom  = 100 // columns of a terminal that shows the changes
)

// A monitorColumn is a column before the names.
type monitorColumn struct {
	head  string
	order monitorOrder // that sorts by it, if sorts
	sorts bool
	cells int
	from  int // columns of the terminal that it needs
	text  func(r *MonitorRow, whole uint64) string
}

// columns are those for which a terminal has the room.
func (v *Monitor) columns(width int) []monitorColumn {
	number := func(n uint64) string {
		if v.by == heap.ByCount || v.by == heap.ByTemporary {
			return units.Grouped(n)
		}
		return v.sizes.Short(n)
	}
	signed := func(n int64) string {
		if n < 0 {
			return "-" + number(uint64(-n))
		}
		return "+" + number(uint64(n))
	}
	beside := map[heap.Measure]string{heap.ByLive: "blocks", heap.ByCount: "bytes"}[v.by]
	all := []monitorColumn{
		{"own", orderOwn, true, sizeCells, 0, func(r *MonitorRow, _ uint64) string { return number(v.of(&r.Own)) }},
		{"%", 0, false, shareCells, 70, func(r *MonitorRow, whole uint64) string { return units.PercentCell(v.of(&r.Own), whole) }},
		{"total", orderTotal, true, sizeCells, 60, func(r *MonitorRow, _ uint64) string { return number(v.of(&r.Total)) }},
		{"%", 0, false, shareCells, 110, func(r *MonitorRow, whole uint64) string { return units.PercentCell(v.of(&r.Total), whole) }},
		{"change", orderChange, true, changeCells, changeFrom, func(r *MonitorRow, _ uint64) string {
			if v.Since < 0 {
				return "-"
			}
			return signed(v.change(r))
		}},
		{"per s", orderRate, true, changeCells, 0, func(r *MonitorRow, _ uint64) string {
			if v.Span <= 0 {
				return "-"
			}
			return signed(int64(float64(v.grown(r)) / v.Span.Seconds()))
		}},
		{cmp.Or(beside, "calls"), 0, false, sizeCells, 80, func(r *MonitorRow, _ uint64) string { return v.companion(&r.Own) }},
	}
	return slices.DeleteFunc(all, func(c monitorColumn) bool { return width < c.from })
}

// heading names the columns; a mark is at the one that is sorted by.
func (v *Monitor) heading(columns []monitorColumn, width int) string {
	mark := func(order monitorOrder, name string) string {
		if v.order == order {
			return ">" + name
		}
		return name
	}
	var b strings.Builder
	for _, c := range columns {
		head := c.head
		if c.sorts {
			head = mark(c.order, head)
		}
		fmt.Fprintf(&b, "%*s", c.cells, head)
	}
	b.WriteString("  ")
	if v.PerThread && len(v.path) == 0 {
		fmt.Fprintf(&b, "%-*s", threadCells, "thread")
	}
	return reversed((&Output{}).fit([]Span{{plain, b.String() + mark(orderName, "function")}}, 0, width), width)
}

// leastName are the columns that the name of a function keeps next to its place.
const leastName = 12

// row is a function's, or a line's of those that were gone into.
func (v *Monitor) row(o *Output, columns []monitorColumn, r *MonitorRow, whole uint64, width int) []Span {
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%*s", c.cells, c.text(r, whole))
	}
	row := []Span{{plain, b.String() + "  "}}
	if v.PerThread && len(v.path) == 0 {
		name := (&Output{}).fit([]Span{{plain, v.thread(r)}}, 0, threadCells-1)
		row = append(row, Span{plain, name + strings.Repeat(" ", threadCells-cells(name))})
	}
	name := Clean(o.Names.Short(o.Names.Function(r.Site.Function, r.Site.Linkage)))
	place := v.place(r)
	room := width - SpansWidth(row)
	if textWidth(name+place.Text) > room && place.style == styleFile {
		place.Text = "  " + strings.TrimLeft(place.Text[strings.LastIndexByte(place.Text, '/')+1:], " ")
	}
	left := room
	if len(v.path) > 0 { // the line tells the rows apart
		if left -= textWidth(place.Text); left < min(leastName, textWidth(name)) {
			place.Text = fmt.Sprintf(":%d", r.Site.Line)
			left = room - textWidth(place.Text)
		}
	}
	name = Middle(name, max(left, 1))
	return append(row, Span{styleFunc, name}, place)
}

// place is where a row's function is, or the line that was gone into.
func (v *Monitor) place(r *MonitorRow) Span {
	switch {
	case r.Site.File != "" && len(v.path) > 0:
		return Span{styleFile, fmt.Sprintf("  %s:%d", Clean(filepath.Base(r.Site.File)), r.Site.Line)}
	case r.Site.File != "":
		return Span{styleFile, "  " + Clean(filepath.Base(r.Site.File))}
	case r.Site.Module != "":
		return Span{styleGuess, "  [" + Clean(r.Site.Module) + "]"}
	}
	return Span{}
}
