package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/symbols/dwarf"
)

// A node of a parsed expression.
type node struct {
	op      string // an operator, or one of the words below
	text    string
	a, b, c *node
	typ     *Type
	by      string // of an assignment by an operator, as +=, that operator; of a literal, its prefix
}

// Words for op that are no operators of C.
const (
	nodeName    = "name"
	nodeNumber  = "number"
	nodeChar    = "char"
	nodeString  = "string"
	nodeDollar  = "$"
	nodeCast    = "cast"
	nodeSizeof  = "sizeof"
	nodeAlignof = "alignof"
	nodeInFile  = "in file" // 'file.c'::x: a is the name, text the file
	nodeType    = "type"
	nodeAt      = "at"    // {type} address
	nodeAfter   = "after" // an assignment whose value is the old one: x++
	nodeIndex   = "index"
	nodeMember  = "member"
	nodeArrow   = "arrow"
	nodeUnary   = "unary"
	nodeSelect  = "?"
	nodeCall    = "call"  // of a member function: a is the member, b its arguments
	nodeArg     = "arg"   // a is the argument, b the next nodeArg
	nodeEntry   = "entry" // a parameter as it was passed: n@entry
	nodeList    = "list"  // {1, 2}: a has the elements, as nodeArg
)

// types is the parser's view of the names of types.
type types interface {
	// typeFor is the type with a name. It is nil if there is none, or if the name is a variable's.
	typeFor(tag dwarf.Tag, name string) *Type
	// rust reports whether the language has `x as T`.
	rust() bool
	// cplusplus reports whether it has words for operators, as and and not.
	cplusplus() bool
	// typeOf is the type that an operand of typeof has.
	typeOf(n *node) (*Type, error)
}

type parser struct {
	src   string
	toks  []token
	pos   int
	types types
	depth int
}

// maxParse bounds nested parentheses and unary operators.
const maxParse = 200

// parse reads a whole expression.
func parse(src string, ts types) (*node, error) {
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, toks: toks, types: ts}
	if ts.cplusplus() {
		p.operatorWords()
	}
	if p.peek().kind == tokEnd {
		return nil, errors.New("an expression is missing")
	}
	n, err := p.comma()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEnd {
		return nil, fmt.Errorf("unexpected %q in the expression", p.src[t.pos:])
	}
	return n, nil
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEnd {
		p.pos++
	}
	return t
}

func (p *parser) is(op string) bool { t := p.peek(); return t.kind == tokOp && t.text == op }

func (p *parser) accept(op string) bool {
	if p.is(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(op string) error {
	if p.accept(op) {
		return nil
	}
	if t := p.peek(); t.kind != tokEnd {
		return fmt.Errorf("%q expected before %q", op, p.src[t.pos:])
	}
	return fmt.Errorf("%q is missing at the end", op)
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxParse {
		return errors.New("expression nests too deeply")
	}
	return nil
}

func (p *parser) comma() (*node, error) {
	a, err := p.assign()
	if err == nil && p.is(",") && p.types.rust() {
		return nil, errors.New("a tuple is not computed: print its parts one by one")
	}
	for err == nil && p.accept(",") {
		var b *node
		b, err = p.assign()
		a = &node{op: ",", a: a, b: b}
	}
	return a, err
}

func (p *parser) assign() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	a, err := p.selection()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	if t.kind != tokOp {
		return a, nil
	}
	switch t.text {
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		p.next()
		b, err := p.assign()
		if err != nil {
			return nil, err
		}
		return &node{op: "=", a: a, b: b, by: strings.TrimSuffix(t.text, "=")}, nil
	}
	return a, nil
}

func (p *parser) selection() (*node, error) {
	a, err := p.binary(0)
	if err != nil || !p.accept("?") {
		return a, err
	}
	b, err := p.assign()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	c, err := p.assign()
	return &node{op: nodeSelect, a: a, b: b, c: c}, err
}

// levels are the binary operators by increasing precedence. @ has the same as in gdb.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"@"}, {"+", "-"}, {"*", "/", "%"}, {".*", "->*"},
}

func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.unary()
	}
	a, err := p.binary(level + 1)
	for err == nil && slices.ContainsFunc(levels[level], p.is) {
		op := p.next().text
		var b *node
		b, err = p.binary(level + 1)
		a = &node{op: op, a: a, b: b}
	}
	return a, err
}

func (p *parser) unary() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.peek()
	switch {
	case t.kind == tokOp:
		if n, err := p.prefixed(t.text); n != nil || err != nil {
			return n, err
		}
	case t.kind != tokName:
	case (t.text == "alignof" || t.text == "_Alignof") && p.toks[p.pos+1].text == "(":
		return p.alignof()
	case t.text == "sizeof":
		return p.sizeof()
	}
	n, err := p.postfix()
	for err == nil && p.types.rust() && p.peek().kind == tokName && p.peek().text == "as" {
		p.next()
		var ty *Type
		if ty, err = p.typeName(); err != nil {
			return nil, errors.New("a type expected behind as")
		}
		n = &node{op: nodeCast, a: n, typ: ty}
	}
	return n, err
}

// prefixed reads an operand that begins with a prefix operator. It returns nil without an
// error if the operator is not one.
func (p *parser) prefixed(op string) (*node, error) {
	switch op {
	case "-", "+", "!", "~", "*", "&":
		p.next()
		a, err := p.unary()
		return &node{op: nodeUnary, text: op, a: a}, err
	case "&&": // rvalue of an address of an address: not C's
		return nil, errors.New("unexpected && at the beginning of an operand")
	case "++", "--":
		p.next()
		a, err := p.unary()
		return stepped(a, op), err
	case "{":
		start := p.pos
		p.next()
		ty, err := p.typeName()
		if err == errNoType || err == nil && !p.is("}") {
			p.pos = start
			return nil, nil // {1, 2}
		}
		if err != nil {
			return nil, err
		}
		if err := p.expect("}"); err != nil {
			return nil, err
		}
		a, err := p.unary()
		return &node{op: nodeAt, a: a, typ: ty}, err
	case "(":
		start := p.pos
		p.next()
		ty, err := p.typeName()
		if err == nil && p.accept(")") {
			if p.startsOperand() {
				a, err := p.unary()
				return &node{op: nodeCast, a: a, typ: ty}, err
			}
			return &node{op: nodeType, typ: ty}, nil
		}
		if none := new(noTypeError); errors.As(err, &none) {
			return nil, err
		}
		p.pos = start
	}
	return nil, nil
}

// sizeof reads sizeof with a type or an operand.
func (p *parser) sizeof() (*node, error) {
	p.next()
	if start := p.pos; p.accept("(") {
		if ty, err := p.typeName(); err == nil && p.accept(")") {
			return &node{op: nodeSizeof, typ: ty}, nil
		}
		p.pos = start
	}
	a, err := p.unary()
	return &node{op: nodeSizeof, a: a}, err
}

// startsOperand reports whether a cast's operand follows.
func (p *parser) startsOperand() bool {
	t := p.peek()
	if t.kind != tokOp {
		return t.kind != tokEnd
	}
	switch t.text {
	case "(", "*", "&", "-", "+", "!", "~", "::", "{":
		return true
	}
	return false
}

// stepped assigns a plus or minus 1 to a. op is ++ or --.
func stepped(a *node, op string) *node {
	return &node{op: "=", text: op, a: a, b: &node{op: nodeNumber, text: "1"}, by: op[:1]}
}

func (p *parser) postfix() (*node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.accept("["):
			var i *node
			if i, err = p.comma(); err != nil {
				return nil, err
			}
			if err = p.expect("]"); err != nil {
				return nil, err
			}
			n = &node{op: nodeIndex, a: n, b: i}
		case p.is(".") || p.is("->"):
			op := nodeMember
			if p.next().text == "->" {
				op = nodeArrow
			}
			t := p.next()
			if t.kind != tokName && t.kind != tokNumber {
				return nil, fmt.Errorf("a member's name is missing behind %q", p.src[:t.pos])
			}
			name := t.text
			if args, end := p.templateArgs(); p.is("<") && end > 0 && p.toks[end].text == "(" { // of a member function
				name, p.pos = name+args, end
			}
			for p.is("::") && p.toks[p.pos+1].kind == tokName { // of a base: v.Base::x
				p.next()
				name += "::" + p.next().text
			}
			n = &node{op: op, a: n, text: name}
		case p.is("("):
			if n, err = p.call(n); err != nil {
				return nil, err
			}
		case n.op == nodeName && p.is("@") && p.toks[p.pos+1].text == "entry" && p.toks[p.pos+1].kind == tokName:
			p.next()
			p.next()
			n = &node{op: nodeEntry, text: n.text}
		case p.is("++") || p.is("--"):
			n = &node{op: nodeAfter, a: stepped(n, p.next().text)}
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (*node, error) {
	t := p.peek()
	switch t.kind {
	case tokNumber:
		p.next()
		return &node{op: nodeNumber, text: t.text}, nil
	case tokChar:
		p.next()
		if len(t.text) > 1 && t.prefix == "" { // gdb's quoted names: 'file.c'::x, 'a::b<int>'
			if p.is("::") && p.toks[p.pos+1].kind == tokName {
				p.next()
				return &node{op: nodeInFile, text: t.text, a: &node{op: nodeName, text: p.qualified()}}, nil
			}
			if _, err := charOf(t.text); err != nil {
				return &node{op: nodeName, text: t.text}, nil
			}
		}
		return &node{op: nodeChar, text: t.text, by: t.prefix}, nil
	case tokString:
		return p.literal(), nil
	case tokDollar:
		p.next()
		return &node{op: nodeDollar, text: t.text}, nil
	case tokName:
		if p.toks[p.pos+1].text == "<" && strings.HasSuffix(t.text, "_cast") {
			return p.namedCast()
		}
		ty, err := p.typeAhead()
		if err == nil {
			return &node{op: nodeType, typ: ty}, nil
		}
		if none := new(noTypeError); errors.As(err, &none) {
			return nil, err
		}
		if err := p.unread(t.text); err != nil {
			return nil, err
		}
		return &node{op: nodeName, text: p.qualified()}, nil
	case tokOp:
		switch t.text {
		case "(":
			p.next()
			n, err := p.comma()
			if err != nil {
				return nil, err
			}
			return n, p.expect(")")
		case "{":
			return p.list()
		case "[":
			if p.types.cplusplus() {
				return nil, errors.New("a lambda is not computed")
			}
		case "::":
			p.next()
			if p.peek().kind == tokName {
				return &node{op: nodeName, text: "::" + p.qualified()}, nil
			}
		}
		return nil, fmt.Errorf("unexpected %q in the expression", p.src[t.pos:])
	}
	return nil, errors.New("the expression ends where an operand should follow")
}

// typeAhead reads a type if one follows, for ptype and sizeof.
func (p *parser) typeAhead() (*Type, error) {
	start := p.pos
	ty, err := p.typeName()
	if err != nil {
		p.pos = start
	}
	return ty, err
}

// qualified reads a::b<c>::d. Template arguments are not parsed.
func (p *parser) qualified() string {
	name := ""
	for {
		t := p.peek()
		if t.kind == tokOp && t.text == "~" && name != "" {
			p.next()
			name += "~"
			continue
		}
		if t.kind != tokName {
			return name
		}
		p.next()
		name += t.text
		if p.is("<") {
			if args, end := p.templateArgs(); end > 0 {
				name += args
				p.pos = end
			}
		}
		if end := p.parametersEnd(); end > 0 { // of a function, before a variable in it
			p.pos = end
		}
		if !p.is("::") || p.toks[p.pos+1].kind != tokName {
			return name
		}
		p.next()
		name += "::"
	}
}

// templateArgs is the text of the template arguments that begin here, and the token after
// them. It is 0 if < is an operator, which no scope, type or end of a type follows.
func (p *parser) templateArgs() (string, int) {
	depth := 0
	for i := p.pos; i < len(p.toks); i++ {
		t := p.toks[i]
		if t.kind == tokEnd {
			return "", 0
		}
		if t.kind != tokOp {
			continue
		}
		switch t.text {
		case "<", "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ">":
			depth--
		case ">>":
			depth -= 2
		case "&&", "||", "=", "?":
			if t.text != "&&" {
				return "", 0
			}
		}
		if depth < 0 {
			return "", 0
		}
		if depth > 0 {
			continue
		}
		end := t.pos + len(t.text)
		text := p.src[p.toks[p.pos].pos:end]
		after := p.toks[i+1]
		name := p.src[p.toks[p.pos-1].pos:p.toks[p.pos].pos]
		if after.kind == tokOp && after.text == "::" || p.types.typeFor(0, strings.TrimSpace(name)+text) != nil {
			return text, i + 1
		}
		if after.kind == tokEnd || after.kind == tokOp && strings.Contains(") } * & , (", after.text) {
			return text, i + 1
		}
		return "", 0
	}
	return "", 0
}

// call reads the arguments of a call.
func (p *parser) call(n *node) (*node, error) {
	p.next()
	call := &node{op: nodeCall, a: n}
	for last := &call.b; !p.accept(")"); last = &(*last).b {
		if call.b != nil {
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
	return call, nil
}
