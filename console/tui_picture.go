package console

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"hdb/session"
)

// A picture is what the source window and the bar show, whatever their size.
type picture struct {
	file, language string
	text           *session.SourceText // nil: why says why
	why            string
	first, last    int            // lines that should be seen: the frame's, or those listed
	listed         bool           // by list, not by the frame
	current        int            // the line the arrow points at, 0 none
	marks          map[int]string // breakpoints by line
	function       string         // of the frame
	where          string         // thread, frame, capture
}

// key is what a picture is of: another key moves the window there.
func (p *picture) key() string {
	return fmt.Sprintf("%s:%d-%d %t %s", p.file, p.first, p.last, p.listed, p.where)
}

// place is where the selected frame is, or what was listed since.
func (c *Console) place() picture {
	var p picture
	f, err := c.s.SelectedFrame()
	stands := err == nil
	if stands {
		p.function = c.out.names.short(c.out.names.function(f.Function, f.Linkage))
		p.where = c.frameWords(f)
	}
	switch l := c.listing; {
	case l.last > 0:
		p.file, p.language, p.first, p.last, p.listed, p.current = l.file, l.language, l.first, l.last, true, l.current
		if stands && f.File == l.file {
			p.current = f.Line
		}
	case stands && (f.File == "" || f.Line == 0):
		name := p.function
		if name == "" {
			name = f.Code.Addr().String()
		}
		p.why = fmt.Sprintf("no line information for %s [%s]", name, strings.Trim(orUnknown(f.Module), "[]"))
	default:
		p.file, p.first, p.language, p.current = c.here()
		p.last = p.first
	}
	if p.file == "" && p.why == "" {
		p.why = "no source: " + c.noPlace()
	}
	p.marks = c.breakpointLines(p.file)
	return p
}

// noPlace says why there is nothing to show.
func (c *Console) noPlace() string {
	if c.s.Mode() == session.Empty {
		return session.ErrNoProgram.Error()
	}
	return "no place in the program is selected"
}

// frameWords tell which frame of what is selected.
func (c *Console) frameWords(f session.Frame) string {
	words := fmt.Sprintf("#%d", f.Num)
	if c.s.Mode() == session.Saved {
		if _, selected := c.s.Opened(); selected != "" {
			return words + "  " + selected
		}
		return words
	}
	if t, err := c.s.Thread(); err == nil {
		words += fmt.Sprintf("  thread %d %s", t.Num, quoted(t.Name))
	}
	return words
}

// breakpointLines are gdb's marks: b or B when it was hit, + or - when it is disabled.
func (c *Console) breakpointLines(file string) map[int]string {
	marks := map[int]string{}
	if file == "" {
		return marks
	}
	for _, st := range c.s.Stops() {
		for _, p := range st.Places {
			if p.File != file || p.Line <= 0 {
				continue
			}
			mark := []byte("b-")
			if st.Hits > 0 {
				mark[0] = 'B'
			}
			if st.Enabled {
				mark[1] = '+'
			}
			if old := marks[p.Line]; old != "" { // of several the most active
				mark[0], mark[1] = min(mark[0], old[0]), min(mark[1], old[1])
			}
			marks[p.Line] = string(mark)
		}
	}
	return marks
}

// around is the first line of a window of so many rows that shows the picture's
// lines, when it began at top before: it stays if they are all seen, and has them
// in the middle otherwise.
func (p *picture) around(top, rows int) int {
	if top > 0 && p.first >= top && p.last < top+rows {
		return top
	}
	if p.last-p.first >= rows {
		return max(1, p.first)
	}
	return p.bounded(p.first-(rows-(p.last-p.first+1))/2, rows)
}

// bounded keeps the window within the file.
func (p *picture) bounded(top, rows int) int {
	if p.text != nil {
		top = min(top, p.text.Last()-rows+1)
	}
	return max(1, top)
}

// maxShown bounds what is looked at of one line, bytes.
const maxShown = 8192

// lines are the rows of the source window, each at most width columns.
func (p *picture) lines(o *output, tab, top, left, rows, width int) []string {
	out := make([]string, rows)
	if p.text == nil {
		out[rows/2] = o.fit([]span{{styleGuess, p.why}}, 0, width)
		return out
	}
	w := window{file: p.file, language: p.language, first: top}
	known := make([]bool, rows)
	for i := range rows {
		text, ok := p.text.Line(top + i)
		known[i] = ok
		w.lines = append(w.lines, begin(text, maxShown))
	}
	if p.text.Whole() {
		for n := max(1, top-contextLines); n < top; n++ {
			if text, ok := p.text.Line(n); ok {
				w.before = append(w.before, text)
			}
		}
	}
	spans := w.plainLines()
	if o.color {
		spans = w.highlight()
	}
	digits := max(3, len(strconv.Itoa(top+rows-1)))
	for i := range rows {
		if known[i] {
			out[i] = p.line(o, top+i, digits, expandTabs(spans[i], tab), left, width)
		}
	}
	return out
}

// begin is at most n bytes of text, up to the end of a character.
func begin(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// line is one of them.
func (p *picture) line(o *output, n, digits int, text []span, left, width int) string {
	mark, number := fmt.Sprintf("%-2s ", p.marks[n]), fmt.Sprintf("%*d  ", digits, n)
	gutter := min(len(mark)+len(number), width)
	if n != p.current {
		return o.fit([]span{{styleArrow, mark}, {styleGuess, number}}, 0, gutter) + o.fit(text, left, width-gutter)
	}
	if mark = "=> "; p.marks[n] != "" {
		mark = p.marks[n] + ">"
	}
	if !o.color {
		return o.fit([]span{{plain, mark + number}}, 0, gutter) + o.fit(text, left, width-gutter)
	}
	bare := output{}
	row := bare.fit([]span{{plain, mark + number}}, 0, gutter) + bare.fit(text, left, width-gutter)
	return reversed(row, width)
}

// bar is the line between source and console: file, function, position.
func (p *picture) bar(o *output, onSource bool, width int) string {
	var parts []string
	if p.file != "" {
		parts = append(parts, shortened(clean(shortPath(p.file)), max(width/2, 12)))
	}
	if p.function != "" && !p.listed {
		parts = append(parts, p.function)
	}
	if p.first > 0 {
		at := fmt.Sprintf("line %d", p.first)
		if p.last > p.first {
			at = fmt.Sprintf("lines %d-%d", p.first, p.last)
		}
		if p.text != nil && p.text.Whole() {
			at += fmt.Sprintf(" of %d", p.text.Last())
		}
		parts = append(parts, at)
	}
	if p.where != "" {
		parts = append(parts, p.where)
	}
	if len(parts) == 0 {
		parts = []string{"no program"}
	}
	if onSource {
		parts = append([]string{"[keys: source]"}, parts...)
	}
	text := (&output{}).fit([]span{{plain, strings.Join(parts, "  ")}}, 0, width-2)
	if o.color {
		return reversed(" "+text, width)
	}
	return "-" + text + strings.Repeat("-", max(0, width-1-textWidth(text)))
}

// reversed is text, of so many columns, in exchanged colours (SGR 7).
func reversed(text string, width int) string {
	return "\x1b[7m" + text + strings.Repeat(" ", max(0, width-cells(text))) + "\x1b[0m"
}

// shortened keeps the end of a path that is too wide, and always its last part.
func shortened(path string, width int) string {
	for textWidth(path) > width {
		_, rest, ok := strings.Cut(strings.TrimPrefix(path, ".../"), string(filepath.Separator))
		if !ok {
			break
		}
		path = ".../" + rest
	}
	return path
}

// cells is the number of columns of cleaned text, counted by character: a terminal
// that joins characters to one needs no more.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += (&runewidth.Condition{}).RuneWidth(r)
	}
	return n
}

// maxMarks bounds the characters without a width of their own behind one with.
const maxMarks = 4

// fit is the columns [left, left+width) of a row, cleaned and coloured. A wide
// character across an edge becomes blanks.
func (o *output) fit(row []span, left, width int) string {
	var b strings.Builder
	column, marks, end := 0, 0, left+width
	for _, s := range row {
		var part strings.Builder
		for _, r := range clean(s.text) {
			w := (&runewidth.Condition{}).RuneWidth(r)
			switch {
			case w == 0:
				if marks++; column > left && column <= end && marks <= maxMarks {
					part.WriteRune(r)
				}
				continue
			case column >= left && column+w <= end:
				part.WriteRune(r)
			case column < end && column+w > left:
				part.WriteString(strings.Repeat(" ", min(column+w, end)-max(column, left)))
			}
			column += w
			marks = 0
			if column > end {
				break
			}
		}
		o.paint(&b, s.style, part.String())
		if column > end {
			break
		}
	}
	return b.String()
}
