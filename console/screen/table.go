package screen

import (
	"slices"
	"strings"
)

// A Column is a column of a table.
type Column struct {
	Head  string
	Right bool // cells are aligned at the right
}

// Table prints rows under headings, each column as wide as its widest cell. The
// last column is not padded. Columns without any heading print no heading line.
func (o *Output) Table(columns []Column, rows [][]Span) {
	NewLongTable(o, columns).Add(rows)
}

// A LongTable is a table that is printed part by part. Its columns get wider where a
// part needs it.
//
// What does not fit the width of the output is made to. First the files are called by their
// last parts. Then text in the last column is broken at words, and the widest columns of names
// lose what their names have in common, as long as enough is left to tell them apart. Where
// that is not so, each row takes several lines, which have some of the columns each. Numbers
// and addresses stay whole.
type LongTable struct {
	o       *Output
	columns []Column
	widths  []int // nil before the first part
	folded  bool  // a part had several lines a row
}

// NewLongTable returns a table on o without rows.
func NewLongTable(o *Output, columns []Column) *LongTable {
	return &LongTable{o: o, columns: columns}
}

// A layout is how the rows of a part of a table are put on lines.
type layout struct {
	widths []int
	lines  [][]int // the columns of each line of a row
	wraps  bool    // the last column is text that is broken at words
}

const (
	gap = 2 // columns between the cells of a row
	// foldIndent begins the lines of a row behind its first one.
	foldIndent = 4
)

// Add prints a part.
func (t *LongTable) Add(rows [][]Span) {
	first := t.widths == nil
	if t.o.Fit && t.o.Width > 0 && !t.o.Names.Paths && total(t.measured(rows)) > t.o.Width {
		rows = baseNames(rows)
	}
	l := t.layout(rows)
	rows = l.cut(t.columns, rows)
	if headed := slices.ContainsFunc(t.columns, func(c Column) bool { return c.Head != "" }); headed && first {
		head := make([]Span, len(t.columns))
		for i, c := range t.columns {
			head[i] = Span{styleHead, c.Head}
		}
		t.print(l, head)
	}
	for _, row := range rows {
		if t.o.Stopped() {
			return
		}
		t.print(l, row)
	}
}

// layout finds the layout of a part, whose columns are as wide as those before it, at least.
func (t *LongTable) layout(rows [][]Span) layout {
	natural := t.measured(rows)
	l := layout{widths: natural, lines: [][]int{make([]int, len(t.columns))}}
	for i := range t.columns {
		l.lines[0][i] = i
	}
	if t.o.Fit && t.o.Width > 0 && (t.folded || total(natural) > t.o.Width) {
		kinds := t.kinds(rows)
		last := len(t.columns) - 1
		l.wraps = last > 0 && !t.columns[last].Right && (kinds[last] == plain || kinds[last] == styleGuess)
		l.widths = t.shrunk(natural, kinds)
		if t.folded || total(l.widths) > t.o.Width {
			t.folded = true
			t.fold(&l, natural, kinds)
		}
	}
	t.widths = slices.Clone(l.widths)
	return l
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
func total(widths []int) int {
	n := gap * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// kinds are the styles of the columns, those of their first cells with text.
func (t *LongTable) kinds(rows [][]Span) []style {
	kinds := make([]style, len(t.columns))
	for i := range kinds {
		for _, row := range rows {
			if i < len(row) && row[i].Text != "" {
				kinds[i] = row[i].style
				break
			}
		}
	}
	return kinds
}

// least is the width to which a column of a style may shrink: what is narrower tells no names
// apart.
func least(s style) int {
	switch s {
	case styleFile:
		return 16
	case styleAddr:
		return 1 << 30
	}
	return 24
}

// shrunk are the widths of columns that are as wide as the output, or as near to it as they
// may shrink.
func (t *LongTable) shrunk(natural []int, kinds []style) []int {
	widths := slices.Clone(natural)
	for over := total(widths) - t.o.Width; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if !t.columns[i].Right && w > least(kinds[i]) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// fold puts the columns on as many lines as they need. A column that is wider than a line is
// cut to it, or so that the one behind it has place there, too.
func (t *LongTable) fold(l *layout, natural []int, kinds []style) {
	l.widths, l.lines = slices.Clone(natural), nil
	used := 0
	var line []int
	for i, w := range natural {
		switch {
		case len(line) == 0:
		case used+gap+w <= t.o.Width, !t.columns[i].Right && used+gap+least(kinds[i]) <= t.o.Width:
			used += gap
		default:
			l.lines, line, used = append(l.lines, line), nil, foldIndent
		}
		if room := t.o.Width - used; !t.columns[i].Right {
			if i+1 < len(natural) && w+gap+natural[i+1] > room && least(kinds[i])+gap+natural[i+1] <= room {
				room -= gap + natural[i+1]
			}
			w = min(w, max(room, 1))
			l.widths[i] = w
		}
		line, used = append(line, i), used+w
	}
	l.lines = append(l.lines, line)
}

// cut brings the cells to the widths of their columns.
func (l layout) cut(columns []Column, rows [][]Span) [][]Span {
	out := make([][]Span, len(rows))
	for r := range rows {
		out[r] = slices.Clone(rows[r])
	}
	for i, c := range columns {
		if c.Right || l.wraps && i == len(columns)-1 {
			continue
		}
		cut := names{width: l.widths[i]}
		for _, row := range rows {
			if i < len(row) && row[i].style == styleFunc {
				cut.add(Clean(row[i].Text))
			}
		}
		for _, row := range out {
			if i >= len(row) || textWidth(Clean(row[i].Text)) <= l.widths[i] {
				continue
			}
			if row[i].style == styleFunc {
				row[i].Text = cut.of(Clean(row[i].Text))
			} else if row[i].style != styleAddr {
				row[i].Text = Middle(Clean(row[i].Text), l.widths[i])
			}
		}
	}
	return out
}

// print prints a row on the lines of its layout.
func (t *LongTable) print(l layout, row []Span) {
	for n, line := range l.lines {
		var spans []Span
		column, filled := 0, false
		if n > 0 {
			spans, column = []Span{{plain, strings.Repeat(" ", foldIndent)}}, foldIndent
		}
		for k, i := range line {
			if i >= len(row) {
				break
			}
			if k > 0 {
				spans, column = append(spans, Span{plain, "  "}), column+gap
			}
			cell := row[i]
			filled = filled || cell.Text != ""
			if l.wraps && i == len(l.widths)-1 {
				t.printWrapped(spans, column, cell)
				return
			}
			width := textWidth(Clean(cell.Text))
			fill := Span{plain, strings.Repeat(" ", max(0, l.widths[i]-width))}
			switch {
			case t.columns[i].Right:
				spans = append(spans, fill, cell)
			case i == len(row)-1:
				spans = append(spans, cell)
			default:
				spans = append(spans, cell, fill)
			}
			column += max(l.widths[i], width)
		}
		if filled || n == 0 {
			t.o.Line(spans...)
		}
	}
}

// printWrapped prints a line that ends in a text, which begins at a column and continues below.
func (t *LongTable) printWrapped(before []Span, column int, cell Span) {
	room := max(t.o.Width-column, 1)
	for n, piece := range pieces(Clean(cell.Text), room) {
		if n > 0 {
			before = []Span{{plain, strings.Repeat(" ", column)}}
		}
		t.o.Line(append(before, Span{cell.style, Middle(piece, room)})...)
	}
}

// pieces are the lines of a text that is broken at words.
func pieces(text string, width int) []string {
	var out []string
	from := 0
	for _, c := range breaks(text, width, 0) {
		out, from = append(out, text[from:c.end]), c.next
	}
	return append(out, text[from:])
}

// baseNames calls the files in a table by the last parts of their paths.
func baseNames(rows [][]Span) [][]Span {
	out := make([][]Span, len(rows))
	for r, row := range rows {
		out[r] = make([]Span, len(row))
		for i, cell := range row {
			if out[r][i] = cell; cell.style == styleFile {
				out[r][i].Text = BaseName(cell.Text)
			}
		}
	}
	return out
}

// BaseName is the last part of a path, or of a place in a file.
func BaseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
