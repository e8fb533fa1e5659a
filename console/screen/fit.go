package screen

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// A cut is where a line of text is broken: the line ends at one offset and continues at another.
type cut struct{ end, next int }

// label is the width of what is not left alone on a line: the number of a frame.
const label = 4

// breaks are the cuts by which a line of cleaned text fits into a width, with each line behind
// the first one indented. They are at blanks, or between the parts of a function's name that is
// longer than a line. A path stays whole, so that it can be copied.
func breaks(text string, width, indent int) []cut {
	var cuts []cut
	for from, column := 0, 0; ; column = indent {
		c, ok := firstBreak(text[from:], width, column)
		if !ok {
			return cuts
		}
		cuts = append(cuts, cut{from + c.end, from + c.next})
		from += c.next
	}
}

// firstBreak is where a text that begins in a column is broken first.
func firstBreak(text string, width, column int) (cut, bool) {
	start, blank, atBlank, part := column, -1, 0, -1
	name := false // of a function
	word := true  // begins here
	begun := false
	for i, r := range text {
		if r == ' ' {
			if begun {
				blank, atBlank = i, column
			}
			column, word = column+1, true
			continue
		}
		if word {
			name, word, begun = isName(text[i:]), false, true
		}
		if name && r == '(' && column <= width && begun && i > 0 && text[i-1] != ' ' {
			part = i
		}
		if column += (&runewidth.Condition{}).RuneWidth(r); column > width {
			switch {
			case blank >= 0 && (atBlank > start+label || part < blank):
				return cut{blank, blank + 1}, true
			case part > 0:
				return cut{part, part}, true
			}
		}
		if name && (r == ',' || r == '.' || r == ':' && i > 0 && text[i-1] == ':') {
			part = i + 1
		}
	}
	return cut{}, false
}

// isName reports whether the word that text begins with may be broken: it is no path.
func isName(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return !strings.ContainsAny(word, "/\"'")
}

// indentOf is the indentation of the lines behind the first one of a broken line: its own, and
// two columns.
func indentOf(text string, width int) int {
	return min(len(text)-len(strings.TrimLeft(text, " "))+2, width/2)
}

// wrapped breaks the lines of cleaned text at words where they do not fit.
func (o *Output) wrapped(text string) string {
	if !o.Fit || o.Width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if textWidth(line) > o.Width {
			line = strings.TrimRight(line, " ")
		}
		indent := indentOf(line, o.Width)
		from := 0
		for _, c := range breaks(line, o.Width, indent) {
			b.WriteString(strings.TrimRight(line[from:c.end], " ") + "\n" + strings.Repeat(" ", indent))
			from = c.next
		}
		if b.WriteString(line[from:]); ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// broken is wrapped for the spans of one line.
func (o *Output) broken(spans []Span) [][]Span {
	if !o.Fit || o.Width <= 0 {
		return [][]Span{spans}
	}
	var text strings.Builder
	cleaned := make([]Span, len(spans))
	for i, s := range spans {
		cleaned[i] = Span{s.style, Clean(s.Text)}
		text.WriteString(cleaned[i].Text)
	}
	line := strings.TrimRight(text.String(), " ")
	indent := indentOf(line, o.Width)
	if len(line) > 1 && line[0] == '#' && line[1] >= '0' && line[1] <= '9' { // a frame
		indent = min(label, o.Width/2)
	}
	var lines [][]Span
	var row []Span
	at, cuts := 0, breaks(line, o.Width, indent)
	for _, s := range cleaned {
		for len(cuts) > 0 && cuts[0].end < at+len(s.Text) {
			c := cuts[0]
			lines = append(lines, append(row, Span{s.style, s.Text[:c.end-at]}))
			row, s.Text, at, cuts = []Span{{plain, strings.Repeat(" ", indent)}}, s.Text[c.next-at:], c.next, cuts[1:]
		}
		row, at = append(row, s), at+len(s.Text)
	}
	return append(lines, row)
}
