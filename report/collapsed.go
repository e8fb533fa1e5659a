package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// WriteCollapsed writes a line for each stack: its functions from the outermost
// to the innermost with semicolons between them, a space, and what o.Measure
// counts of it. With o.Lines a function has its place behind it, as "main (app.c:12)", as far as it is
// known. Stacks of the same text are one line, the lines are in the
// order of their text, and there is none for stacks that count nothing.
func WriteCollapsed(w io.Writer, p *Profile, o Options) error {
	p = p.Counted()
	lines := map[string]uint64{}
	var b strings.Builder
	for i := range p.Stacks {
		s := &p.Stacks[i]
		n := o.Measure.Of(s.Numbers)
		if n == 0 {
			continue
		}
		b.Reset()
		texts, outer := p.outermost(s)
		for i, text := range texts[:outer] {
			if i > 0 {
				b.WriteByte(';')
			}
			b.WriteString(collapsedName(text))
		}
		for _, f := range slices.Backward(s.Frames) {
			if b.Len() > 0 {
				b.WriteByte(';')
			}
			b.WriteString(collapsedName(p.Frames[f].collapsed(o.Lines)))
		}
		lines[b.String()] += n
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(out, "%s %d\n", line, lines[line])
	}
	return out.Flush()
}

// collapsed is the frame's function, and with lines where in the source it is.
func (f *Frame) collapsed(lines bool) string {
	switch {
	case !lines || f.File == "":
		return f.Function
	case f.Line <= 0:
		return f.Function + " (" + f.File + ")"
	}
	return f.Function + " (" + f.File + ":" + strconv.Itoa(f.Line) + ")"
}

// collapsedName is the text of a frame without what has a meaning in the format:
// semicolons and ends of lines. The format knows no quotes.
func collapsedName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(name, string(unicode.ReplacementChar)))
}
