package eval

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hdb/internal/addr"
	"hdb/python/inspect"
)

// An evaluator computes an expression while it reads it.
type evaluator struct {
	r     *inspect.Reader
	names Names
	rest  string
	depth int
}

// Names finds the object of a name; 0: there is none.
type Names func(r *inspect.Reader, name string) (addr.Run, error)

// Expression computes an expression. Together no more is read than to find one value.
func Expression(r *inspect.Reader, names Names, text string) (inspect.Value, error) {
	e := evaluator{r: r.Bounded(inspect.MaxSearch), names: names, rest: text}
	v, err := e.expression()
	if err != nil {
		return inspect.Value{}, err
	}
	if e.space(); e.rest != "" {
		return inspect.Value{}, fmt.Errorf("%q: only names, .attribute, [constant], [from:to] and len() can be read without running code", e.rest)
	}
	return v, nil
}

// maxDigits bounds a number between brackets, maxNested parentheses within each other.
const (
	maxDigits = 4096
	maxNested = 64
)

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
func (e *evaluator) expression() (v inspect.Value, err error) {
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
		n, err := e.r.Length(v)
		return inspect.Literal(strconv.FormatUint(n, 10)), err
	}
	v.At, err = e.names(e.r, name)
	if err == nil && v.At == 0 {
		err = fmt.Errorf("no name %s", name)
	}
	if err != nil {
		return v, err
	}
	return e.trailers(v)
}

// trailers are .attribute, [constant] and [from:to].
func (e *evaluator) trailers(v inspect.Value) (inspect.Value, error) {
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
			v, err = e.r.Attribute(v.At, name)
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

func (e *evaluator) brackets(v inspect.Value) (inspect.Value, error) {
	var from, to *big.Int
	if e.space(); !strings.HasPrefix(e.rest, ":") {
		k, err := e.constant()
		if err != nil {
			return v, err
		}
		if e.accept("]") {
			return e.r.Item(v, k)
		}
		if e.accept(",") { // a tuple without parentheses
			if k, err = e.tuple(inspect.Key{Kind: inspect.KeyTuple, Parts: []inspect.Key{k}}, "]"); err != nil {
				return v, err
			}
			return e.r.Item(v, k)
		}
		if k.Kind != inspect.KeyInt {
			return v, fmt.Errorf("%q: ] expected", e.rest)
		}
		from = k.Number
	}
	if err := e.expect(":"); err != nil {
		return v, err
	}
	if e.space(); !strings.HasPrefix(e.rest, "]") {
		k, err := e.constant()
		if err != nil {
			return v, err
		}
		if k.Kind != inspect.KeyInt {
			return v, fmt.Errorf("%s: a number is expected", k.Source)
		}
		to = k.Number
	}
	if err := e.expect("]"); err != nil {
		return v, err
	}
	return e.r.Slice(v, from, to)
}

func (e *evaluator) constant() (k inspect.Key, err error) {
	e.space()
	before := e.rest
	defer func() { k.Source = strings.TrimSpace(before[:len(before)-len(e.rest)]) }()
	if e.depth++; e.depth > maxNested {
		return k, fmt.Errorf("more than %d parentheses", maxNested)
	}
	defer func() { e.depth-- }()
	if e.accept("(") {
		if e.accept(")") {
			return inspect.Key{Kind: inspect.KeyTuple}, nil
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
		return e.tuple(inspect.Key{Kind: inspect.KeyTuple, Parts: []inspect.Key{first}}, ")")
	}
	if strings.HasPrefix(e.rest, "b'") || strings.HasPrefix(e.rest, `b"`) {
		e.rest = e.rest[1:]
		text, err := e.quoted(true)
		return inspect.Key{Kind: inspect.KeyBytes, Text: text}, err
	}
	if strings.HasPrefix(e.rest, "'") || strings.HasPrefix(e.rest, `"`) {
		text, err := e.quoted(false)
		return inspect.Key{Kind: inspect.KeyText, Text: text}, err
	}
	end := 0
	for end < len(e.rest) && (e.rest[end] == '_' || e.rest[end] == '-' && end == 0 || e.rest[end] >= '0' && e.rest[end] <= '9' || e.rest[end] >= 'a' && e.rest[end] <= 'z' || e.rest[end] >= 'A' && e.rest[end] <= 'Z') {
		end++
	}
	word := e.rest[:end]
	e.rest = e.rest[end:]
	switch word {
	case "None", "True", "False":
		return inspect.Key{Kind: inspect.KeyName, Text: word}, nil
	}
	if word+e.rest == "" {
		return k, errors.New("the expression ends within its brackets")
	}
	n, ok := new(big.Int).SetString(word, 0)
	if !ok || end > maxDigits {
		return k, fmt.Errorf("%q: a constant is expected between the brackets: a number, a text, None, True, False or a tuple of these", word+e.rest)
	}
	return inspect.Key{Kind: inspect.KeyInt, Number: n}, nil
}

// tuple reads the rest of one, up to its end.
func (e *evaluator) tuple(k inspect.Key, end string) (inspect.Key, error) {
	for !e.accept(end) {
		part, err := e.constant()
		if err != nil {
			return k, err
		}
		k.Parts = append(k.Parts, part)
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
