package values

import "fmt"

// namedCast reads static_cast<T>(x) and the other casts of C++. They convert as (T)x does,
// but reinterpret_cast does not adjust pointers, and dynamic_cast asks the object.
func (p *parser) namedCast() (*node, error) {
	word := p.next().text
	switch word {
	case "static_cast", "dynamic_cast", "const_cast", "reinterpret_cast":
	default:
		return nil, fmt.Errorf("%s: no such cast", word)
	}
	p.next()
	ty, err := p.typeName()
	if err != nil {
		return nil, fmt.Errorf("%s: a type expected", word)
	}
	for _, op := range []string{">", "("} {
		if err := p.expect(op); err != nil {
			return nil, err
		}
	}
	a, err := p.comma()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if word == "reinterpret_cast" && ty.Strip().Kind == Pointer {
		a = &node{op: nodeCast, a: a, typ: ty.prog.voidPointer()}
	}
	return &node{op: nodeCast, text: word, a: a, typ: ty}, nil
}

// arrayPointer reports whether (*)[N] begins here.
func (p *parser) arrayPointer() bool {
	for i, want := range []string{"(", "*", ")", "["} {
		if p.pos+i >= len(p.toks) || p.toks[p.pos+i].kind != tokOp || p.toks[p.pos+i].text != want {
			return false
		}
	}
	return p.toks[p.pos+4].kind == tokNumber
}

// alignof reads alignof with a type, the only operand that gdb takes, too.
func (p *parser) alignof() (*node, error) {
	word := p.next().text
	p.next()
	ty, err := p.typeName()
	if err != nil {
		return nil, fmt.Errorf("%s: a type expected", word)
	}
	return &node{op: nodeAlignof, typ: ty}, p.expect(")")
}
