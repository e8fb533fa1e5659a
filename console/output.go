package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"hdb/capture"
)

// A style is what a piece of text is, which a theme turns into a colour.
type style uint8

const (
	plain style = iota
	styleAddr
	styleFunc
	styleFile
	styleHead    // table headings, titles
	styleArrow   // the current line's mark
	styleGuess   // what hdb is not sure of
	styleWarning // messages about something going wrong
	styleKeyword
	styleType
	styleString
	styleNumber
	styleComment
	stylePreproc
	styles // their count
)

// themes are the colours of each style as SGR parameters. The sixteen basic
// colours are used because the terminal's owner has chosen how they look.
func theme(name string) [styles]string {
	t := [styles]string{
		styleAddr: "34", styleFunc: "33", styleFile: "32", styleHead: "1", styleArrow: "1;31",
		styleGuess: "2", styleWarning: "31", styleKeyword: "34", styleType: "36",
		styleString: "32", styleNumber: "35", styleComment: "2", stylePreproc: "35",
	}
	if name == "dark" {
		t[styleAddr], t[styleKeyword] = "94", "94"
		t[styleFunc], t[styleString] = "93", "92"
	}
	return t
}

// A span is text of one style. Its text may come from anywhere: it is cleaned
// when it is printed.
type span struct {
	style style
	text  string
}

// sprintf is fmt.Sprintf with every string argument cleaned, so that a hostile
// name cannot even add a line of its own.
func sprintf(format string, args ...any) string {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = clean(v)
		case error:
			args[i] = clean(v.Error())
		case fmt.Stringer:
			args[i] = clean(v.String())
		case []byte:
			args[i] = clean(string(v))
		}
	}
	return fmt.Sprintf(format, args...)
}

// output is the one way to the terminal. It cleans everything, adds colour
// after the cleaning, and stops after each screenful when paging. It belongs to
// the console's goroutine; what others have to say are notices.
type output struct {
	w     io.Writer
	color bool
	theme [styles]string
	width int // columns

	// more asks whether to go on after a screenful; nil: no paging.
	more   func() bool
	height int // lines of a screenful
	lines  int // printed since the last question
	muted  bool
	names  naming
	err    error // of the destination: the first one, nothing is written after it

	reading *capture.Reading // of the command that prints; nothing more is printed once it is given up

	beside *notices // that other goroutines print between the lines; nil: none
}

// begin starts the output of a command: the pager counts from here.
func (o *output) begin() { o.lines, o.muted = 0, false }

// whole lets the command print, although Ctrl-C may have ended it, until restore is
// called: where a program was interrupted, and what was done.
func (o *output) whole() (restore func()) {
	reading := o.reading
	o.reading = nil
	return func() { o.reading = reading }
}

// printf prints text whose string arguments may be foreign. The format is ours
// and may hold newlines.
func (o *output) printf(format string, args ...any) {
	o.text(sprintf(format, args...))
}

// text prints lines that may be foreign: only newlines are kept.
func (o *output) text(s string) { o.raw(cleanText(s)) }

// line prints spans and a newline. A newline inside a span is escaped.
func (o *output) line(spans ...span) {
	var b strings.Builder
	for _, s := range spans {
		o.paint(&b, s.style, clean(s.text))
	}
	o.raw(strings.TrimRight(b.String(), " ") + "\n")
}

// paint adds cleaned text in the colour of its style.
func (o *output) paint(b *strings.Builder, s style, cleaned string) {
	if !o.color || o.theme[s] == "" || strings.TrimSpace(cleaned) == "" {
		b.WriteString(cleaned)
		return
	}
	b.WriteString("\x1b[" + o.theme[s] + "m")
	b.WriteString(cleaned)
	b.WriteString("\x1b[0m")
}

// raw writes what has been cleaned, page by page.
func (o *output) raw(s string) {
	for line := range strings.Lines(s) {
		if o.stopped() {
			return
		}
		if o.more != nil && o.height > 2 && o.lines >= o.height-1 {
			o.lines = 0
			if !o.more() {
				o.muted = true
				return
			}
		}
		if err := o.beside.write(o.w, line); err != nil {
			o.err = err
		}
		o.lines += 1 + max(0, textWidth(uncoloured(strings.TrimSuffix(line, "\n")))-1)/max(o.width, 20)
	}
}

// stopped says that nobody reads any more: a long listing can end early.
func (o *output) stopped() bool { return o.muted || o.err != nil || o.reading.GivenUp() }

// textWidth is the number of columns of cleaned text.
func textWidth(s string) int {
	return (&runewidth.Condition{}).StringWidth(s)
}

// A column is one of a table: its heading, and whether cells stand right.
type column struct {
	head  string
	right bool
}

// table prints rows under headings, each column as wide as its widest cell. The
// last column is not padded. Columns without any heading print no heading line.
func (o *output) table(columns []column, rows [][]span) {
	t := longTable{o: o, columns: columns}
	t.add(rows)
}

// A longTable is printed part by part: its columns get wider where a part needs it.
type longTable struct {
	o       *output
	columns []column
	widths  []int // nil before the first part
}

// add prints a part.
func (t *longTable) add(rows [][]span) {
	first := t.widths == nil
	if first {
		t.widths = make([]int, len(t.columns))
	}
	headed := false
	for i, c := range t.columns {
		t.widths[i] = max(t.widths[i], textWidth(c.head))
		headed = headed || c.head != ""
	}
	for _, row := range rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], textWidth(clean(cell.text)))
		}
	}
	if headed && first {
		head := make([]span, len(t.columns))
		for i, c := range t.columns {
			head[i] = span{styleHead, c.head}
		}
		t.o.line(pad(t.columns, t.widths, head)...)
	}
	for _, row := range rows {
		if t.o.stopped() {
			return
		}
		t.o.line(pad(t.columns, t.widths, row)...)
	}
}

// pad puts the cells of a row two spaces apart.
func pad(columns []column, widths []int, row []span) []span {
	var out []span
	for i, cell := range row {
		if i > 0 {
			out = append(out, span{plain, "  "})
		}
		fill := span{plain, strings.Repeat(" ", max(0, widths[i]-textWidth(clean(cell.text))))}
		switch {
		case columns[i].right:
			out = append(out, fill, cell)
		case i == len(row)-1:
			out = append(out, cell)
		default:
			out = append(out, cell, fill)
		}
	}
	return out
}
