package values

import (
	"fmt"
	"strings"
)

// cppOperators are the operators that C++ has words for ([lex.digraph]).
var cppOperators = map[string]string{
	"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~", "not_eq": "!=",
	"and_eq": "&=", "or_eq": "|=", "xor_eq": "^=",
}

// operatorWords makes operators of C++'s words for them.
func (p *parser) operatorWords() {
	for i, t := range p.toks {
		if op := cppOperators[t.text]; op != "" && t.kind == tokName {
			p.toks[i].kind, p.toks[i].text = tokOp, op
		}
	}
}

// unread is the error of a word that begins an expression of C++ that is not computed.
func (p *parser) unread(word string) error {
	if !p.types.cplusplus() || p.toks[p.pos+1].kind == tokEnd {
		return nil
	}
	switch word {
	case "new", "delete":
		return fmt.Errorf("%s is not supported: call malloc or free, or a function of the program", word)
	case "throw":
		return fmt.Errorf("%s is not computed", word)
	case "typeid":
		return fmt.Errorf("%s is not supported: for the class of an object use info vtbl or print -object", word)
	}
	return nil
}

// literal reads a string. Those that follow it belong to it, and have its prefix or none.
func (p *parser) literal() *node {
	n := &node{op: nodeString}
	var text strings.Builder
	for t := p.peek(); t.kind == tokString && (t.prefix == n.by || t.prefix == "" || n.by == ""); t = p.peek() {
		if t.prefix != "" {
			n.by = t.prefix
		}
		text.WriteString(t.text)
		p.next()
	}
	n.text = text.String()
	return n
}

// list reads {1, 2, 3}, which is an array.
func (p *parser) list() (*node, error) {
	p.next()
	list := &node{op: nodeList}
	for last := &list.a; !p.accept("}"); last = &(*last).b {
		if list.a != nil {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		a, err := p.assign()
		if err != nil {
			return nil, err
		}
		*last = &node{op: nodeArg, a: a}
	}
	return list, nil
}

// parametersEnd is the token behind the parameters of a function that begin here, if the
// name of a variable in it follows, as in f(int)::count; else 0.
func (p *parser) parametersEnd() int {
	if !p.is("(") {
		return 0
	}
	depth := 0
	for i := p.pos; i+2 < len(p.toks); i++ {
		t := p.toks[i]
		switch {
		case t.kind != tokOp:
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		}
		if depth == 0 {
			if p.toks[i+1].kind == tokOp && p.toks[i+1].text == "::" && p.toks[i+2].kind == tokName {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// typeOperand reads the operand of typeof and decltype: a type or an expression, whose
// type it is.
func (p *parser) typeOperand() (*Type, error) {
	word := p.next().text
	p.next()
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	n, err := p.comma()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	t, err := p.types.typeOf(n)
	if err != nil {
		return nil, &noTypeError{fmt.Errorf("%s: %w", word, err)}
	}
	return t, nil
}

// isTypeOperator reports whether a type begins here that is the type of an expression.
func (p *parser) isTypeOperator() bool {
	if t := p.toks[p.pos+1]; t.kind != tokOp || t.text != "(" {
		return false
	}
	switch p.peek().text {
	case "typeof", "__typeof", "__typeof__", "decltype", "__decltype":
		return true
	}
	return false
}

// A noTypeError is the error of what can be nothing but a type, and is none.
type noTypeError struct{ error }

func (e *noTypeError) Unwrap() error { return e.error }
