// Package goname takes names of Go's functions and types apart.
package goname

import "strings"

// TypeArguments is the name of a function or type with a text for each list of type arguments:
// with "" main.Entry[int] becomes main.Entry, and map[string]int and [3]int stay. A
// name whose brackets do not balance stays as it is.
func TypeArguments(name, text string) string {
	var b strings.Builder
	depth, arguments := 0, 0 // of brackets; that at which arguments begin, 0 outside
	for i := 0; i < len(name); i++ {
		c := name[i]
		inside := arguments > 0
		switch c {
		case '[':
			if depth++; !inside && i > 0 && inWord(name[i-1]) && !endsInMap(name[:i]) {
				arguments = depth
				b.WriteString(text)
				continue
			}
		case ']':
			if depth == arguments {
				arguments = 0
			}
			if depth--; depth < 0 {
				return name
			}
		}
		if !inside {
			b.WriteByte(c)
		}
	}
	if depth != 0 {
		return name
	}
	return b.String()
}

func inWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// endsInMap reports whether text ends in the word map.
func endsInMap(text string) bool {
	rest, ok := strings.CutSuffix(text, "map")
	return ok && (rest == "" || rest[len(rest)-1] != '.' && !inWord(rest[len(rest)-1]))
}
