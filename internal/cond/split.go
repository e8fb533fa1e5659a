package cond

import (
	"fmt"
	"strings"
)

// A splitter reads a condition some of whose terms are of the program's language. It knows that
// only what separates terms: quotes, brackets, && and ||.
type splitter struct {
	src   string
	at    Place
	depth int
}

func (s *splitter) errorAt(pos int, msg string) error {
	return &Error{Src: s.src, Col: column(s.src, pos), Msg: msg}
}

// or reads src[from:to].
func (s *splitter) or(from, to int) (Node, error) {
	if s.depth++; s.depth > maxDepth {
		return nil, s.errorAt(from, fmt.Sprintf("nested more than %d deep", maxDepth))
	}
	defer func() { s.depth-- }()
	terms, err := s.terms(from, to, "||", "or", s.and, isOr)
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return &Or{terms}, nil
}

func (s *splitter) and(from, to int) (Node, error) {
	terms, err := s.terms(from, to, "&&", "and", s.term, isAnd)
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return &And{terms}, nil
}

// terms reads what an operator or its word separates.
func (s *splitter) terms(from, to int, op, word string, read func(from, to int) (Node, error), chain func(Node) ([]Node, bool)) ([]Node, error) {
	cuts, err := s.cuts(from, to, op, word)
	if err != nil {
		return nil, err
	}
	var all []Node
	for _, c := range append(cuts, cut{to, to}) {
		n, err := read(from, c.start)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		from = c.end
	}
	return flat(all, chain), nil
}

// A cut is where an operator is.
type cut struct{ start, end int }

// cuts finds an operator outside quotes and brackets.
func (s *splitter) cuts(from, to int, op, word string) ([]cut, error) {
	var all []cut
	var open []int // positions of brackets
	for i := from; i < to; {
		rest := s.src[i:to]
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			n := quotedEnd(rest)
			if n < 0 {
				return nil, s.errorAt(i, "the string has no closing "+string(c))
			}
			i += n
			continue
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, i)
		case strings.IndexByte(")]}", c) >= 0:
			if len(open) == 0 {
				return nil, s.errorAt(i, "no bracket before this "+string(c))
			}
			open = open[:len(open)-1]
		case len(open) > 0:
		case strings.HasPrefix(rest, op):
			all = append(all, cut{i, i + len(op)})
			i += len(op)
			continue
		case identifierPrefix(rest) > 0:
			n := identifierPrefix(rest)
			if rest[:n] == word {
				all = append(all, cut{i, i + n})
			}
			i += n
			continue
		case c >= '0' && c <= '9': // with its unit, which is no word
			for i < to && isNumberByte(s.src[i]) {
				i++
			}
			continue
		}
		i++
	}
	if len(open) > 0 {
		return nil, s.errorAt(open[0], "no bracket closes this "+s.src[open[0]:open[0]+1])
	}
	return all, nil
}

// quotedEnd is the length of the quoted text that s begins with, -1 if it does not end.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return -1
}

// spaces are what the lexer passes over.
const spaces = " \t\r\n"

// term reads one term.
func (s *splitter) term(from, to int) (Node, error) {
	text := s.src[from:to]
	from += len(text) - len(strings.TrimLeft(text, spaces))
	text = strings.Trim(text, spaces)
	to = from + len(text)
	if text == "" {
		if strings.Trim(s.src, spaces) == "" {
			return nil, s.errorAt(from, "the condition is empty (example: size >= 64k && thread == 1)")
		}
		return nil, s.errorAt(from, "a term is missing here")
	}
	if negated, ok := negation(text); ok {
		if s.depth++; s.depth > maxDepth {
			return nil, s.errorAt(from, fmt.Sprintf("nested more than %d deep", maxDepth))
		}
		x, err := s.term(to-len(negated), to)
		s.depth--
		if err != nil {
			return nil, err
		}
		if _, ok := x.(*Expr); !ok || strings.HasPrefix(text, "not") || enclosed(negated) {
			return &Not{x}, nil
		}
	} else if enclosed(text) {
		return s.or(from+1, to-1)
	}
	if n, err := s.known(from, to); n != nil || err != nil {
		return n, err
	}
	return &Expr{Text: text, Col: column(s.src, from)}, nil
}

// negation is what follows a negation.
func negation(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "not"); ok && rest != "" && strings.IndexByte(spaces+"(!", rest[0]) >= 0 {
		return strings.TrimLeft(rest, spaces), true
	}
	rest, ok := strings.CutPrefix(text, "!")
	return strings.TrimLeft(rest, spaces), ok && !strings.HasPrefix(rest, "=")
}

// enclosed reports whether the bracket that s begins with closes at its end.
func enclosed(s string) bool {
	if s[0] != '(' {
		return false
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			i += max(quotedEnd(s[i:]), 1) - 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(s)-1
			}
		}
	}
	return false
}

// known is the term src[from:to] in this language, nil if it is none of it: then it is of
// the program's. $size and the like are always of this language.
func (s *splitter) known(from, to int) (Node, error) {
	text := s.src[from:to]
	word, own := text, false
	if text[0] == '$' {
		word, own = text[1:], true
	}
	word = word[:identifierPrefix(word)]
	if own && !s.has(word) { // a register, or a variable of the user
		return nil, nil
	}
	if own {
		from++
	}
	p := parser{lex: lexer{src: s.src[:to], pos: from}}
	n, err := p.parse()
	if err == nil {
		if name, _ := firstUnknown(n, s.at); name != "" {
			return nil, nil
		}
		return n, nil
	}
	if !s.has(word) || word == Domain.word() || word != Thread.String() && expression(s.src[from:to][len(word):]) {
		return nil, nil
	}
	return nil, err
}

// has reports whether the place has a field or predicate of that name.
func (s *splitter) has(word string) bool {
	for _, f := range s.at.Fields {
		if f.String() == word {
			return true
		}
	}
	for _, p := range s.at.Predicates {
		if p.word() == word {
			return true
		}
	}
	return false
}

// expression reports whether what follows a name of this language makes an expression of it: an
// operator that conditions have not got, or a comparison with a name.
func expression(rest string) bool {
	rest = strings.TrimLeft(rest, spaces)
	for _, f := range fixed {
		if f.kind == tokOp && strings.HasPrefix(rest, f.text) {
			operand := strings.TrimLeft(rest[len(f.text):], spaces)
			return operand != "" && (identifierPrefix(operand) > 0 || strings.IndexByte("$&*-(:~", operand[0]) >= 0)
		}
	}
	return rest != "" && strings.IndexByte("-+*/%&|^.[", rest[0]) >= 0
}
