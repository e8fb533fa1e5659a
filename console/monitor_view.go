package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hdb/heap"
	"hdb/session"
)

// monitorView is what the live view shows, and how: its numbers are those of one
// moment. It knows no process and no terminal.
type monitorView struct {
	// Of the moment.
	program   string
	pid       int
	elapsed   time.Duration
	events    uint64
	rate      uint64 // events a second since the moment before
	live      uint64 // bytes
	blocks    uint64
	peak, rss uint64
	lost      uint64
	rows      []session.MonitorRow // of the functions, or of those of each thread
	threads   map[int32]string     // "1 main"
	columns   func(n int) []uint64 // the heap over time; nil: none yet
	note      string               // about the numbers: names are being looked up
	message   string               // what hdb said last
	ended     string               // how the program did, "" it runs

	// As the keys have it.
	by        heap.Measure
	order     monitorOrder
	perThread bool
	paused    bool
	filter    string
	typing    bool   // the filter
	before    string // it was before that
	top       int    // the first row shown
	page      int    // how many are
	ascii     bool   // the terminal has no block elements
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

// A monitorAct is what a key asks for that the view cannot do.
type monitorAct uint8

const (
	actPaint monitorAct = iota
	actQuit
	actRows // the rows are others now
	actNone
)

// What the live view needs: header, heading, some rows and the keys.
const (
	minMonitorRows = 10
	minMonitorCols = 50
	headerRows     = 5 // and the heading
)

func monitorFits(rows, cols int) bool { return rows >= minMonitorRows && cols >= minMonitorCols }

// key does what a key asks for.
func (v *monitorView) key(k string) monitorAct {
	if k == "\x03" {
		return actQuit
	}
	if v.typing {
		return v.typed(k)
	}
	switch k {
	case "q", "Q", "\x04":
		return actQuit
	case "1", "2", "3", "4":
		v.measure(monitorMeasures[k[0]-'1'])
	case "m":
		i := slices.Index(monitorMeasures, v.by)
		v.measure(monitorMeasures[(i+1)%len(monitorMeasures)])
	case "s":
		v.order, v.top = (v.order+1)%orders, 0
	case " ":
		v.paused = !v.paused
		return actRows
	case "t":
		v.perThread, v.top = !v.perThread, 0
		return actRows
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
		v.top = len(v.rows)
	case "\x0c": // painted whatever happened
	default:
		return actNone
	}
	return actPaint
}

func (v *monitorView) measure(by heap.Measure) { v.by, v.top = by, 0 }

// maxFilter bounds what is typed.
const maxFilter = 100

// typed is a key of the filter.
func (v *monitorView) typed(k string) monitorAct {
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
			return actNone
		}
		v.filter += k
	}
	return actPaint
}

// of is a sum's number of the measure.
func (v *monitorView) of(n *session.MonitorSum) uint64 {
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
func (v *monitorView) beside(n *session.MonitorSum) string {
	switch v.by {
	case heap.ByLive:
		return grouped(n.LiveCount)
	case heap.ByCount:
		return shortSize(n.Bytes)
	}
	return grouped(n.Count)
}

// some tells whether there is anything to say of a sum. Blocks may have no bytes.
func (v *monitorView) some(n *session.MonitorSum) bool {
	switch v.by {
	case heap.ByLive:
		return n.LiveCount > 0
	case heap.ByBytes:
		return n.Count > 0
	}
	return v.of(n) > 0
}

// selected are the rows that are to be shown, sorted, and the whole of the measure.
func (v *monitorView) selected() (rows []*session.MonitorRow, whole uint64) {
	words := strings.ToLower(v.filter)
	for i := range v.rows {
		r := &v.rows[i]
		whole += v.of(&r.Own)
		if v.some(&r.Total) && (words == "" || strings.Contains(strings.ToLower(v.text(r)), words)) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *session.MonitorRow) int {
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
func (v *monitorView) text(r *session.MonitorRow) string {
	return strings.Join([]string{r.Site.Function, r.Site.File, r.Site.Module, v.thread(r)}, "\n")
}

// thread is a row's, "" of all threads.
func (v *monitorView) thread(r *session.MonitorRow) string {
	if !v.perThread {
		return ""
	}
	if name, ok := v.threads[r.TID]; ok {
		return name
	}
	return fmt.Sprintf("TID %d", r.TID)
}

// lines are the rows of a screen that is large enough.
func (v *monitorView) lines(o *output, height, width int) []string {
	rows, whole := v.selected()
	v.page = height - headerRows - 2
	v.top = min(max(v.top, 0), max(0, len(rows)-v.page))
	out := v.header(o, width, len(rows))
	out = append(out, v.heading(o, width))
	for _, r := range rows[v.top:min(len(rows), v.top+v.page)] {
		out = append(out, o.fit(v.row(o, r, whole, width), 0, width))
	}
	if len(rows) == 0 {
		out = append(out, o.fit([]span{{styleGuess, v.nothing()}}, 0, width))
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	return append(out, v.footer(o, width))
}

// nothing is why there are no rows.
func (v *monitorView) nothing() string {
	switch {
	case v.filter != "" && v.events > 0:
		return "no function has that in its name, file or module"
	case v.events == 0:
		return "nothing was allocated yet"
	}
	return "nothing to show by this measure"
}

// header is what is known of the process.
func (v *monitorView) header(o *output, width, rows int) []string {
	state := "running"
	switch {
	case v.ended != "":
		state = v.ended
	case v.paused:
		state = "PAUSED"
	}
	first := []span{{styleHead, fmt.Sprintf("pid %d  %s  %s  ", v.pid, elapsedText(v.elapsed), state)}, {plain, v.program}}
	heap := fmt.Sprintf("live %s in %s   peak %s   RSS %s", shortSize(v.live), counted(v.blocks, "block"), shortSize(v.peak), shortSize(v.rss))
	if v.rss == 0 {
		heap, _, _ = strings.Cut(heap, "   RSS")
	}
	events := fmt.Sprintf("%s  %s/s", counted(v.events, "event"), grouped(v.rate))
	if v.lost > 0 {
		events += "  " + grouped(v.lost) + " lost"
	}
	how := fmt.Sprintf("%s, by %s", v.by, orderNames[v.order])
	if v.perThread {
		how += ", per thread"
	}
	if v.filter != "" {
		how += fmt.Sprintf(", with %q", v.filter)
	}
	how = fmt.Sprintf("%s   %s", counted(rows, "row"), how)
	for _, more := range []string{v.note, v.message} {
		if more != "" {
			how += "   " + more
		}
	}
	return []string{
		o.fit(first, 0, width), o.fit([]span{{plain, heap}}, 0, width), o.fit([]span{{plain, events}}, 0, width),
		o.fit(v.sparkline(width), 0, width), o.fit([]span{{styleGuess, how}}, 0, width),
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
func (v *monitorView) sparkline(width int) []span {
	const head, room = "heap ", 12 // for a size
	if v.columns == nil {
		return nil
	}
	values := v.columns(width - len(head) - room)
	highest := slices.Max(append(values, 0))
	steps := []rune(" ▁▂▃▄▅▆▇█")
	if v.ascii {
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
	return []span{{plain, head}, {styleFunc, b.String()}, {plain, " " + shortSize(highest)}}
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
func (v *monitorView) heading(o *output, width int) string {
	mark := func(order monitorOrder, name string) string {
		if v.order == order {
			return ">" + name
		}
		return name
	}
	beside := map[heap.Measure]string{heap.ByLive: "blocks", heap.ByCount: "bytes"}[v.by]
	text := numbers(mark(orderOwn, "own"), "%", mark(orderTotal, "total"), "%", cmp.Or(beside, "calls"), width)
	if v.perThread {
		text += fmt.Sprintf("%-*s", threadCells, "thread")
	}
	return reversed((&output{}).fit([]span{{plain, text + mark(orderName, "function")}}, 0, width), width)
}

// row is a function's.
func (v *monitorView) row(o *output, r *session.MonitorRow, whole uint64, width int) []span {
	number := func(n uint64) string {
		if v.by == heap.ByCount || v.by == heap.ByTemporary {
			return grouped(n)
		}
		return shortSize(n)
	}
	own, total := v.of(&r.Own), v.of(&r.Total)
	row := []span{{plain, numbers(number(own), share(own, whole), number(total), share(total, whole), v.beside(&r.Own), width)}}
	if v.perThread {
		name := (&output{}).fit([]span{{plain, v.thread(r)}}, 0, threadCells-1)
		row = append(row, span{plain, name + strings.Repeat(" ", threadCells-cells(name))})
	}
	row = append(row, span{styleFunc, o.names.short(o.names.function(r.Site.Function, r.Site.Linkage))})
	switch {
	case r.Site.File != "":
		row = append(row, span{styleFile, "  " + shortPath(r.Site.File)})
	case r.Site.Module != "":
		row = append(row, span{styleGuess, "  [" + r.Site.Module + "]"})
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
func (v *monitorView) footer(o *output, width int) string {
	if v.typing {
		return reversed((&output{}).fit([]span{{plain, "filter: " + v.filter + "_   (Enter keeps it, Esc does not)"}}, 0, width), width)
	}
	pause, threads := "pause", "threads"
	if v.paused {
		pause = "go on"
	}
	if v.perThread {
		threads = "merge"
	}
	keys := "q quit  1 live 2 bytes 3 count 4 temporary  s sort  / filter  space " + pause + "  t " + threads + "  arrows PgUp PgDn"
	return reversed((&output{}).fit([]span{{plain, keys}}, 0, width), width)
}
