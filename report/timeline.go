package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hdb/internal/units"
)

// TimelineView is the heap and the resident memory over time in JSON.
type TimelineView struct {
	Begin    time.Duration `json:"begin_ns,omitempty"` // nothing is known of what was before
	Duration time.Duration `json:"duration_ns"`
	Sums     bool          `json:"sums,omitempty"` // nothing is known of the heap but at its peak and the end
	Peak     uint64        `json:"peak_bytes"`
	Heaps    uint64        `json:"peak_heap_bytes,omitempty"` // the part of it in blocks, where mappings have another
	PeakTime time.Duration `json:"peak_time_ns"`
	Heap     []heapView    `json:"heap"`                  // of each part of the time the highest point and the last
	Mapped   []mappedView  `json:"mapped_line,omitempty"` // by the program, in blocks of no allocator
	RSS      []rssView     `json:"rss"`
	Marks    []markView    `json:"marks"`
	Warnings []string      `json:"warnings,omitempty"` // what makes the numbers less certain
}

type heapView struct {
	Seq    uint64        `json:"after"`
	Time   time.Duration `json:"time_ns"`
	Live   uint64        `json:"live_bytes"`
	Blocks uint64        `json:"live_blocks,omitempty"` // not known of all
}

type rssView struct {
	Time time.Duration `json:"time_ns"`
	RSS  uint64        `json:"rss_bytes"`
}

type mappedView struct {
	Seq   uint64        `json:"after"`
	Time  time.Duration `json:"time_ns"`
	Bytes uint64        `json:"live_bytes"`
}

type markView struct {
	Seq  uint64        `json:"after"`
	Time time.Duration `json:"time_ns"`
	Name string        `json:"name"`
}

// TimelineOf is the profile over time.
func TimelineOf(p *Profile) TimelineView {
	v := TimelineView{Begin: p.Begin, Duration: p.duration(), Sums: p.Sums, Peak: p.PeakBytes(), PeakTime: p.Peak.Time, Heap: []heapView{}, RSS: []rssView{}, Marks: []markView{}, Warnings: p.Caveats.Lines()}
	if p.PeakMapped.Bytes > 0 {
		v.Heaps = p.Peak.Live
	}
	for _, m := range p.Timeline {
		v.Heap = append(v.Heap, heapView(m))
	}
	for _, m := range p.MappedLine {
		v.Mapped = append(v.Mapped, mappedView(m))
	}
	for _, s := range p.RSS {
		v.RSS = append(v.RSS, rssView(s))
	}
	for _, m := range p.Marks {
		v.Marks = append(v.Marks, markView(m))
	}
	return v
}

// The rows that the two curves have.
const (
	heapRows = 10
	rssRows  = 4
)

// flat tells that the heap was empty all the time.
func (p *Profile) flat() bool { return p.Peak.Seq == 0 && p.HeapCurve().Highest() == 0 }

// HeapText says in words how high the heap was at its peak and at the end.
func (p *Profile) HeapText() string {
	if p.flat() {
		return "no allocation was recorded"
	}
	if mapped := p.PeakMapped.Bytes; mapped > 0 {
		return fmt.Sprintf("peak %s at %s: heap %s, mappings %s; heap %s at the end", p.Units.Long(p.PeakBytes()), units.Time(p.Peak.Time), p.Units.Short(p.Peak.Live), p.Units.Short(mapped), p.Units.Long(p.Moment.Live))
	}
	return fmt.Sprintf("peak %s at %s, %s at the end", p.Units.Long(p.Peak.Live), units.Time(p.Peak.Time), p.Units.Long(p.Moment.Live))
}

// SumsText is in place of a curve where only two of its points are known.
const SumsText = "This recording has totals and no events (record --aggregate): between these moments the heap is unknown."

// WriteTimeline draws the heap and the resident memory over time, with the marks
// below them.
func WriteTimeline(w io.Writer, p *Profile, t Text) error {
	g := newPage(p, t)
	if len(p.Timeline) == 0 {
		g.line("no event was recorded")
		return g.flush(w)
	}
	span := p.Span()
	g.line("%s", p.heading())
	g.line("live bytes: %s", p.HeapText())
	g.caveats()
	switch {
	case p.flat():
	case p.Sums:
		g.sentence("", SumsText)
	default:
		g.curve(p.HeapCurve(), span, heapRows)
		g.marks(span)
	}
	if n := len(p.MappedLine); n > 0 {
		g.line("")
		g.line("mapped by the program: %s at the end", g.sizes.Long(p.MappedLine[n-1].Bytes))
		g.curve(p.MappedCurve(), span, rssRows)
	}
	if rss := p.RSSCurve(); len(rss) > 0 {
		g.line("")
		g.line("resident memory, with hdb's own: %s", units.Count(uint64(len(rss)), "sample"))
		g.curve(rss, span, rssRows)
	}
	if p.Sums || p.flat() {
		g.marks(span)
	}
	return g.flush(w)
}

// axis is the width of what is left of a curve.
const axis = len("1023.9 MiB ") + 1

// curveColumns is how many columns curves have.
func (g *page) curveColumns() int { return max(10, g.canvas()-axis) }

// curve draws a curve as an area: a column is as high as the highest in its time.
func (g *page) curve(curve Curve, span Span, rows int) {
	columns := g.curveColumns()
	heights := curve.highs(span, columns)
	top := uint64(0)
	for _, h := range heights {
		top = max(top, h)
	}
	for row := rows - 1; row >= 0; row-- {
		label := ""
		switch row {
		case rows - 1:
			label = g.sizes.Short(top)
		case 0:
			label = "0"
		case rows / 2:
			label = g.sizes.Short(uint64(float64(top) * (float64(row) + 0.5) / float64(rows)))
		}
		var b strings.Builder
		for _, h := range heights {
			b.WriteString(g.cell(h, top, row, rows))
		}
		g.line("%s %s%s", g.right(label, axis-2), g.pick("│", "|"), b.String())
	}
	g.line("%s%s%s", strings.Repeat(" ", axis-1), g.pick("└", "+"), strings.Repeat(g.pick("─", "-"), columns))
	begin, end := "0", units.Time(span.To)
	if span.From > 0 {
		begin = units.Time(span.From)
	}
	g.line("%s%s%s%s", strings.Repeat(" ", axis), begin, strings.Repeat(" ", max(1, columns-len(begin)-len(end))), end)
}

// lower are the lower parts of a block, of 0/8 to 8/8.
var lower = [9]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// cell is one character of an area of that number of rows, counted from below. What is not nothing
// can be seen.
func (g *page) cell(h, top uint64, row, rows int) string {
	if top == 0 || h == 0 {
		return " "
	}
	parts := 8
	if !g.Unicode {
		parts = 2
	}
	n := max(1, int(units.Share(h, top)*float64(rows*parts)+0.5)) - row*parts
	n = min(max(n, 0), parts)
	if g.Unicode {
		return lower[n]
	}
	return [3]string{" ", ".", "#"}[n]
}

// maxMarks is how many marks are listed.
const maxMarks = 40

// marks draws the marks below a curve, and lists them.
func (g *page) marks(span Span) {
	marks := g.p.Marks
	if len(marks) == 0 {
		return
	}
	columns := g.curveColumns()
	line := []byte(strings.Repeat(" ", columns))
	letter := func(i int) byte {
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if i < len(letters) {
			return letters[i]
		}
		return '^'
	}
	for i, m := range marks {
		at := min(columns-1, int(span.Share(m.Time)*float64(columns)))
		if line[at] != ' ' {
			line[at] = '*' // several
		} else {
			line[at] = letter(i)
		}
	}
	g.line("%s%s", strings.Repeat(" ", axis), line)
	var rows [][]string
	for i, m := range marks[:min(len(marks), maxMarks)] {
		rows = append(rows, []string{string(letter(i)), units.Time(m.Time), fmt.Sprintf("#%d", m.Seq), g.liveAt(m.Seq), m.Name})
	}
	g.table("  ", []string{"mark", "time", "after", "live, about", "name"}, rows, 1)
	if more := len(marks) - maxMarks; more > 0 {
		g.line("  and %s", units.Count(uint64(more), "other mark"))
	}
}

// liveAt is roughly how much was live after an event, as text.
func (g *page) liveAt(seq uint64) string {
	live, known := g.p.LiveAt(seq)
	if !known {
		return ""
	}
	return g.sizes.Short(live)
}
