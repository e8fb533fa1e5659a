package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// WriteCollapsed writes a line for each stack: its functions from the outermost
// to the innermost with semicolons between them, a space, and what o.Measure
// counts of it. Stacks of the same functions are one line, the lines are in the
// order of their text, and there is none for stacks that count nothing.
func WriteCollapsed(w io.Writer, p *Profile, o Options) error {
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
			b.WriteString(collapsedName(p.Frames[f].Function))
		}
		lines[b.String()] += n
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(out, "%s %d\n", line, lines[line])
	}
	return out.Flush()
}

// collapsedName is a function's name without what has a meaning in the format:
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
