package page

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"hdb/internal/units"
	"hdb/report"
)

// The drawing of a curve, in units of its SVG.
const (
	curveLeft  = 84
	curveWidth = 900
	curveTop   = 16
	curveRight = 16
	curveFoot  = 24 // below the axis
	markRoom   = 24 // of the numbers of marks, which are nearer together than that
	heapHeight = 260
	rssHeight  = 130
)

// timelineData is what the page's script knows: times in microseconds.
type timelineData struct {
	Left     int      `json:"left"`
	Width    int      `json:"width"`
	Begin    int64    `json:"begin"` // of what is drawn
	Duration int64    `json:"duration"`
	Heap     [][3]any `json:"heap"` // time, bytes, event
	RSS      [][2]any `json:"rss"`
	Marks    [][2]any `json:"marks"` // time, name
	Raw      bool     `json:"raw"`   // sizes are shown as bytes, without units
}

// WriteTimeline writes a page with the heap and the resident memory over time, and
// the marks. It shows the curves without its script, too, which adds the values below
// the pointer.
func WriteTimeline(w io.Writer, p *report.Profile) error {
	d := document{title: "Timeline of " + p.ShortTitle(), body: timelineBody(p), style: "timeline.css", scripts: []string{"timeline.js"}, data: timelineDataOf(p)}
	return d.write(w)
}

func timelineDataOf(p *report.Profile) *timelineData {
	span := p.Span()
	data := &timelineData{Left: curveLeft, Width: curveWidth, Begin: span.From.Microseconds(), Duration: span.To.Microseconds(), Heap: [][3]any{}, RSS: [][2]any{}, Marks: [][2]any{}, Raw: p.Units.Raw}
	for _, m := range p.HeapMoments() {
		data.Heap = append(data.Heap, [3]any{m.Time.Microseconds(), m.Live, m.Seq})
	}
	for _, s := range p.RSS {
		data.RSS = append(data.RSS, [2]any{s.Time.Microseconds(), s.RSS})
	}
	for _, m := range p.Marks {
		data.Marks = append(data.Marks, [2]any{m.Time.Microseconds(), shown(m.Name)})
	}
	return data
}

// timelineBody is what the page shows without its script.
func timelineBody(p *report.Profile) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "<h1>%s</h1>\n", markup(p.ShortTitle()))
	fmt.Fprintf(b, "<p>%s</p>\n", markup(p.Process()))
	for _, text := range p.Caveats.Lines() {
		fmt.Fprintf(b, "<p>%s</p>\n", markup(text))
	}
	fmt.Fprintf(b, "<output aria-live=\"polite\">Hover the chart to see values.</output>\n")
	fmt.Fprintf(b, "<h2>Heap: live bytes</h2>\n<p>%s</p>\n", p.HeapText())
	if p.Sums {
		fmt.Fprintf(b, "<p>%s</p>\n", report.SumsText)
	} else {
		newDrawing(b, p, p.HeapCurve(), heapHeight).draw("heap", "Live bytes over time")
	}
	if rss := p.RSSCurve(); len(rss) > 0 {
		fmt.Fprintf(b, "<h2>Resident memory</h2>\n<p>%s, at most %s, with hdb's own memory</p>\n", units.Count(uint64(len(rss)), "sample"), p.Units.Long(rss.Highest()))
		newDrawing(b, p, rss, rssHeight).draw("rss", "Resident memory over time")
	}
	writeMarkTable(b, p)
	return b.String()
}

// A drawing is a curve as SVG.
type drawing struct {
	b      *strings.Builder
	p      *report.Profile
	curve  report.Curve
	span   report.Span
	top    uint64 // the highest level
	height int
	bottom int // where level 0 is
}

func newDrawing(b *strings.Builder, p *report.Profile, curve report.Curve, height int) *drawing {
	return &drawing{b: b, p: p, curve: curve, span: p.Span(), top: curve.Highest(), height: height, bottom: curveTop + height}
}

func (d *drawing) x(at time.Duration) string {
	return strconv.FormatFloat(curveLeft+d.span.Share(at)*curveWidth, 'f', 1, 64)
}

func (d *drawing) y(n uint64) string {
	return strconv.FormatFloat(float64(d.bottom)-float64(n)/float64(max(d.top, 1))*float64(d.height), 'f', 1, 64)
}

func (d *drawing) draw(class, label string) {
	fmt.Fprintf(d.b, "<svg class=\"%s\" viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" aria-label=\"%s\">\n", class, curveLeft+curveWidth+curveRight, d.bottom+curveFoot, label)
	d.grid()
	d.steps()
	d.marks()
	fmt.Fprintf(d.b, "<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"%d\" y2=\"%d\"/>\n</svg>\n", curveTop, d.bottom)
}

// grid draws the lines of sizes and the ticks of times.
func (d *drawing) grid() {
	step := sizeStep(d.top)
	for n := uint64(0); ; n += step {
		fmt.Fprintf(d.b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/><text x=\"%d\" y=\"%s\" text-anchor=\"end\" dominant-baseline=\"middle\">%s</text>\n",
			curveLeft, curveLeft+curveWidth, d.y(n), d.y(n), curveLeft-8, d.y(n), d.p.Units.Short(n))
		if n > d.top-min(d.top, step) || step == 0 {
			break
		}
	}
	from, to := d.span.From, d.span.To
	tick := timeStep(to - from)
	for i := from / tick; i <= to/tick; i++ { // at most eleven: their sum may be beyond what a Duration holds
		at, anchor := i*tick, "middle"
		if at < from {
			continue
		}
		if at > to-(to-from)/20 {
			anchor = "end"
		}
		fmt.Fprintf(d.b, "<line class=\"grid\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/><text x=\"%s\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", d.x(at), d.x(at), d.bottom, d.bottom+4, d.x(at), d.bottom+18, anchor, at)
	}
}

// steps draws the curve: each level lasts until the next.
func (d *drawing) steps() {
	var path strings.Builder
	for i, l := range d.curve {
		if i == 0 {
			fmt.Fprintf(&path, "M%s %s", d.x(l.At), d.y(l.Bytes))
			continue
		}
		fmt.Fprintf(&path, "H%sV%s", d.x(l.At), d.y(l.Bytes))
	}
	fmt.Fprintf(&path, "H%s", d.x(d.span.To))
	fmt.Fprintf(d.b, "<path class=\"area\" d=\"%sV%dH%sZ\"/><path class=\"line\" d=\"%s\"/>\n", path.String(), d.bottom, d.x(d.curve[0].At), path.String())
}

// marks draws the marks with their numbers; marks that are near one another share a label.
func (d *drawing) marks() {
	marks := d.p.Marks
	for first := 0; first < len(marks); {
		number, last := strconv.Itoa(first+1), first
		for last+1 < len(marks) && curveWidth*(d.span.Share(marks[last+1].Time)-d.span.Share(marks[first].Time)) < markRoom {
			last++
		}
		if last > first {
			number += "-" + strconv.Itoa(last+1)
		}
		for _, m := range marks[first : last+1] {
			fmt.Fprintf(d.b, "<line class=\"mark\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>", d.x(m.Time), d.x(m.Time), curveTop, d.bottom)
		}
		fmt.Fprintf(d.b, "<text class=\"marked\" x=\"%s\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", d.x(marks[first].Time), curveTop-4, number)
		first = last + 1
	}
}

// sizeStep is a power of two of which up to eight reach the top.
func sizeStep(top uint64) uint64 {
	if top < 8 {
		return 1
	}
	return 1 << (bits.Len64(top) - 3)
}

// timeStep is 1, 2 or 5 times a power of ten of which at most ten reach the end.
func timeStep(whole time.Duration) time.Duration {
	for step := time.Microsecond; ; step *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if whole/(step*n) <= 10 || step > 1e6*time.Hour {
				return step * n
			}
		}
	}
}

// writeMarkTable lists the marks.
func writeMarkTable(b *strings.Builder, p *report.Profile) {
	if len(p.Marks) == 0 {
		return
	}
	fmt.Fprint(b, "<h2>Marks</h2>\n<table>\n<tr><th>mark</th><th>time</th><th>after event</th><th>live, about</th><th>name</th></tr>\n")
	for i, m := range p.Marks {
		size := ""
		if live, known := p.LiveAt(m.Seq); known {
			size = p.Units.Short(live)
		}
		fmt.Fprintf(b, "<tr><td class=\"n\">%d</td><td class=\"n\">%s</td><td class=\"n\">#%d</td><td class=\"n\">%s</td><td>%s</td></tr>\n", i+1, units.Time(m.Time), m.Seq, size, markup(m.Name))
	}
	fmt.Fprint(b, "</table>\n")
}
