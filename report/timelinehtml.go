package report

import (
	"bufio"
	_ "embed" // the page's style and script
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

//go:embed timeline/page.css
var timelineCSS string

//go:embed timeline/page.js
var timelineJS string

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
}

// WriteTimelineHTML writes a page with the curves of WriteTimeline. It asks the
// network for nothing and shows the curves without its script, too, which adds the
// values below the pointer.
func WriteTimelineHTML(w io.Writer, p *Profile) error {
	from, to := p.span()
	data := timelineData{Left: curveLeft, Width: curveWidth, Begin: from.Microseconds(), Duration: to.Microseconds(), Heap: [][3]any{}, RSS: [][2]any{}, Marks: [][2]any{}}
	for _, m := range p.line() {
		data.Heap = append(data.Heap, [3]any{m.Time.Microseconds(), m.Live, m.Seq})
	}
	for _, s := range p.RSS {
		data.RSS = append(data.RSS, [2]any{s.Time.Microseconds(), s.RSS})
	}
	for _, m := range p.Marks {
		data.Marks = append(data.Marks, [2]any{m.Time.Microseconds(), printable(m.Name)})
	}
	text, err := json.Marshal(data) // which escapes <, so that no name ends the element
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n",
		pageHash(timelineCSS), pageHash(timelineJS), markup("Timeline of "+p.title()), timelineCSS)
	fmt.Fprintf(b, "<h1>%s</h1>\n", markup(p.title()))
	fmt.Fprintf(b, "<p>%s</p>\n", markup(p.process()))
	for _, text := range p.Caveats.Lines() {
		fmt.Fprintf(b, "<p>%s</p>\n", markup(text))
	}
	fmt.Fprintf(b, "<output aria-live=\"polite\">Values stand here for the time below the pointer.</output>\n")
	fmt.Fprintf(b, "<h2>Heap: live bytes</h2>\n<p>%s</p>\n", p.levels())
	if p.Sums {
		fmt.Fprintf(b, "<p>%s</p>\n", sumsText)
	} else {
		writeCurve(b, p, "heap", "Live bytes over time", p.heapValues(), heapHeight)
	}
	if rss := p.rssValues(); len(rss) > 0 {
		fmt.Fprintf(b, "<h2>Resident memory</h2>\n<p>%s, at most %s</p>\n", countText(uint64(len(rss)), "sample"), sizeText(highest(rss)))
		writeCurve(b, p, "rss", "Resident memory over time", rss, rssHeight)
	}
	p.writeMarkTable(b)
	fmt.Fprintf(b, "<script type=\"application/json\" id=\"data\">%s</script>\n<script>%s</script>\n</body>\n</html>\n", text, timelineJS)
	return b.Flush()
}

// markup is foreign text in HTML.
func markup(text string) string { return html.EscapeString(printable(text)) }

func highest(values []value) (most uint64) {
	for _, v := range values {
		most = max(most, v.bytes)
	}
	return most
}

// writeCurve draws values as steps: each lasts until the next.
func writeCurve(b *bufio.Writer, p *Profile, class, label string, values []value, height int) {
	from, to := p.span()
	top := highest(values)
	step := sizeStep(top)
	bottom := curveTop + height
	x := func(at time.Duration) string {
		return strconv.FormatFloat(curveLeft+along(at, from, to)*curveWidth, 'f', 1, 64)
	}
	y := func(n uint64) string {
		return strconv.FormatFloat(float64(bottom)-share(n, max(top, 1))*float64(height), 'f', 1, 64)
	}
	fmt.Fprintf(b, "<svg class=\"%s\" viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" aria-label=\"%s\">\n", class, curveLeft+curveWidth+curveRight, bottom+curveFoot, label)
	for n := uint64(0); ; n += step {
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/><text x=\"%d\" y=\"%s\" text-anchor=\"end\" dominant-baseline=\"middle\">%s</text>\n",
			curveLeft, curveLeft+curveWidth, y(n), y(n), curveLeft-8, y(n), shortSize(n))
		if n > top-min(top, step) || step == 0 {
			break
		}
	}
	tick := timeStep(to - from)
	for i := from / tick; i <= to/tick; i++ { // at most eleven: their sum may be beyond what a Duration holds
		at, anchor := i*tick, "middle"
		if at < from {
			continue
		}
		if at > to-(to-from)/20 {
			anchor = "end"
		}
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/><text x=\"%s\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x(at), x(at), bottom, bottom+4, x(at), bottom+18, anchor, at)
	}
	var path strings.Builder
	for i, v := range values {
		if i == 0 {
			fmt.Fprintf(&path, "M%s %s", x(v.at), y(v.bytes))
			continue
		}
		fmt.Fprintf(&path, "H%sV%s", x(v.at), y(v.bytes))
	}
	fmt.Fprintf(&path, "H%s", x(to))
	fmt.Fprintf(b, "<path class=\"area\" d=\"%sV%dH%sZ\"/><path class=\"line\" d=\"%s\"/>\n", path.String(), bottom, x(values[0].at), path.String())
	for first := 0; first < len(p.Marks); {
		at := x(p.Marks[first].Time)
		number, last := strconv.Itoa(first+1), first
		for last+1 < len(p.Marks) && curveWidth*(along(p.Marks[last+1].Time, from, to)-along(p.Marks[first].Time, from, to)) < markRoom {
			last++
		}
		if last > first {
			number += "-" + strconv.Itoa(last+1)
		}
		for _, m := range p.Marks[first : last+1] {
			fmt.Fprintf(b, "<line class=\"mark\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>", x(m.Time), x(m.Time), curveTop, bottom)
		}
		fmt.Fprintf(b, "<text class=\"marked\" x=\"%s\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at, curveTop-4, number)
		first = last + 1
	}
	fmt.Fprintf(b, "<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"%d\" y2=\"%d\"/>\n</svg>\n", curveTop, bottom)
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
func (p *Profile) writeMarkTable(b *bufio.Writer) {
	if len(p.Marks) == 0 {
		return
	}
	fmt.Fprint(b, "<h2>Marks</h2>\n<table>\n<tr><th>mark</th><th>time</th><th>after event</th><th>live, about</th><th>name</th></tr>\n")
	for i, m := range p.Marks {
		fmt.Fprintf(b, "<tr><td class=\"n\">%d</td><td class=\"n\">%s</td><td class=\"n\">#%d</td><td class=\"n\">%s</td><td>%s</td></tr>\n", i+1, timeText(m.Time), m.Seq, p.liveAt(m.Seq), markup(m.Name))
	}
	fmt.Fprint(b, "</table>\n")
}
