package cond

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokNumber
	tokString
	tokHash // #4711
	tokOp
	tokAnd
	tokOr
	tokNot
	tokOpen
	tokClose
)

type token struct {
	kind  tokenKind
	start int // byte position in the source
	text  string
	op    Op
}

// describe names the token in an error message.
func (t token) describe() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokString:
		return "the string " + quote(t.text)
	}
	return t.text
}

type lexer struct {
	src string
	pos int
}

// fixed lists the operators, longer ones before their prefixes.
var fixed = []struct {
	text string
	kind tokenKind
	op   Op
}{
	{"&&", tokAnd, 0}, {"||", tokOr, 0},
	{"==", tokOp, EQ}, {"!=", tokOp, NE}, {"<=", tokOp, LE}, {">=", tokOp, GE},
	{"<", tokOp, LT}, {">", tokOp, GT},
	{"!", tokNot, 0}, {"(", tokOpen, 0}, {")", tokClose, 0},
}

// slips maps what users of other languages type to what is meant.
var slips = map[byte]string{
	'=':  "one = compares nothing, write ==",
	'&':  "one & does nothing here, write &&",
	'|':  "one | does nothing here, write ||",
	'-':  "numbers are not negative here",
	'/':  "regular expressions are not supported, * in a name matches anything",
	'~':  "regular expressions are not supported, * in a name matches anything",
	'\\': "a backslash belongs inside a string",
}

func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	if start == len(l.src) {
		return token{kind: tokEnd, start: start}, nil
	}
	rest := l.src[start:]
	for _, f := range fixed {
		if strings.HasPrefix(rest, f.text) {
			l.pos += len(f.text)
			return token{kind: f.kind, start: start, text: f.text, op: f.op}, nil
		}
	}
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		return l.str(c)
	case c == '#':
		return l.hash()
	case c >= '0' && c <= '9':
		return l.number()
	default:
		return l.word()
	}
}

// str reads a quoted string; a backslash takes the next character as it is.
func (l *lexer) str(delim byte) (token, error) {
	start := l.pos
	var b strings.Builder
	for i := start + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == delim:
			l.pos = i + 1
			return token{kind: tokString, start: start, text: b.String()}, nil
		case c == '\\' && i+1 < len(l.src):
			i++
			b.WriteByte(l.src[i])
		default:
			b.WriteByte(c)
		}
	}
	return token{}, l.errorAt(start, "the string has no closing "+string(delim))
}

func (l *lexer) hash() (token, error) {
	start := l.pos
	l.pos++
	if l.pos == len(l.src) || l.src[l.pos] < '0' || l.src[l.pos] > '9' {
		return token{}, l.errorAt(start, "# needs the number of an event, as in #4711")
	}
	if _, err := l.number(); err != nil {
		return token{}, err
	}
	return token{kind: tokHash, start: start, text: l.src[start:l.pos]}, nil
}

// number reads digits, fraction and unit as one run of letters, so that a bad unit is seen whole.
func (l *lexer) number() (token, error) {
	start := l.pos
	for l.pos < len(l.src) && isNumberByte(l.src[l.pos]) {
		l.pos++
	}
	text := l.src[start:l.pos]
	if _, bad := parseNumber(text, &sizes); bad != "" {
		if _, no := parseNumber(text, &counts); no != "" {
			return token{}, l.errorAt(start, bad)
		}
	}
	return token{kind: tokNumber, start: start, text: text}, nil
}

func (l *lexer) word() (token, error) {
	start := l.pos
	n := identifierPrefix(l.src[start:])
	if n == 0 {
		if msg, ok := slips[l.src[start]]; ok {
			return token{}, l.errorAt(start, msg)
		}
		r, size := utf8.DecodeRuneInString(l.src[start:])
		return token{}, l.errorAt(start, "unexpected "+quoteRune(r, l.src[start:start+size]))
	}
	l.pos += n
	text := l.src[start:l.pos]
	switch text {
	case "and":
		return token{kind: tokAnd, start: start, text: text}, nil
	case "or":
		return token{kind: tokOr, start: start, text: text}, nil
	case "not":
		return token{kind: tokNot, start: start, text: text}, nil
	}
	return token{kind: tokWord, start: start, text: text}, nil
}

// identifierPrefix is the length of the name that s begins with: letters,
// digits and what C++ names and file names have (std::sort, libz.so, load_*).
func identifierPrefix(s string) int {
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			return i
		case r == '_' || unicode.IsLetter(r) || r == '*':
		case i > 0 && (r == ':' || r == '.' || unicode.IsDigit(r)):
		default:
			return i
		}
	}
	return len(s)
}

// isIdentifier reports whether s needs no quotes.
func isIdentifier(s string) bool {
	return s != "" && identifierPrefix(s) == len(s) && s != "and" && s != "or" && s != "not"
}

// quote is s between double quotes as the lexer reads it back.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func quoteRune(r rune, raw string) string {
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return "a character that does not print"
	}
	return `"` + raw + `"`
}
