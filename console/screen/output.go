// Package screen puts hdb's output on a terminal. It has text of named styles that is
// cleaned of control characters, tables, sizes, source lines in colours, the split
// screen, and the views that have the whole terminal. It is given a writer, its size and
// a theme. It knows neither commands nor the session.
package screen

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"hdb/internal/units"
)

// A style is the kind of a piece of text. A theme gives it a colour.
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

// A Theme is the colour of each style as SGR parameters, "" for none.
type Theme [styles]string

// ThemeNamed returns the theme "light" or "dark". It has the sixteen basic colours,
// because the user has chosen how those look.
func ThemeNamed(name string) Theme {
	t := Theme{
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

// A Span is text of one style. Its text may come from anywhere: it is cleaned
// when it is printed.
type Span struct {
	style style
	Text  string
}

// Plain is text without a style.
func Plain(text string) Span { return Span{plain, text} }

// Addr is an address.
func Addr(text string) Span { return Span{styleAddr, text} }

// Func is the name of a function.
func Func(text string) Span { return Span{styleFunc, text} }

// File is a file, or a place in one.
func File(text string) Span { return Span{styleFile, text} }

// Head is a title or a heading.
func Head(text string) Span { return Span{styleHead, text} }

// Arrow is the mark of the current line.
func Arrow(text string) Span { return Span{styleArrow, text} }

// Guess is what hdb is not sure of, or only tells besides.
func Guess(text string) Span { return Span{styleGuess, text} }

// Warning is what goes wrong.
func Warning(text string) Span { return Span{styleWarning, text} }

// Type is the name of a type.
func Type(text string) Span { return Span{styleType, text} }

// Sprintf is fmt.Sprintf with every string argument cleaned, so that a hostile
// name cannot even add a line of its own.
func Sprintf(format string, args ...any) string {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = Clean(v)
		case error:
			args[i] = Clean(v.Error())
		case fmt.Stringer:
			args[i] = Clean(v.String())
		case []byte:
			args[i] = Clean(string(v))
		}
	}
	return fmt.Sprintf(format, args...)
}

// An Output is the one way to the terminal. It cleans everything, adds colour after the
// cleaning, and stops after each screenful when paging. It belongs to one goroutine.
// What others have to say are Notices.
type Output struct {
	W     io.Writer
	Color bool
	Theme Theme
	Width int  // columns
	Fit   bool // nothing is printed beyond them, where that can be helped

	More   func() bool // asks whether to continue after a screenful; nil: no paging
	Height int         // lines of a screenful
	lines  int         // printed since the last question
	muted  bool        // the answer was no

	Names   Naming
	Sizes   units.Sizes
	Notices *Notices    // what other goroutines print between the lines; nil: nothing
	givenUp func() bool // tells that nothing more is to be printed; nil: never
	err     error       // of the destination: the first one, nothing is written after it
}

// Aside is an output that looks the same and is written elsewhere, whole and unnoticed.
func (o *Output) Aside(w io.Writer) *Output {
	aside := *o
	aside.W, aside.More, aside.Notices, aside.muted, aside.err = w, nil, nil, false, nil
	return &aside
}

// Begin starts the output of a command. The pager counts from here.
func (o *Output) Begin() { o.lines, o.muted = 0, false }

// Until makes the output end when givenUp says so, until restore is called.
func (o *Output) Until(givenUp func() bool) (restore func()) {
	before := o.givenUp
	o.givenUp = givenUp
	return func() { o.givenUp = before }
}

// Whole lets a command print although Ctrl-C may have ended it, until restore is called. What was
// done, and where a program was interrupted, is printed in any case.
func (o *Output) Whole() (restore func()) { return o.Until(nil) }

// EndPaging ends the paging. It also ends the silence after the answer q.
func (o *Output) EndPaging() { o.More, o.muted = nil, false }

// Err is the first error of the destination. Nothing is written after it.
func (o *Output) Err() error { return o.err }

// Printf prints text whose string arguments may be foreign. The format is ours
// and may hold newlines.
func (o *Output) Printf(format string, args ...any) {
	o.Text(Sprintf(format, args...))
}

// Text prints lines that may be foreign: only newlines are kept.
func (o *Output) Text(s string) { o.Raw(o.wrapped(CleanText(s))) }

// Verbatim prints text that a user has laid out: newlines and tabs are kept, and no line is
// broken.
func (o *Output) Verbatim(s string) { o.Raw(CleanTabs(s)) }

// Line prints spans and a newline. A newline inside a span is escaped.
func (o *Output) Line(spans ...Span) {
	for _, row := range o.broken(spans) {
		o.unbroken(row)
	}
}

// Place is Line for a line that ends in a place: its file is called by the last part of its path
// where there is no room for all of it.
func (o *Output) Place(spans ...Span) {
	if o.Fit && o.Width > 0 && !o.Names.Paths && SpansWidth(spans) > o.Width {
		spans = baseNames([][]Span{spans})[0]
	}
	o.Line(spans...)
}

// unbroken prints spans and a newline, however wide they are.
func (o *Output) unbroken(spans []Span) {
	var b strings.Builder
	for _, s := range spans {
		o.paint(&b, s.style, Clean(s.Text))
	}
	o.Raw(strings.TrimRight(b.String(), " ") + "\n")
}

// paint adds cleaned text in the colour of its style.
func (o *Output) paint(b *strings.Builder, s style, cleaned string) {
	if !o.Color || o.Theme[s] == "" || strings.TrimSpace(cleaned) == "" {
		b.WriteString(cleaned)
		return
	}
	b.WriteString("\x1b[" + o.Theme[s] + "m")
	b.WriteString(cleaned)
	b.WriteString("\x1b[0m")
}

// Raw writes what has been cleaned, page by page.
func (o *Output) Raw(s string) {
	for line := range strings.Lines(s) {
		if o.Stopped() {
			return
		}
		if o.More != nil && o.Height > 2 && o.lines >= o.Height-1 {
			o.lines = 0
			if !o.More() {
				o.muted = true
				return
			}
		}
		if err := o.Notices.write(o.W, line); err != nil {
			o.err = err
		}
		o.lines += 1 + max(0, textWidth(uncoloured(strings.TrimSuffix(line, "\n")))-1)/max(o.Width, 20)
	}
}

// Stopped reports whether nothing more is printed. A long list can end early then.
func (o *Output) Stopped() bool { return o.muted || o.err != nil || o.givenUp != nil && o.givenUp() }

// textWidth is the number of columns of cleaned text.
func textWidth(s string) int {
	return (&runewidth.Condition{}).StringWidth(s)
}

// Careful prints what makes numbers less certain, a line each.
func (o *Output) Careful(lines []string) {
	for _, line := range lines {
		o.Line(Span{styleWarning, "! "}, Span{plain, line})
	}
}

// SpansWidth is the number of columns of spans.
func SpansWidth(spans []Span) int {
	w := 0
	for _, s := range spans {
		w += textWidth(Clean(s.Text))
	}
	return w
}
