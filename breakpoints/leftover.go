package breakpoints

import (
	"fmt"
	"strings"
	"unicode"

	"hdb/internal/cond"
)

// A location is a name, a line or an address. What is typed behind one without the word if is
// nearly always a condition; taken as part of the name it would wait without end for a function
// "alloc size>3".

// leftover is the byte of loc where something begins that does not belong to a place in the code,
// or -1.
func leftover(loc string) int {
	switch {
	case loc == "":
		return -1
	case loc[0] == '*':
		return afterExpression(loc)
	case loc[0] >= '0' && loc[0] <= '9', loc[0] == '+', loc[0] == '-':
		return afterWord(loc)
	}
	if i, rest, ok := cutColonAt(loc); ok {
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			if j := afterWord(rest); j >= 0 {
				return i + j
			}
			return -1
		}
		if j := afterName(rest); j >= 0 {
			return i + j
		}
		return -1
	}
	return afterName(loc)
}

// cutColonAt is cutColon with the place where what is after the colon begins.
func cutColonAt(s string) (at int, after string, ok bool) {
	_, after, ok = cutColon(s)
	return len(s) - len(after), after, ok
}

// afterWord is where the second word begins, -1 without one.
func afterWord(s string) int {
	words := splitWords(s)
	if len(words) < 2 {
		return -1
	}
	return words[1].start
}

// afterExpression is where a comparison begins, or an operand that no operator
// precedes.
func afterExpression(s string) int {
	for i, w := range splitWords(s) {
		before := strings.TrimRight(s[:w.start], " \t")
		if i > 0 && isNameByte(w.text[0]) && !strings.HasSuffix(before, "+") && !strings.HasSuffix(before, "-") && before != "*" {
			return w.start
		}
		if j := strings.IndexAny(w.text, "=<>!&|\""); j >= 0 && w.start+j > 0 {
			return w.start + j
		}
	}
	return -1
}

// afterName is where the name of a function ends and something else begins: at a
// comparison, or at a second word. Names of C++ functions may have words and
// comparisons in brackets and behind "operator", words also before and after
// their parameters.
func afterName(s string) int {
	if strings.Contains(s, "operator") {
		return -1
	}
	var open []byte // brackets that are not closed yet
	space := -1     // where the second word begins, outside of brackets
	angle := 0      // the outermost < that is not closed
	signature := false
	for i := 0; i < len(s); i++ {
		b := s[i]
		inner := byte(0)
		if len(open) > 0 {
			inner = open[len(open)-1]
		}
		switch {
		case b == '-' && strings.HasPrefix(s[i:], "->"):
			i++ // a function's result, in names of Rust
		case b == '"':
			return wordOf(s, space, i)
		case b == '(' || b == '[' || b == '{':
			// Before the name and its parameters the type of the result is in names of template
			// functions, and only there.
			signature = signature || b == '(' && inner == 0 && i > 0 && (space < 0 || s[i-1] == '>')
			open = append(open, b)
		case b == '<' && inner != '(':
			if inner == 0 {
				angle = i
			}
			open = append(open, b)
		case inner != 0 && b == closes(inner):
			open = open[:len(open)-1]
		case inner != 0:
		case b == '>' || b == '=' || b == '!' || b == '|', strings.HasPrefix(s[i:], "&&") && strings.TrimSpace(s[i+2:]) != "":
			return wordOf(s, space, i)
		case b == ' ' || b == '\t':
			if rest := strings.TrimLeft(s[i:], " \t"); space < 0 && rest != "" {
				space = len(s) - len(rest)
			}
		}
	}
	switch {
	case len(open) > 0 && open[0] == '<':
		return wordOf(s, space, angle)
	case signature:
		return -1 // words are the type of its result, or const
	}
	return space
}

func closes(b byte) byte {
	switch b {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return '>'
}

// wordOf is where the condition begins that has an operator at i: at the second
// word, if there is one before that.
func wordOf(s string, space, i int) int {
	if space >= 0 {
		return space
	}
	return len(strings.TrimRight(s[:i], " \t"))
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// leftoverError says what may be behind a location, and how a condition does. at is the byte of
// text where the rest begins.
func leftoverError(text string, at int, rest, location string, place cond.Place) error {
	rest = strings.TrimSpace(rest)
	example := "size >= 64k"
	if !knows(place, cond.Size) {
		example = `func("parse")`
	}
	guess := strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",:;&|", r) })
	if word, after, ok := strings.Cut(guess, " "); ok && connects(word) {
		guess = after
	}
	if c, err := cond.Parse(guess); err == nil && c.Check(place) == nil {
		example = strings.TrimSpace(guess)
	}
	msg := fmt.Sprintf("%q is not part of a location: write a condition after if, as in: %s if %s", rest, location, example)
	if !knows(place, cond.Size) && isName(location) && isName(rest) && !connects(rest) {
		msg += "; breakpoints have numbers, and no names as in delve: " + rest
	}
	return wordError(text, at, msg)
}

// isName reports whether a word can be the name of a function of C, C++ or Go.
func isName(word string) bool {
	for i := range len(word) {
		if !isNameByte(word[i]) && word[i] != ':' && word[i] != '.' {
			return false
		}
	}
	return word != "" && (word[0] < '0' || word[0] > '9')
}

// connects tells words that people write where if belongs.
func connects(word string) bool {
	switch strings.ToLower(strings.TrimRight(word, ":")) {
	case "where", "when", "with", "iff", "and", "cond", "condition", "provided", "if":
		return true
	}
	return false
}

func knows(p cond.Place, f cond.Field) bool {
	for _, known := range p.Fields {
		if known == f {
			return true
		}
	}
	return false
}
