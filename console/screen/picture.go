package screen

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// A SourceText is the lines of a source file, or some of them, from 1.
type SourceText interface {
	Line(n int) (text string, ok bool) // false: it is not there
	Last() int                         // the number of the last line there is
	Whole() bool                       // all of the file is there
}

// A Picture is what the source window and the bar show, whatever their size.
type Picture struct {
	File, Language string
	Text           SourceText // nil: why says why
	Why            string
	First, Last    int            // lines that should be seen: the frame's, or those listed
	Listed         bool           // by list, not by the frame
	Current        int            // the line the arrow points at, 0 none
	Marks          map[int]string // breakpoints by line
	Function       string         // of the frame
	Where          string         // thread, frame, capture
}

// Key is what a picture is of: a picture with another key moves the window there.
func (p *Picture) Key() string {
	return fmt.Sprintf("%s:%d-%d %t %s", p.File, p.First, p.Last, p.Listed, p.Where)
}

// around is the first line of a window of that number of rows that shows the picture's lines, when
// it began at top before: it stays if they are all seen, and shows them in the middle otherwise.
func (p *Picture) around(top, rows int) int {
	if top > 0 && p.First >= top && p.Last < top+rows {
		return top
	}
	if p.Last-p.First >= rows {
		return max(1, p.First)
	}
	return p.bounded(p.First-(rows-(p.Last-p.First+1))/2, rows)
}

// bounded keeps the window within the file.
func (p *Picture) bounded(top, rows int) int {
	if p.Text != nil {
		top = min(top, p.Text.Last()-rows+1)
	}
	return max(1, top)
}

// maxShown bounds what is looked at of one line, bytes.
const maxShown = 8192

// lines are the rows of the source window, each at most width columns.
func (p *Picture) lines(o *Output, tab, top, left, rows, width int) []string {
	out := make([]string, rows)
	if p.Text == nil {
		out[rows/2] = o.fit([]Span{{styleGuess, p.Why}}, 0, width)
		return out
	}
	w := Window{File: p.File, Language: p.Language, First: top}
	known := make([]bool, rows)
	for i := range rows {
		text, ok := p.Text.Line(top + i)
		known[i] = ok
		w.Lines = append(w.Lines, begin(text, maxShown))
	}
	if p.Text.Whole() {
		for n := max(1, top-ContextLines); n < top; n++ {
			if text, ok := p.Text.Line(n); ok {
				w.Before = append(w.Before, text)
			}
		}
	}
	spans := w.plainLines()
	if o.Color {
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
func (p *Picture) line(o *Output, n, digits int, text []Span, left, width int) string {
	mark, number := fmt.Sprintf("%-2s ", p.Marks[n]), fmt.Sprintf("%*d  ", digits, n)
	gutter := min(len(mark)+len(number), width)
	if n != p.Current {
		return o.fit([]Span{{styleArrow, mark}, {styleGuess, number}}, 0, gutter) + o.fit(text, left, width-gutter)
	}
	if mark = "=> "; p.Marks[n] != "" {
		mark = p.Marks[n] + ">"
	}
	if !o.Color {
		return o.fit([]Span{{plain, mark + number}}, 0, gutter) + o.fit(text, left, width-gutter)
	}
	bare := Output{}
	row := bare.fit([]Span{{plain, mark + number}}, 0, gutter) + bare.fit(text, left, width-gutter)
	return reversed(row, width)
}

// bar is the line between source and console: file, function, position.
func (p *Picture) bar(o *Output, onSource bool, width int) string {
	var parts []string
	if p.File != "" {
		parts = append(parts, shortened(Clean(ShortPath(p.File)), max(width/2, 12)))
	}
	if p.Function != "" && !p.Listed {
		parts = append(parts, p.Function)
	}
	if p.First > 0 {
		at := fmt.Sprintf("line %d", p.First)
		if p.Last > p.First {
			at = fmt.Sprintf("lines %d-%d", p.First, p.Last)
		}
		if p.Text != nil && p.Text.Whole() {
			at += fmt.Sprintf(" of %d", p.Text.Last())
		}
		parts = append(parts, at)
	}
	if p.Where != "" {
		parts = append(parts, p.Where)
	}
	if len(parts) == 0 {
		parts = []string{"no program"}
	}
	if onSource {
		parts = append([]string{"[keys: source]"}, parts...)
	}
	text := (&Output{}).fit([]Span{{plain, strings.Join(parts, "  ")}}, 0, width-2)
	if o.Color {
		return reversed(" "+text, width)
	}
	return "-" + text + strings.Repeat("-", max(0, width-1-textWidth(text)))
}

// reversed is text, of that number of columns, in exchanged colours (SGR 7).
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
func (o *Output) fit(row []Span, left, width int) string {
	var b strings.Builder
	column, marks, end := 0, 0, left+width
	for _, s := range row {
		var part strings.Builder
		for _, r := range Clean(s.Text) {
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
