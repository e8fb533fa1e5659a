package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hdb/heap"
	"hdb/internal/units"
)

// A Monitor is what the live view shows, and how. Its numbers are those of one moment.
// It knows no process and no terminal.
type Monitor struct {
	// Of the moment.
	Program   string
	PID       int
	Elapsed   time.Duration
	Events    uint64
	Rate      uint64 // events a second since the moment before
	Live      uint64 // bytes
	Blocks    uint64
	Peak, RSS uint64
	Lost      uint64
	Rows      []MonitorRow         // of the functions, or of those of each thread
	Threads   map[int32]string     // "1 main"
	Columns   func(n int) []uint64 // the heap over time; nil: none yet
	Note      string               // about the numbers: names are being looked up
	Message   string               // what hdb said last
	Ended     string               // how the program did, "" it runs

	// As the keys have it.
	by        heap.Measure
	order     monitorOrder
	PerThread bool
	Paused    bool
	filter    string
	typing    bool   // the filter
	before    string // it was before that
	top       int    // the first row shown
	page      int    // how many are
	ASCII     bool   // the terminal has no block elements
}

// A MonitorRow is what a function allocated itself, and what all stacks did that lead
// through it.
type MonitorRow struct {
	Site       heap.Site
	TID        int32 // of the thread, 0 all threads
	Own, Total MonitorSum
}

// A MonitorSum is a sum over events.
type MonitorSum struct {
	Bytes, Count         uint64 // allocated in all
	LiveBytes, LiveCount uint64 // not given back
	Temporary            uint64 // blocks given back before another one was allocated
}

// monitorOrder is what the rows are sorted by.
type monitorOrder uint8

const (
	orderOwn monitorOrder = iota
	orderTotal
	orderName
	orders // their count
)

var orderNames = [orders]string{"own", "total", "name"}

// monitorMeasures are those that keys choose, from 1.
var monitorMeasures = []heap.Measure{heap.ByLive, heap.ByBytes, heap.ByCount, heap.ByTemporary}

// An Act is what a key asks for that the view cannot do.
type Act uint8

// The acts.
const (
	ActPaint Act = iota // paint the view
	ActQuit             // end it
	ActRows             // give it other rows, and paint it
	ActNone             // nothing
)

// What the live view needs: header, heading, some rows and the keys.
const (
	minMonitorRows = 10
	minMonitorCols = 50
	headerRows     = 5 // and the heading
)

// MonitorFits tells whether a terminal is large enough for the live view.
func MonitorFits(rows, cols int) bool { return rows >= minMonitorRows && cols >= minMonitorCols }

// SmallMonitor is the error of a terminal that is too small for the live view.
func SmallMonitor(rows, cols int) error {
	return &TerminalError{fmt.Sprintf("the terminal is too small for a live view: %d by %d, and %d rows by %d columns are needed", rows, cols, minMonitorRows, minMonitorCols)}
}

// Key does what a key asks for.
func (v *Monitor) Key(k string) Act {
	if k == "\x03" {
		return ActQuit
	}
	if v.typing {
		return v.typed(k)
	}
	switch k {
	case "q", "Q", "\x04":
		return ActQuit
	case "1", "2", "3", "4":
		v.measure(monitorMeasures[k[0]-'1'])
	case "m":
		i := slices.Index(monitorMeasures, v.by)
		v.measure(monitorMeasures[(i+1)%len(monitorMeasures)])
	case "s":
		v.order, v.top = (v.order+1)%orders, 0
	case " ":
		v.Paused = !v.Paused
		return ActRows
	case "t":
		v.PerThread, v.top = !v.PerThread, 0
		return ActRows
	case "/":
		v.typing, v.before = true, v.filter
	case "\x1b":
		v.filter, v.top = "", 0
	case "\x1b[A", "\x1bOA", "k":
		v.top--
	case "\x1b[B", "\x1bOB", "j":
		v.top++
	case "\x1b[5~":
		v.top -= v.page
	case "\x1b[6~":
		v.top += v.page
	case "\x1b[H", "\x1bOH", "\x1b[1~", "g":
		v.top = 0
	case "\x1b[F", "\x1bOF", "\x1b[4~", "G":
		v.top = len(v.Rows)
	case "\x0c": // painted whatever happened
	default:
		return ActNone
	}
	return ActPaint
}

func (v *Monitor) measure(by heap.Measure) { v.by, v.top = by, 0 }

// maxFilter bounds what is typed.
const maxFilter = 100

// typed is a key of the filter.
func (v *Monitor) typed(k string) Act {
	v.top = 0
	switch k {
	case "\r", "\n":
		v.typing = false
	case "\x1b":
		v.typing, v.filter = false, v.before
	case "\x7f", "\b":
		_, n := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-n]
	case "\x15": // Ctrl-U
		v.filter = ""
	default:
		if r, n := utf8.DecodeRuneInString(k); n != len(k) || !unicode.IsPrint(r) || len(v.filter) >= maxFilter {
			return ActNone
		}
		v.filter += k
	}
	return ActPaint
}

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

// beside is the number that is shown with it.
func (v *Monitor) beside(n *MonitorSum) string {
	switch v.by {
	case heap.ByLive:
		return units.Grouped(n.LiveCount)
	case heap.ByCount:
		return units.Short(n.Bytes)
	}
	return units.Grouped(n.Count)
}

// some tells whether there is anything to say of a sum. Blocks may have no bytes.
func (v *Monitor) some(n *MonitorSum) bool {
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
	words := strings.ToLower(v.filter)
	for i := range v.Rows {
		r := &v.Rows[i]
		whole += v.of(&r.Own)
		if v.some(&r.Total) && (words == "" || strings.Contains(strings.ToLower(v.text(r)), words)) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *MonitorRow) int {
		own, total := cmp.Compare(v.of(&b.Own), v.of(&a.Own)), cmp.Compare(v.of(&b.Total), v.of(&a.Total))
		name := cmp.Or(cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.File, b.Site.File),
			cmp.Compare(a.Site.Module, b.Site.Module), cmp.Compare(a.TID, b.TID))
		switch v.order {
		case orderTotal:
			return cmp.Or(total, own, name)
		case orderName:
			return cmp.Or(name, own)
		}
		return cmp.Or(own, total, name)
	})
	return rows, whole
}

// text is what a filter looks into.
func (v *Monitor) text(r *MonitorRow) string {
	return strings.Join([]string{r.Site.Function, r.Site.File, r.Site.Module, v.thread(r)}, "\n")
}

// thread is a row's, "" of all threads.
func (v *Monitor) thread(r *MonitorRow) string {
	if !v.PerThread {
		return ""
	}
	if name, ok := v.Threads[r.TID]; ok {
		return name
	}
	return fmt.Sprintf("TID %d", r.TID)
}

// Lines are the rows of a screen of that size. One that is too small says so.
func (v *Monitor) Lines(o *Output, height, width int) []string {
	if !MonitorFits(height, width) {
		return []string{(&Output{}).fit([]Span{{plain, SmallMonitor(height, width).Error()}}, 0, max(width, 0))}
	}
	height, width = min(height, maxSourceRows), min(width, maxSourceCols)
	rows, whole := v.selected()
	v.page = height - headerRows - 2
	v.top = min(max(v.top, 0), max(0, len(rows)-v.page))
	out := v.header(o, width, len(rows))
	out = append(out, v.heading(o, width))
	for _, r := range rows[v.top:min(len(rows), v.top+v.page)] {
		out = append(out, o.fit(v.row(o, r, whole, width), 0, width))
	}
	if len(rows) == 0 {
		out = append(out, o.fit([]Span{{styleGuess, v.nothing()}}, 0, width))
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	return append(out, v.footer(o, width))
}

// nothing is why there are no rows.
func (v *Monitor) nothing() string {
	switch {
	case v.filter != "" && v.Events > 0:
		return "no function has that in its name, file or module"
	case v.Events == 0:
		return "nothing was allocated yet"
	}
	return "nothing to show by this measure"
}

// header is what is known of the process.
func (v *Monitor) header(o *Output, width, rows int) []string {
	state := "running"
	switch {
	case v.Ended != "":
		state = v.Ended
	case v.Paused:
		state = "PAUSED"
	}
	first := []Span{{styleHead, fmt.Sprintf("pid %d  %s  %s  ", v.PID, elapsedText(v.Elapsed), state)}, {plain, v.Program}}
	heap := fmt.Sprintf("live %s in %s   peak %s   RSS %s", units.Short(v.Live), units.Count(v.Blocks, "block"), units.Short(v.Peak), units.Short(v.RSS))
	if v.RSS == 0 {
		heap, _, _ = strings.Cut(heap, "   RSS")
	}
	events := fmt.Sprintf("%s  %s/s", units.Count(v.Events, "event"), units.Grouped(v.Rate))
	if v.Lost > 0 {
		events += "  " + units.Grouped(v.Lost) + " lost"
	}
	how := fmt.Sprintf("%s, by %s", v.by, orderNames[v.order])
	if v.PerThread {
		how += ", per thread"
	}
	if v.filter != "" {
		how += fmt.Sprintf(", with %q", v.filter)
	}
	how = fmt.Sprintf("%s   %s", units.Count(rows, "row"), how)
	for _, more := range []string{v.Note, v.Message} {
		if more != "" {
			how += "   " + more
		}
	}
	return []string{
		o.fit(first, 0, width), o.fit([]Span{{plain, heap}}, 0, width), o.fit([]Span{{plain, events}}, 0, width),
		o.fit(v.sparkline(width), 0, width), o.fit([]Span{{styleGuess, how}}, 0, width),
	}
}

// elapsedText is a time that need not be exact.
func elapsedText(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// sparkline is the heap over time, as high as it ever was.
func (v *Monitor) sparkline(width int) []Span {
	const head, room = "heap ", 12 // for a size
	if v.Columns == nil {
		return nil
	}
	values := v.Columns(width - len(head) - room)
	highest := slices.Max(append(values, 0))
	steps := []rune(" ▁▂▃▄▅▆▇█")
	if v.ASCII {
		steps = []rune(" _.-:=+*#")
	}
	var b strings.Builder
	for _, n := range values {
		i := 0
		if n > 0 {
			i = 1 + int(float64(n)/float64(highest)*float64(len(steps)-2))
		}
		b.WriteRune(steps[min(i, len(steps)-1)])
	}
	return []Span{{plain, head}, {styleFunc, b.String()}, {plain, " " + units.Short(highest)}}
}

// The widths of the columns. On a terminal below wideCols, two of them are left out.
const (
	sizeCells   = 11
	shareCells  = 6
	threadCells = 18
	wideCols    = 80
)

// numbers are the columns before the names.
func numbers(own, ownShare, total, totalShare, beside string, width int) string {
	text := fmt.Sprintf("%*s%*s%*s", sizeCells, own, shareCells, ownShare, sizeCells, total)
	if width >= wideCols {
		text += fmt.Sprintf("%*s%*s", shareCells, totalShare, sizeCells, beside)
	}
	return text + "  "
}

// heading names the columns; a mark is at the one that is sorted by.
func (v *Monitor) heading(o *Output, width int) string {
	mark := func(order monitorOrder, name string) string {
		if v.order == order {
			return ">" + name
		}
		return name
	}
	beside := map[heap.Measure]string{heap.ByLive: "blocks", heap.ByCount: "bytes"}[v.by]
	text := numbers(mark(orderOwn, "own"), "%", mark(orderTotal, "total"), "%", cmp.Or(beside, "calls"), width)
	if v.PerThread {
		text += fmt.Sprintf("%-*s", threadCells, "thread")
	}
	return reversed((&Output{}).fit([]Span{{plain, text + mark(orderName, "function")}}, 0, width), width)
}

// row is a function's.
func (v *Monitor) row(o *Output, r *MonitorRow, whole uint64, width int) []Span {
	number := func(n uint64) string {
		if v.by == heap.ByCount || v.by == heap.ByTemporary {
			return units.Grouped(n)
		}
		return units.Short(n)
	}
	own, total := v.of(&r.Own), v.of(&r.Total)
	row := []Span{{plain, numbers(number(own), share(own, whole), number(total), share(total, whole), v.beside(&r.Own), width)}}
	if v.PerThread {
		name := (&Output{}).fit([]Span{{plain, v.thread(r)}}, 0, threadCells-1)
		row = append(row, Span{plain, name + strings.Repeat(" ", threadCells-cells(name))})
	}
	row = append(row, Span{styleFunc, o.Names.Short(o.Names.Function(r.Site.Function, r.Site.Linkage))})
	switch {
	case r.Site.File != "":
		row = append(row, Span{styleFile, "  " + ShortPath(r.Site.File)})
	case r.Site.Module != "":
		row = append(row, Span{styleGuess, "  [" + r.Site.Module + "]"})
	}
	return row
}

// share is a part in percent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

// footer names the keys, or has the filter that is typed.
func (v *Monitor) footer(o *Output, width int) string {
	if v.typing {
		return reversed((&Output{}).fit([]Span{{plain, "filter: " + v.filter + "_   (Enter keeps it, Esc does not)"}}, 0, width), width)
	}
	pause, threads := "pause", "threads"
	if v.Paused {
		pause = "go on"
	}
	if v.PerThread {
		threads = "merge"
	}
	keys := "q quit  1 live 2 bytes 3 count 4 temporary  s sort  / filter  space " + pause + "  t " + threads + "  arrows PgUp PgDn"
	return reversed((&Output{}).fit([]Span{{plain, keys}}, 0, width), width)
}
