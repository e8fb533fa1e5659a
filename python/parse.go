package python

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An evaluator computes an expression while it reads it.
type evaluator struct {
	in    *Interpreter
	frame Frame
	names Names // nil: those of the frame
	rest  string
	depth int
}

// maxNested bounds parentheses within each other.
const maxNested = 64

func (e *evaluator) space() { e.rest = strings.TrimLeft(e.rest, " \t") }

// accept passes a mark if it is next.
func (e *evaluator) accept(mark string) bool {
	e.space()
	rest, ok := strings.CutPrefix(e.rest, mark)
	if ok {
		e.rest = rest
	}
	return ok
}

func (e *evaluator) expect(mark string) error {
	if !e.accept(mark) {
		if e.rest == "" {
			return fmt.Errorf("%s expected at the end", mark)
		}
		return fmt.Errorf("%q: %s expected", e.rest, mark)
	}
	return nil
}

// word passes a name, "" if none is next.
func (e *evaluator) word() string {
	e.space()
	end := len(e.rest)
	for i, r := range e.rest {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			end = i
			break
		}
	}
	w := e.rest[:end]
	e.rest = e.rest[end:]
	return w
}

// expression is a name, len(expression) or one in parentheses, with what is read of it.
func (e *evaluator) expression() (v Value, err error) {
	if e.depth++; e.depth > maxNested {
		return v, fmt.Errorf("more than %d parentheses", maxNested)
	}
	defer func() { e.depth-- }()
	if e.accept("(") {
		if v, err = e.expression(); err != nil {
			return v, err
		}
		if err := e.expect(")"); err != nil {
			return v, err
		}
		return e.trailers(v)
	}
	name := e.word()
	if name == "" {
		if e.rest == "" {
			return v, errors.New("an expression is expected")
		}
		return v, fmt.Errorf("%q: a name is expected", e.rest)
	}
	if name == "len" && e.accept("(") {
		if v, err = e.expression(); err != nil {
			return v, err
		}
		if err := e.expect(")"); err != nil {
			return v, err
		}
		n, err := e.in.length(v)
		return Value{text: strconv.FormatUint(n, 10)}, err
	}
	if v, err = e.found(name); err != nil {
		return v, err
	}
	return e.trailers(v)
}

// trailers are .attribute, [constant] and [from:to].
func (e *evaluator) trailers(v Value) (Value, error) {
	for {
		var err error
		switch {
		case e.accept("."):
			name := e.word()
			if name == "" {
				return v, fmt.Errorf("%q: the name of an attribute is expected", e.rest)
			}
			if v.At == 0 {
				return v, fmt.Errorf(".%s: no attribute of it can be read", name)
			}
			v, err = e.in.attribute(v.At, name)
		case e.accept("["):
			v, err = e.brackets(v)
		case e.accept("("):
			return v, errors.New("a call: nothing runs in the process; only len() is supported")
		default:
			return v, nil
		}
		if err != nil {
			return v, err
		}
	}
}

func (e *evaluator) brackets(v Value) (Value, error) {
	var from, to *big.Int
	if e.space(); !strings.HasPrefix(e.rest, ":") {
		k, err := e.constant()
		if err != nil {
			return v, err
		}
		if e.accept("]") {
			return e.in.item(v, k)
		}
		if e.accept(",") { // a tuple without parentheses
			if k, err = e.tuple(constant{kind: constTuple, parts: []constant{k}}, "]"); err != nil {
				return v, err
			}
			return e.in.item(v, k)
		}
		if k.kind != constInt {
			return v, fmt.Errorf("%q: ] expected", e.rest)
		}
		from = k.number
	}
	if err := e.expect(":"); err != nil {
		return v, err
	}
	if e.space(); !strings.HasPrefix(e.rest, "]") {
		k, err := e.constant()
		if err != nil {
			return v, err
		}
		if k.kind != constInt {
			return v, fmt.Errorf("%s: a number is expected", k.source)
		}
		to = k.number
	}
	if err := e.expect("]"); err != nil {
		return v, err
	}
	return e.in.slice(v, from, to)
}

// Kinds of constants.
const (
	constInt = iota
	constText
	constBytes
	constName // None, True, False
	constTuple
)

// A constant is a key.
type constant struct {
	kind   int
	number *big.Int
	text   string
	parts  []constant
	source string
}

// hash is that of a number, which dicts keep beside their keys (_PyHASH_MODULUS).
func (k constant) hash() (int64, bool) {
	if k.kind != constInt {
		return 0, false
	}
	modulus := big.NewInt(1<<61 - 1)
	h := new(big.Int).Mod(new(big.Int).Abs(k.number), modulus).Int64()
	if k.number.Sign() < 0 {
		h = -h
	}
	if h == -1 {
		h = -2
	}
	return h, true
}

func (e *evaluator) constant() (k constant, err error) {
	e.space()
	before := e.rest
	defer func() { k.source = strings.TrimSpace(before[:len(before)-len(e.rest)]) }()
	if e.depth++; e.depth > maxNested {
		return k, fmt.Errorf("more than %d parentheses", maxNested)
	}
	defer func() { e.depth-- }()
	if e.accept("(") {
		if e.accept(")") {
			return constant{kind: constTuple}, nil
		}
		first, err := e.constant()
		if err != nil {
			return k, err
		}
		if e.accept(")") {
			return first, nil
		}
		if err := e.expect(","); err != nil {
			return k, err
		}
		return e.tuple(constant{kind: constTuple, parts: []constant{first}}, ")")
	}
	if strings.HasPrefix(e.rest, "b'") || strings.HasPrefix(e.rest, `b"`) {
		e.rest = e.rest[1:]
		text, err := e.quoted(true)
		return constant{kind: constBytes, text: text}, err
	}
	if strings.HasPrefix(e.rest, "'") || strings.HasPrefix(e.rest, `"`) {
		text, err := e.quoted(false)
		return constant{kind: constText, text: text}, err
	}
	end := 0
	for end < len(e.rest) && (e.rest[end] == '_' || e.rest[end] == '-' && end == 0 || e.rest[end] >= '0' && e.rest[end] <= '9' || e.rest[end] >= 'a' && e.rest[end] <= 'z' || e.rest[end] >= 'A' && e.rest[end] <= 'Z') {
		end++
	}
	word := e.rest[:end]
	e.rest = e.rest[end:]
	switch word {
	case "None", "True", "False":
		return constant{kind: constName, text: word}, nil
	}
	if word+e.rest == "" {
		return k, errors.New("the expression ends within its brackets")
	}
	n, ok := new(big.Int).SetString(word, 0)
	if !ok || end > maxText {
		return k, fmt.Errorf("%q: a constant is expected between the brackets: a number, a text, None, True, False or a tuple of these", word+e.rest)
	}
	return constant{kind: constInt, number: n}, nil
}

// tuple reads the rest of one, up to its end.
func (e *evaluator) tuple(k constant, end string) (constant, error) {
	for !e.accept(end) {
		part, err := e.constant()
		if err != nil {
			return k, err
		}
		k.parts = append(k.parts, part)
		if !e.accept(",") {
			return k, e.expect(end)
		}
	}
	return k, nil
}

// quoted reads a text in quotes with Python's escapes; bytes if raw.
func (e *evaluator) quoted(raw bool) (string, error) {
	mark := e.rest[0]
	rest := e.rest[1:]
	var b strings.Builder
	for rest != "" && rest[0] != mark {
		if rest[0] == '\\' && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
			b.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		r, multi, tail, err := strconv.UnquoteChar(rest, mark)
		if err != nil {
			return "", fmt.Errorf("%s: an escape that is not known", e.rest)
		}
		if raw && r < 0x100 || !multi && r < utf8.RuneSelf {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		rest = tail
	}
	if rest == "" {
		return "", fmt.Errorf("%s: the text does not end", e.rest)
	}
	e.rest = rest[1:]
	return b.String(), nil
}
