package eval

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// A condition is parsed into nodes: operators over constants and expressions, which Expression
// computes.
type node struct {
	op    string // of several parts; "" a leaf
	parts []*node
	leaf  string   // for Expression
	value *operand // a constant
}

// CheckCondition is the error of a condition that cannot be read.
func CheckCondition(text string) error {
	_, err := parseCondition(text)
	return err
}

func parseCondition(text string) (*node, error) {
	p := &conditionParser{evaluator{rest: text}}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, fmt.Errorf("%q: an operator is expected: and, or, in, ==, <, + and the like", p.rest)
	}
	return n, nil
}

type conditionParser struct{ evaluator }

// keyword passes a word if it is next.
func (p *conditionParser) keyword(word string) bool {
	before := p.rest
	if p.word() == word {
		return true
	}
	p.rest = before
	return false
}

func (p *conditionParser) or() (*node, error)  { return p.joined("or", p.and) }
func (p *conditionParser) and() (*node, error) { return p.joined("and", p.not) }

func (p *conditionParser) joined(word string, part func() (*node, error)) (*node, error) {
	n, err := part()
	for err == nil && p.keyword(word) {
		var next *node
		next, err = part()
		n = &node{op: word, parts: []*node{n, next}}
	}
	return n, err
}

func (p *conditionParser) not() (*node, error) {
	if p.depth++; p.depth > maxNested {
		return nil, fmt.Errorf("more than %d parentheses or operators in each other", maxNested)
	}
	defer func() { p.depth-- }()
	if p.keyword("not") {
		n, err := p.not()
		return &node{op: "not", parts: []*node{n}}, err
	}
	return p.comparison()
}

// comparison is a chain, as 0 < n <= 5.
func (p *conditionParser) comparison() (*node, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	all := left
	for chained := false; ; chained = true {
		op := p.comparator()
		if op == "" {
			return all, nil
		}
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		c := &node{op: op, parts: []*node{left, right}}
		if all = c; chained {
			all = &node{op: "and", parts: []*node{all, c}}
		}
		left = right
	}
}

func (p *conditionParser) comparator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.accept(op) {
			return op
		}
	}
	switch {
	case p.keyword("in"):
		return "in"
	case p.keyword("is"):
		if p.keyword("not") {
			return "is not"
		}
		return "is"
	}
	before := p.rest
	if p.keyword("not") && p.keyword("in") {
		return "not in"
	}
	p.rest = before
	return ""
}

func (p *conditionParser) sum() (*node, error) { return p.chain([]string{"+", "-"}, p.product) }
func (p *conditionParser) product() (*node, error) {
	return p.chain([]string{"//", "*", "%"}, p.operand)
}

func (p *conditionParser) chain(ops []string, part func() (*node, error)) (*node, error) {
	n, err := part()
	for err == nil {
		op := ""
		for _, o := range ops {
			if op == "" && p.accept(o) {
				op = o
			}
		}
		if op == "" {
			return n, nil
		}
		var next *node
		next, err = part()
		n = &node{op: op, parts: []*node{n, next}}
	}
	return n, err
}

// operand is a constant, one that Expression computes, or a condition in parentheses.
func (p *conditionParser) operand() (*node, error) {
	p.space()
	if p.rest == "" {
		return nil, errors.New("the condition ends where a value is expected")
	}
	switch c := p.rest[0]; {
	case c == '(':
		p.rest = p.rest[1:]
		return p.parenthesis(")")
	case c == '[':
		p.rest = p.rest[1:]
		n, err := p.parenthesis("]")
		if err == nil && n.op != "tuple" {
			n = &node{op: "tuple", parts: []*node{n}}
		}
		return n, err
	case c == '-':
		p.rest = p.rest[1:]
		n, err := p.operand()
		return &node{op: "negative", parts: []*node{n}}, err
	case c == '\'' || c == '"', strings.HasPrefix(p.rest, "b'"), strings.HasPrefix(p.rest, `b"`):
		raw := c == 'b'
		if raw {
			p.rest = p.rest[1:]
		}
		text, err := p.quoted(raw)
		return &node{value: &operand{text: text, isText: !raw, isBytes: raw}}, err
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	}
	before := p.rest
	name := p.word()
	switch name {
	case "":
		return nil, fmt.Errorf("%q: a value is expected", p.rest)
	case "None", "True", "False":
		return &node{value: &operand{name: name}}, nil
	case "and", "or", "not", "in", "is", "if", "else", "lambda", "await":
		return nil, fmt.Errorf("%q: a value is expected", before)
	}
	if err := p.passTrailers(name); err != nil {
		return nil, err
	}
	return &node{leaf: strings.TrimSpace(before[:len(before)-len(p.rest)])}, nil
}

// parenthesis is a condition, or the values of a tuple, up to its end.
func (p *conditionParser) parenthesis(end string) (*node, error) {
	n, err := p.or()
	if err != nil || p.accept(end) {
		return n, err
	}
	all := &node{op: "tuple", parts: []*node{n}}
	for {
		if !p.accept(",") {
			return all, p.expect(end)
		}
		if p.accept(end) {
			return all, nil
		}
		if n, err = p.or(); err != nil {
			return nil, err
		}
		if all.parts = append(all.parts, n); p.accept(end) {
			return all, nil
		}
	}
}

// passTrailers passes .attribute, [...] and the parentheses of len().
func (p *conditionParser) passTrailers(name string) error {
	for first := true; ; first = false {
		switch {
		case p.accept("."):
			if p.word() == "" {
				return fmt.Errorf("%q: the name of an attribute is expected", p.rest)
			}
		case p.accept("["):
			if err := p.passUpTo(']'); err != nil {
				return err
			}
		case p.accept("("):
			if !first || name != "len" {
				return errors.New("a call: nothing runs in the process; only len() is supported")
			}
			if err := p.passUpTo(')'); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// passUpTo passes what is in brackets, and the closing one.
func (p *conditionParser) passUpTo(end byte) error {
	for depth := 0; p.rest != ""; {
		switch c := p.rest[0]; {
		case c == '\'' || c == '"':
			if _, err := p.quoted(false); err != nil {
				return err
			}
			continue
		case c == end && depth == 0:
			p.rest = p.rest[1:]
			return nil
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
		p.rest = p.rest[1:]
	}
	return fmt.Errorf("%c expected at the end", end)
}

// number is an int or a float.
func (p *conditionParser) number() (*node, error) {
	end := 0
	for end < len(p.rest) {
		c := rune(p.rest[end])
		sign := (c == '+' || c == '-') && end > 0 && (p.rest[end-1] == 'e' || p.rest[end-1] == 'E') && !strings.HasPrefix(p.rest, "0x")
		if c != '.' && c != '_' && !unicode.IsDigit(c) && !unicode.IsLetter(c) && !sign {
			break
		}
		end++
	}
	v, err := numberOf(p.rest[:end])
	p.rest = p.rest[end:]
	return &node{value: v}, err
}
