package values

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A token of an expression.
type token struct {
	kind   tokenKind
	text   string
	pos    int
	prefix string // of a literal in quotes: L, u, U or u8, Rust's b
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokChar
	tokString
	tokDollar
	tokOp
)

// maxExpr bounds the length of an expression in bytes.
const maxExpr = 8 << 10

// operatorTokens has longer operators before their prefixes.
var operatorTokens = []string{
	"<<=", ">>=", "->*", "...", ".*", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--",
	"+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "&", "|", "^", "?", ":", "(", ")", "[", "]", "{", "}", ".", ",", "@",
}

func nameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func nameByte(c byte) bool { return nameStart(c) || c >= '0' && c <= '9' }

func lex(s string) ([]token, error) {
	if len(s) > maxExpr {
		return nil, fmt.Errorf("expression of %d bytes: at most %d", len(s), maxExpr)
	}
	var out []token
	for i := 0; i < len(s); {
		c := s[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			i++
			continue
		case nameStart(c):
			for i < len(s) && nameByte(s[i]) {
				i++
			}
			if i == len(s) || s[i] != '"' && s[i] != '\'' || !literalPrefix(s[start:i]) {
				out = append(out, token{kind: tokName, text: s[start:i], pos: start})
				continue
			}
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && !endsOperand(out):
			hex := strings.HasPrefix(s[i:], "0x") || strings.HasPrefix(s[i:], "0X")
			for i < len(s) && (nameByte(s[i]) || s[i] == '.' || separator(s, i) || !hex && (s[i] == '+' || s[i] == '-') && (s[i-1] == 'e' || s[i-1] == 'E')) {
				i++
			}
			out = append(out, token{kind: tokNumber, text: strings.ReplaceAll(s[start:i], "'", ""), pos: start})
			continue
		case c == '$':
			i++
			for i < len(s) && (nameByte(s[i]) || s[i] == '$') {
				i++
			}
			out = append(out, token{kind: tokDollar, text: s[start+1 : i], pos: start})
			continue
		}
		if c = s[i]; c == '\'' || c == '"' {
			prefix := s[start:i]
			text, n, err := unquote(s[i:], prefix != "" && prefix != "u8" && prefix != "b")
			if err != nil {
				return nil, err
			}
			kind := tokChar
			if c == '"' {
				kind = tokString
			}
			i += n
			out = append(out, token{kind, text, start, prefix})
			continue
		}
		k := slices.IndexFunc(operatorTokens, func(op string) bool { return strings.HasPrefix(s[i:], op) })
		if k < 0 {
			return nil, fmt.Errorf("unexpected %q in the expression", string([]rune(s[i:])[:1]))
		}
		out = append(out, token{kind: tokOp, text: operatorTokens[k], pos: start})
		i += len(operatorTokens[k])
	}
	return append(out, token{kind: tokEnd, pos: len(s)}), nil
}

// literalPrefix reports whether a name before a quote belongs to the literal, of C or Rust.
func literalPrefix(name string) bool {
	return name == "L" || name == "u" || name == "U" || name == "u8" || name == "b"
}

// separator reports whether a quote is between digits of C++, as in 1'000.
func separator(s string, i int) bool {
	return s[i] == '\'' && i > 0 && i+1 < len(s) && nameByte(s[i-1]) && nameByte(s[i+1])
}

// endsOperand reports whether a following . selects a member, as in Rust's tuple.0.
func endsOperand(toks []token) bool {
	if len(toks) == 0 {
		return false
	}
	t := toks[len(toks)-1]
	return t.kind == tokName || t.kind == tokDollar || t.kind == tokOp && (t.text == ")" || t.text == "]")
}

// unquote is the text of a literal in quotes, and the number of bytes that it takes. In a wide one
// a number represents a character, which is written in UTF-8, else for a byte.
func unquote(s string, wide bool) (string, int, error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); {
		c := s[i]
		switch {
		case c == quote:
			return b.String(), i + 1, nil
		case c != '\\':
			b.WriteByte(c)
			i++
			continue
		}
		i++
		if i == len(s) {
			break
		}
		e := s[i]
		i++
		simple := strings.IndexByte(`ntrabfve0\'"?`, e)
		switch {
		case e >= '0' && e <= '7':
			n := int(e - '0')
			for k := 0; k < 2 && i < len(s) && s[i] >= '0' && s[i] <= '7'; k++ {
				n = n*8 + int(s[i]-'0')
				i++
			}
			writeUnit(&b, rune(n), wide)
		case e == 'x' || e == 'u' || e == 'U':
			n, digits := rune(0), map[byte]int{'x': 2, 'u': 4, 'U': 8}[e]
			if e == 'x' && wide {
				digits = 8
			}
			for k := 0; k < digits && i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0; k++ {
				d := strings.IndexByte("0123456789abcdef", s[i]|0x20)
				if s[i] <= '9' {
					d = int(s[i] - '0')
				}
				n = n*16 + rune(d)
				i++
			}
			writeUnit(&b, n, wide || e != 'x')
		case simple >= 0:
			b.WriteByte("\n\t\r\a\b\f\v\033\000\\'\"?"[simple])
		default:
			return "", 0, fmt.Errorf("unknown escape \\%c", e)
		}
	}
	return "", 0, fmt.Errorf("a closing %c is missing", quote)
}

// writeUnit writes what a number in a literal represents.
func writeUnit(b *strings.Builder, n rune, wide bool) {
	if wide {
		b.WriteRune(n)
	} else {
		b.WriteByte(byte(n))
	}
}

// charOf is the number of a character literal.
func charOf(text string) (rune, error) {
	if len(text) == 1 {
		return rune(int8(text[0])), nil
	}
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 || n != len(text) || r == utf8.RuneError {
		return 0, fmt.Errorf("'%s': one character expected", text)
	}
	return r, nil
}
