package cond

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is a condition that does not parse or does not fit its place.
type Error struct {
	Src string // the text the column counts in
	Col int    // 1-based, in characters
	Msg string
}

// Error is `column 8: unknown name "sizee" (did you mean size?)`.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Col, e.Msg) }

// maxDepth bounds the nesting of parentheses and negations, and so the recursion.
const maxDepth = 100

type parser struct {
	lex   lexer
	tok   token
	depth int
}

func (l *lexer) errorAt(start int, msg string) error {
	return &Error{Src: l.src, Col: column(l.src, start), Msg: msg}
}

// column is the 1-based character column of byte pos.
func column(src string, pos int) int { return utf8.RuneCountInString(src[:pos]) + 1 }

func (p *parser) errorf(t token, format string, args ...any) error {
	return p.lex.errorAt(t.start, fmt.Sprintf(format, args...))
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

func (p *parser) parse() (Node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, p.errorf(p.tok, "the condition is empty (example: size >= 64k && thread == 1)")
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	switch p.tok.kind {
	case tokEnd:
		return n, nil
	case tokClose:
		return nil, p.errorf(p.tok, "no ( before this )")
	case tokOp:
		return nil, p.errorf(p.tok, "a comparison cannot be compared again, join two with &&")
	}
	return nil, p.errorf(p.tok, "unexpected %s after the condition (join with && or ||)", p.tok.describe())
}

func (p *parser) or() (Node, error) {
	terms, err := p.chain(tokOr, p.and, func(n Node) []Node {
		if or, ok := n.(*Or); ok {
			return or.Terms
		}
		return nil
	})
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return &Or{terms}, nil
}

func (p *parser) and() (Node, error) {
	terms, err := p.chain(tokAnd, p.not, func(n Node) []Node {
		if and, ok := n.(*And); ok {
			return and.Terms
		}
		return nil
	})
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return &And{terms}, nil
}

// chain reads operands joined by sep; inner gives the terms of an operand that
// is a chain of the same kind in parentheses, which changes nothing and is dropped.
func (p *parser) chain(sep tokenKind, operand func() (Node, error), inner func(Node) []Node) ([]Node, error) {
	var terms []Node
	for {
		n, err := operand()
		if err != nil {
			return nil, err
		}
		if same := inner(n); same != nil {
			terms = append(terms, same...)
		} else {
			terms = append(terms, n)
		}
		if p.tok.kind != sep {
			return terms, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func first(terms []Node) Node {
	if len(terms) == 0 {
		return nil
	}
	return terms[0]
}

func (p *parser) not() (Node, error) {
	if p.tok.kind != tokNot {
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	x, err := p.not()
	if err != nil {
		return nil, err
	}
	return &Not{x}, nil
}

func (p *parser) enter() error {
	p.depth++
	if p.depth > maxDepth {
		return p.errorf(p.tok, "nested more than %d deep", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) primary() (Node, error) {
	t := p.tok
	switch t.kind {
	case tokOpen:
		return p.group()
	case tokWord:
		return p.name()
	case tokNumber:
		return p.reversed()
	case tokHash:
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.comparison(t, Nth, EQ, t)
	case tokEnd:
		return nil, p.errorf(t, "the condition ends where a term is missing")
	}
	return nil, p.errorf(t, "expected a comparison or a call, found %s", t.describe())
}

func (p *parser) group() (Node, error) {
	open := p.tok
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokClose {
		if p.tok.kind == tokEnd {
			return nil, p.errorf(open, "no ) closes this (")
		}
		return nil, p.errorf(p.tok, "expected ), && or ||, found %s", p.tok.describe())
	}
	return n, p.advance()
}

// name reads what begins with a word: a comparison or a call.
func (p *parser) name() (Node, error) {
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	pred, isPred := predicateNamed(t.text)
	field, isField := FieldNamed(t.text)
	switch {
	case isPred && p.tok.kind == tokOpen:
		return p.call(t, pred)
	case (pred == Kind || pred == Domain) && isPred && p.tok.kind == tokOp:
		return p.nameCompare(t, pred)
	case isPred:
		return nil, p.errorf(t, "%s needs a name, as in %s(\"name\")", t.text, t.text)
	case !isField:
		return nil, p.errorf(t, "unknown name %q%s", t.text, suggestion(t.text))
	case p.tok.kind == tokOpen:
		return nil, p.errorf(t, "%s is a number, compare it: %s >= 1", t.text, t.text)
	case p.tok.kind != tokOp:
		return nil, p.errorf(p.tok, "%s needs a comparison, as in %s >= 1, found %s", t.text, t.text, p.tok.describe())
	}
	return p.compare(t, field)
}

func (p *parser) call(t token, pred Predicate) (Node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	arg := p.tok
	if arg.kind != tokString && arg.kind != tokWord {
		return nil, p.errorf(arg, "%s needs a name, as in %s(\"name\"), found %s", t.text, t.text, arg.describe())
	}
	if arg.text == "" {
		return nil, p.errorf(arg, "the name is empty")
	}
	if pred == Domain && !isDomain(arg.text) {
		return nil, p.errorf(arg, "%s", noDomain(arg))
	}
	if pred == Type {
		if err := CheckType(arg.text); err != nil {
			return nil, p.errorf(arg, "%v", err)
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokClose {
		return nil, p.errorf(p.tok, "expected ) after the name, found %s", p.tok.describe())
	}
	return &Call{Predicate: pred, Arg: arg.text, Col: column(p.lex.src, t.start)}, p.advance()
}

// compare reads the operator and number after a field.
func (p *parser) compare(t token, field Field) (Node, error) {
	op := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	v, equality := p.tok, op.op == EQ || op.op == NE
	switch {
	case v.kind == tokString && field == Thread:
		return p.nameAfter(t, op, ThreadName)
	case v.kind == tokHash && field == Nth:
	case v.kind == tokWord && field == Thread && equality:
		return nil, p.errorf(v, "thread is compared with a number, or with a name in quotes: %s %s %s", t.text, op.text, quote(v.text))
	case v.kind != tokNumber && field == Thread && equality:
		return nil, p.errorf(v, "thread is compared with a number, or with a name in quotes, found %s", v.describe())
	case v.kind != tokNumber:
		return nil, p.errorf(v, "%s is compared with a number, found %s", t.text, v.describe())
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.comparison(t, field, op.op, v)
}

// comparison relates the field, whose term begins at t, to the number of v.
func (p *parser) comparison(t token, field Field, op Op, v token) (Node, error) {
	n, bad := parseNumber(strings.TrimPrefix(v.text, "#"), unitsOf(field))
	if bad != "" {
		return nil, p.errorf(v, "%s", bad)
	}
	return &Compare{Field: field, Op: op, Value: n, Col: column(p.lex.src, t.start)}, nil
}

// reversed reads number op field, which becomes field op number.
func (p *parser) reversed() (Node, error) {
	v := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	op := p.tok
	if op.kind != tokOp {
		return nil, p.errorf(v, "%s alone says nothing, as in size >= %s (#%s for an event)", v.text, v.text, v.text)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	t := p.tok
	field, ok := FieldNamed(t.text)
	if t.kind != tokWord {
		return nil, p.errorf(t, "expected a name to compare with %s, found %s", v.text, t.describe())
	}
	if !ok {
		return nil, p.errorf(t, "unknown name %q%s", t.text, suggestion(t.text))
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.comparison(t, field, op.op.mirror(), v)
}

// nameCompare reads the operator and name after a word that is compared with names.
func (p *parser) nameCompare(t token, pred Predicate) (Node, error) {
	op := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString && p.tok.kind != tokWord {
		example := map[Predicate]string{Kind: "calloc", Domain: "obj"}[pred]
		return nil, p.errorf(p.tok, "%s is compared with a name, as in %s == %s, found %s", t.text, t.text, example, p.tok.describe())
	}
	return p.nameAfter(t, op, pred)
}

// nameAfter makes the call of a comparison whose name is the current token.
func (p *parser) nameAfter(t, op token, pred Predicate) (Node, error) {
	if op.op != EQ && op.op != NE {
		return nil, p.errorf(op, "names compare with == and != only")
	}
	switch {
	case p.tok.text == "":
		return nil, p.errorf(p.tok, "the name is empty")
	case pred == Domain && !isDomain(p.tok.text):
		return nil, p.errorf(p.tok, "%s", noDomain(p.tok))
	}
	var n Node = &Call{Predicate: pred, Arg: p.tok.text, Col: column(p.lex.src, t.start)}
	if op.op == NE {
		n = &Not{n}
	}
	return n, p.advance()
}
