package screen

import (
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

	Unfollowed bool // nothing is known of what the program allocates: no allocator function of it is

	Rows    []MonitorRow         // of the functions, or of those of each thread
	Threads map[int32]string     // "1 main"
	Columns func(n int) []uint64 // the heap over time; nil: none yet
	Note    string               // about the numbers: names are being looked up
	Message string               // what hdb said last
	Ended   string               // how the program did, "" it runs
	Span    time.Duration        // from From to To of the rows; 0: nothing to compare
	Since   time.Duration        // from Base of the rows to now; below 0: Base is not known

	// In the order of the keys.
	by        heap.Measure
	order     monitorOrder
	PerThread bool
	Paused    bool
	filters   [filters]string
	typing    bool   // a filter
	which     int    // of the filters is typed
	before    string // it was before that
	path      []monitorStep
	help      bool
	cursor    int  // the row that Enter is for
	top       int  // the first row shown
	page      int  // how many are
	ASCII     bool // the terminal has no block elements
	sizes     units.Sizes
}

// The filters, in the order in which they are shown.
const (
	filterAny = iota
	filterFunction
	filterModule
	filters // their count
)

var filterNames = [filters]string{"with", "function", "module"}

// A MonitorRow is what a function allocated itself, and what all stacks did that lead
// through it.
type MonitorRow struct {
	Key        MonitorKey
	Site       heap.Site
	Own, Total MonitorSum
	Base       MonitorSum // Own when the changes began to count
	From, To   MonitorSum // Own at the last two moments of the clock
}

// A MonitorKey tells rows apart.
type MonitorKey struct {
	TID      int32 // of the thread, 0 all threads
	Function int32 // below 0: none
	Line     int32 // 0: rows of whole functions
}

// A monitorStep is a row that was gone into.
type monitorStep struct {
	row         MonitorRow
	cursor, top int // before that
}

// Path are the rows that were gone into, the outermost first; none: the rows are functions.
func (v *Monitor) Path() []MonitorKey {
	var keys []MonitorKey
	for i := range v.path {
		keys = append(keys, v.path[i].row.Key)
	}
	return keys
}

// A MonitorSum is a sum over events.
type MonitorSum struct {
	Bytes, Count         uint64 // allocated in all
	LiveBytes, LiveCount uint64 // not freed
	Temporary            uint64 // blocks freed before another one was allocated
}

// monitorOrder is what the rows are sorted by.
type monitorOrder uint8

const (
	orderOwn monitorOrder = iota
	orderTotal
	orderChange
	orderRate
	orderName
	orders // their count
)

var orderNames = [orders]string{"own", "total", "change", "rate", "name"}

// monitorMeasures are those that keys choose, from 1.
var monitorMeasures = []heap.Measure{heap.ByLive, heap.ByBytes, heap.ByCount, heap.ByTemporary}

// An Act is what a key asks for that the view cannot do.
type Act uint8

// The acts.
const (
	ActPaint Act = iota // paint the view
	ActQuit             // end it
	ActRows             // give it other rows, and paint it
	ActBase             // let the changes count from now on, and paint it
	ActNone             // nothing
)

// What the live view needs: header, heading, some rows and the keys.
const (
	minMonitorRows = 10
	minMonitorCols = 40
	headerRows     = 5 // and the heading
)

// MonitorFits reports whether a terminal is large enough for the live view.
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
	if v.help {
		v.help = false
		if k != "q" {
			return ActPaint
		}
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
		v.order = (v.order + 1) % orders
		v.home()
	case " ":
		v.Paused = !v.Paused
		return ActRows
	case "d":
		return ActBase
	case "t":
		v.PerThread, v.path = !v.PerThread && len(v.path) == 0, nil
		v.home()
		return ActRows
	case "/", "f", "M":
		v.typing, v.which = true, strings.Index("/fM", k)
		v.before = v.filters[v.which]
	case "\r", "\n", "\x1b[C", "\x1bOC":
		return v.enter()
	case "\x7f", "\b", "\x1b[D", "\x1bOD":
		return v.leave()
	case "\x1b":
		if v.filters == [filters]string{} {
			return v.leave()
		}
		v.filters = [filters]string{}
		v.home()
	case "?", "h":
		v.help = true
	case "\x0c": // painted whatever happened
	default:
		return v.moved(k)
	}
	return ActPaint
}

// moved moves the cursor.
func (v *Monitor) moved(k string) Act {
	switch k {
	case "\x1b[A", "\x1bOA", "k":
		v.cursor--
	case "\x1b[B", "\x1bOB", "j":
		v.cursor++
	case "\x1b[5~":
		v.cursor -= v.page
		v.top -= v.page
	case "\x1b[6~":
		v.cursor += v.page
		v.top += v.page
	case "\x1b[H", "\x1bOH", "\x1b[1~", "g":
		v.cursor = 0
	case "\x1b[F", "\x1bOF", "\x1b[4~", "G":
		v.cursor = len(v.Rows)
	default:
		return ActNone
	}
	return ActPaint
}

// home moves the cursor to the first row.
func (v *Monitor) home() { v.cursor, v.top = 0, 0 }

// enter goes into the row at the cursor.
func (v *Monitor) enter() Act {
	rows, _ := v.selected()
	if len(rows) == 0 {
		return ActNone
	}
	row := *rows[min(max(v.cursor, 0), len(rows)-1)]
	if row.Key.Function < 0 {
		return ActNone
	}
	row.Key.TID = 0
	v.path = append(v.path, monitorStep{row, v.cursor, v.top})
	v.filters = [filters]string{}
	v.home()
	return ActRows
}

// leave goes back out of the row that was gone into last.
func (v *Monitor) leave() Act {
	n := len(v.path) - 1
	if n < 0 {
		return ActNone
	}
	v.cursor, v.top = v.path[n].cursor, v.path[n].top
	v.path = v.path[:n]
	return ActRows
}

func (v *Monitor) measure(by heap.Measure) {
	v.by = by
	v.home()
}

// maxFilter bounds what is typed.
const maxFilter = 100

// typed is a key of the filter.
func (v *Monitor) typed(k string) Act {
	v.home()
	text := &v.filters[v.which]
	switch k {
	case "\r", "\n":
		v.typing = false
	case "\x1b":
		v.typing, *text = false, v.before
	case "\x7f", "\b":
		_, n := utf8.DecodeLastRuneInString(*text)
		*text = (*text)[:len(*text)-n]
	case "\x15": // Ctrl-U
		*text = ""
	default:
		if r, n := utf8.DecodeRuneInString(k); n != len(k) || !unicode.IsPrint(r) || len(*text) >= maxFilter {
			return ActNone
		}
		*text += k
	}
	return ActPaint
}

// Lines are the rows of a screen of that size. One that is too small says so.
func (v *Monitor) Lines(o *Output, height, width int) []string {
	if !MonitorFits(height, width) {
		return []string{(&Output{}).fit([]Span{{plain, SmallMonitor(height, width).Error()}}, 0, max(width, 0))}
	}
	v.sizes = o.Sizes
	height, width = min(height, maxSourceRows), min(width, maxSourceCols)
	rows, whole := v.selected()
	v.page = height - headerRows - 2
	v.cursor = min(max(v.cursor, 0), max(0, len(rows)-1))
	v.top = min(max(v.top, v.cursor-v.page+1, 0), v.cursor, max(0, len(rows)-v.page))
	out := v.header(o, width, len(rows))
	if v.help {
		return v.helpLines(o, out, height, width)
	}
	columns := v.columns(width)
	out = append(out, v.heading(columns, width))
	for i, r := range rows[v.top:min(len(rows), v.top+v.page)] {
		if v.top+i == v.cursor {
			out = append(out, reversed((&Output{}).fit(v.row(o, columns, r, whole, width), 0, width), width))
			continue
		}
		out = append(out, o.fit(v.row(o, columns, r, whole, width), 0, width))
	}
	if len(rows) == 0 {
		out = append(out, o.fit([]Span{{styleGuess, v.nothing()}}, 0, width))
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	return append(out, v.footer(width))
}

// nothing is why there are no rows.
func (v *Monitor) nothing() string {
	switch {
	case v.filters != [filters]string{} && v.Events > 0:
		return "no function's name, file or module contains that"
	case len(v.path) > 0 && v.Events > 0:
		return "nothing was allocated that way in this measure"
	case v.Unfollowed:
		return "no allocator function is known: what it allocates is not counted"
	case v.Events == 0:
		return "nothing was allocated yet"
	}
	return "nothing to show in this measure"
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
	first := []Span{{styleHead, fmt.Sprintf("pid %d  %s  %s  ", v.PID, units.Clock(v.Elapsed), state)}, {plain, v.Program}}
	heap := fmt.Sprintf("live %s in %s   peak %s   RSS %s", o.Sizes.Short(v.Live), units.Count(v.Blocks, "block"), o.Sizes.Short(v.Peak), o.Sizes.Short(v.RSS))
	if v.Unfollowed {
		heap = fmt.Sprintf("live not known   RSS %s", o.Sizes.Short(v.RSS))
	}
	if v.RSS == 0 {
		heap, _, _ = strings.Cut(heap, "   RSS")
	}
	events := fmt.Sprintf("%s  %s/s", units.Count(v.Events, "event"), units.Grouped(v.Rate))
	if v.Since > 0 && width >= changeFrom {
		events += "  change over " + units.Clock(v.Since)
	}
	if v.Lost > 0 {
		events += "  " + units.Grouped(v.Lost) + " lost"
	}
	how := fmt.Sprintf("%s, by %s", v.by, orderNames[v.order])
	if v.PerThread {
		how += ", per thread"
	}
	for i, text := range v.filters {
		if text != "" {
			how += fmt.Sprintf(", %s %q", filterNames[i], text)
		}
	}
	how = fmt.Sprintf("%s   %s", units.Count(rows, "row"), how)
	if way := v.way(); way != "" {
		how = way + "   " + how
	}
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
	return []Span{{plain, head}, {styleFunc, b.String()}, {plain, " " + v.sizes.Short(highest)}}
}

// way tells what was gone into: the lines of a function, or the callers of one.
func (v *Monitor) way() string {
	n := len(v.path)
	if n == 0 {
		return ""
	}
	last := &v.path[n-1].row.Site
	if n == 1 {
		return "lines of " + ShortName(last.Function)
	}
	text := "callers of " + ShortName(last.Function)
	if last.Line > 0 {
		text += fmt.Sprintf(":%d", last.Line)
	}
	return text
}

// footer names the keys, or has the filter that is typed.
func (v *Monitor) footer(width int) string {
	if v.typing {
		what := [filters]string{"filter: ", "function: ", "module: "}[v.which]
		return reversed((&Output{}).fit([]Span{{plain, what + v.filters[v.which] + "_   (Enter keeps it, Esc does not)"}}, 0, width), width)
	}
	pause, threads := "pause", "threads"
	if v.Paused {
		pause = "go on"
	}
	if v.PerThread {
		threads = "merge"
	}
	keys := "q quit  ? keys  Enter in  Bksp out  1 live 2 bytes 3 count 4 temporary  s sort  / f M filter  d from now  space " + pause + "  t " + threads + "  arrows PgUp PgDn"
	return reversed((&Output{}).fit([]Span{{plain, keys}}, 0, width), width)
}

// monitorHelp are the keys, a line each, as short as they fit the narrowest terminal.
var monitorHelp = []string{
	"q      end      Enter  go in   ? keys", "Bksp   go out   s      sort",
	"1 2    live bytes, all bytes", "3 4    count, temporary blocks",
	"/ f M  filter: any, function, module", "Esc    no filter, or go out",
	"d      count changes from now", "space  pause the picture", "t      rows for each thread",
	"arrows PgUp PgDn Home End  move", "Ctrl-L paint anew",
}

// helpLines are the keys below the header, in as many columns as it takes.
func (v *Monitor) helpLines(o *Output, out []string, height, width int) []string {
	const column = 40
	room := height - len(out) - 1
	for i := range min(room, len(monitorHelp)) {
		var line string
		for k := i; k < len(monitorHelp); k += room {
			line += fmt.Sprintf("%-*s", column, monitorHelp[k])
		}
		out = append(out, o.fit([]Span{{plain, strings.TrimRight(line, " ")}}, 0, width))
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	return append(out, reversed((&Output{}).fit([]Span{{plain, "any key goes back"}}, 0, width), width))
}
