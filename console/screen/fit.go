package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// least is the width to which a column of a table may shrink.
const least = 12

// fitted brings the parts of a table to the width of the output. First the files are called by
// their last parts, then the widest columns of text lose the middles of their cells. Numbers,
// which are aligned at the right, stay whole.
func (t *LongTable) fitted(rows [][]Span) [][]Span {
	if !t.o.Fit || t.o.Width <= 0 {
		return rows
	}
	if !t.o.Names.Paths && t.total(t.measured(rows)) > t.o.Width {
		rows = baseNames(rows)
	}
	widths := t.measured(rows)
	for over := t.total(widths) - t.o.Width; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if !t.columns[i].Right && w > least && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	out := make([][]Span, len(rows))
	for r, row := range rows {
		out[r] = make([]Span, len(row))
		for i, cell := range row {
			if out[r][i] = cell; !t.columns[i].Right && textWidth(Clean(cell.Text)) > widths[i] {
				out[r][i].Text = Middle(Clean(cell.Text), widths[i])
			}
		}
	}
	return out
}

// measured are the widths of the columns with some rows, as wide as they were at least.
func (t *LongTable) measured(rows [][]Span) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		if widths[i] = textWidth(c.Head); t.widths != nil {
			widths[i] = max(widths[i], t.widths[i])
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], textWidth(Clean(cell.Text)))
		}
	}
	return widths
}

// total is the width of a row of columns.
func (t *LongTable) total(widths []int) int {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// baseNames calls the files in a table by the last parts of their paths.
func baseNames(rows [][]Span) [][]Span {
	out := make([][]Span, len(rows))
	for r, row := range rows {
		out[r] = make([]Span, len(row))
		for i, cell := range row {
			if out[r][i] = cell; cell.style == styleFile {
				out[r][i].Text = cell.Text[strings.LastIndexByte(cell.Text, '/')+1:]
			}
		}
	}
	return out
}

// Middle is cleaned text cut to a width in its middle: of names that begin alike and end
// alike, what differs is mostly at an end.
func Middle(text string, width int) string {
	const gap = "..."
	if textWidth(text) <= width || width <= len(gap) {
		return text
	}
	c := &runewidth.Condition{}
	head := c.Truncate(text, (width-len(gap)+1)/2, "")
	tail, room := len(text), width-len(gap)-textWidth(head)
	for tail > len(head) {
		r, n := utf8.DecodeLastRuneInString(text[:tail])
		if room -= c.RuneWidth(r); room < 0 {
			break
		}
		tail -= n
	}
	return head + gap + text[tail:]
}

// breaks are the offsets of the blanks at which a line of cleaned text is broken to fit into a
// width, with each line behind the first one indented; none if it fits, or has no blanks.
func breaks(text string, width, indent int) []int {
	var at []int
	column, blank := 0, -1
	afterBlank := 0 // column behind the last blank
	c := &runewidth.Condition{}
	started := false
	for i, r := range text {
		if r == ' ' {
			if started {
				blank, afterBlank = i, column+1
			}
		} else {
			started = true
		}
		column += c.RuneWidth(r)
		if column > width && r != ' ' && blank >= 0 {
			at = append(at, blank)
			column, blank = indent+column-afterBlank, -1
		}
	}
	return at
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
		indent := indentOf(line, o.Width)
		from := 0
		for _, at := range breaks(strings.TrimSuffix(line, "\n"), o.Width, indent) {
			b.WriteString(line[from:at] + "\n" + strings.Repeat(" ", indent))
			from = at + 1
		}
		b.WriteString(line[from:])
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
	var lines [][]Span
	var row []Span
	at, cuts := 0, breaks(line, o.Width, indent)
	for _, s := range cleaned {
		for len(cuts) > 0 && cuts[0] < at+len(s.Text) {
			n := cuts[0] - at
			lines = append(lines, append(row, Span{s.style, s.Text[:n]}))
			row, s.Text, at, cuts = []Span{{plain, strings.Repeat(" ", indent)}}, s.Text[n+1:], cuts[0]+1, cuts[1:]
		}
		row, at = append(row, s), at+len(s.Text)
	}
	return append(lines, row)
}
