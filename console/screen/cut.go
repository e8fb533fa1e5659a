package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const ellipsis = "..."

// Middle is cleaned text cut to a width in its middle: of names that begin alike and end
// alike, what differs is mostly at an end.
func Middle(text string, width int) string {
	if textWidth(text) <= width || width <= len(ellipsis) {
		return text
	}
	head := (&runewidth.Condition{}).Truncate(text, (width-len(ellipsis)+1)/2, "")
	return head + ellipsis + tail(text[len(head):], width-len(ellipsis)-textWidth(head))
}

// tail is the end of a cleaned text, as much as has a width.
func tail(text string, width int) string {
	at := len(text)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		if width -= (&runewidth.Condition{}).RuneWidth(r); width < 0 {
			break
		}
		at -= n
	}
	return text[at:]
}

// names are the functions in a column of a table, cut to its width so that they differ where
// the whole names do.
type names struct {
	width int
	cut   map[string]string // by the name
}

// add adds a name to the column.
func (n *names) add(name string) {
	if n.cut == nil {
		n.cut = map[string]string{}
	}
	n.cut[name] = ""
}

// of is a name as it is in the column.
func (n *names) of(name string) string {
	if n.cut[name] == "" {
		n.choose()
	}
	return n.cut[name]
}

// choose cuts all names: to their last parts where these differ, else in the middle, else
// around what differs.
func (n *names) choose() {
	ways := []func(name string, alike []string) string{
		func(name string, _ []string) string { return LastParts(name, n.width) },
		func(name string, _ []string) string { return Middle(name, n.width) },
		func(name string, alike []string) string { return different(name, alike, n.width) },
	}
	for name := range n.cut {
		n.cut[name] = ways[0](name, nil)
	}
	for _, way := range ways[1:] {
		same := map[string][]string{}
		for name, cut := range n.cut {
			same[cut] = append(same[cut], name)
		}
		for _, alike := range same {
			for _, name := range alike {
				if len(alike) > 1 {
					n.cut[name] = way(name, alike)
				}
			}
		}
	}
}

// LastParts is a cleaned function's name without its parameters, and without as many of the scopes before it as do not fit. A
// scope tells more than the parentheses do.
func LastParts(name string, width int) string {
	if textWidth(name) <= width {
		return name
	}
	short, parentheses := name, ""
	if before, ok := withoutParameters(name); ok {
		short, parentheses = before, "(...)"
	}
	last, left := short, ""
	for _, at := range append([]int{0}, scopes(short)...) {
		if at > 0 {
			left = ellipsis
		}
		last = left + short[at:]
		for _, end := range []string{parentheses, ""} {
			if textWidth(last+end) <= width {
				return last + end
			}
		}
	}
	return Middle(last+parentheses, width)
}

// withoutParameters is the name before the parentheses at its end.
func withoutParameters(name string) (string, bool) {
	name = strings.TrimSuffix(name, " const")
	if !strings.HasSuffix(name, ")") {
		return "", false
	}
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return name[:i], i > 0 && !strings.HasSuffix(name[:i], "operator") && !strings.HasSuffix(name[:i], ":")
			}
		}
	}
	return "", false
}

// scopes are the offsets of the :: in a name that are in no brackets.
func scopes(name string) []int {
	var at []int
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '<' || c == '(' || c == '{' || c == '[':
			depth++
		case c == '>' && (i == 0 || name[i-1] != '-'), c == ')', c == '}', c == ']':
			depth = max(0, depth-1)
		case depth == 0 && strings.HasPrefix(name[i:], "::"):
			at = append(at, i)
			i++
		}
	}
	return at
}

// different is the part of a name in which it differs from others that are like it.
func different(name string, alike []string, width int) string {
	from := len(name) // what all begin with
	for _, other := range alike {
		n := 0
		for n < min(from, len(other)) && name[n] == other[n] {
			n++
		}
		if other != name {
			from = min(from, n)
		}
	}
	for from > 0 && from < len(name) && !utf8.RuneStart(name[from]) {
		from--
	}
	room := width - len(ellipsis)
	if textWidth(name[from:]) <= room {
		return ellipsis + tail(name, room)
	}
	const lead = 4 // columns before the difference
	shown := tail(name[:from], min(lead, room/2)) + name[from:]
	return ellipsis + (&runewidth.Condition{}).Truncate(shown, room, ellipsis)
}
