package values

import (
	"errors"
	"fmt"
	"strings"

	"hdb/symbols/dwarf"
)

// qualifierKinds are the words for qualifiers that are read.
var qualifierKinds = map[string]Kind{"const": Const, "volatile": Volatile}

var errNoType = errors.New("no type")

// typeName reads a type: qualifiers, a name, and declarators * & [N].
func (p *parser) typeName() (*Type, error) {
	var base *Type
	var words []string
	var qualifiers []Kind
	for base == nil {
		t := p.peek()
		if t.kind == tokOp && t.text == "::" && len(words) == 0 {
			p.next()
			continue
		}
		if t.kind != tokName {
			break
		}
		switch t.text {
		case "const", "volatile":
			qualifiers = append(qualifiers, qualifierKinds[t.text])
			p.next()
			continue
		case "struct", "class", "union", "enum":
			p.next()
			tag := map[string]dwarf.Tag{"struct": dwarf.TagStructureType, "class": dwarf.TagClassType, "union": dwarf.TagUnionType, "enum": dwarf.TagEnumerationType}[t.text]
			name := p.qualified()
			if base = p.types.typeFor(tag, name); base == nil {
				return nil, &noTypeError{fmt.Errorf("no %s named %q", t.text, name)}
			}
			continue
		}
		if isTypeWord(t.text) {
			words = append(words, t.text)
			p.next()
			continue
		}
		if len(words) > 0 {
			break
		}
		if p.isTypeOperator() {
			var err error
			if base, err = p.typeOperand(); err != nil {
				return nil, err
			}
			continue
		}
		start := p.pos
		name := p.qualified()
		if base = p.types.typeFor(0, name); base == nil {
			p.pos = start
			return nil, errNoType
		}
	}
	if base == nil {
		if len(words) == 0 {
			return nil, errNoType
		}
		if base = p.types.typeFor(0, strings.Join(words, " ")); base == nil {
			return nil, errNoType
		}
	}
	for _, q := range qualifiers {
		base = base.qualifiedBy(q)
	}
	return p.declarator(base)
}

func isTypeWord(s string) bool {
	switch s {
	case "unsigned", "signed", "long", "short", "int", "char", "double", "float", "void", "_Bool", "__int128":
		return true
	}
	return false
}

// maxDeclarators bounds stars and dimensions.
const maxDeclarators = 32

func (p *parser) declarator(t *Type) (*Type, error) {
	for range maxDeclarators {
		switch {
		case p.accept("*"):
			t = t.PointerTo()
		case p.accept("&"):
			t = &Type{Kind: Reference, size: 8, prog: t.prog, mod: t.mod, elem: t, elemOK: true, lang: t.lang}
		case p.peek().kind == tokName && (p.peek().text == "const" || p.peek().text == "volatile"):
			t = t.qualifiedBy(qualifierKinds[p.next().text])
		case p.is("[") && p.toks[p.pos+1].kind == tokNumber && p.pos+2 < len(p.toks) && p.toks[p.pos+2].text == "]":
			n, err := p.dimension()
			if err != nil {
				return nil, err
			}
			t = t.ArrayOf(n)
		case p.arrayPointer():
			var rows []int64
			for p.pos += 3; p.is("["); {
				n, err := p.dimension()
				if err != nil || len(rows) == maxDeclarators {
					return nil, errNoType
				}
				rows = append(rows, n)
			}
			a := t.ArrayOf(rows[0])
			a.counts = rows
			t = a.PointerTo()
		case p.is("(") && p.toks[p.pos+1].text == "*" && p.pos+2 < len(p.toks) && p.toks[p.pos+2].text == ")" && p.toks[p.pos+3].text == "(":
			p.pos += 3
			fn, err := p.functionType(t)
			if err != nil {
				return nil, err
			}
			t = fn.PointerTo()
		default:
			return t, nil
		}
	}
	return nil, errors.New("type with too many parts")
}

// functionType reads the parameters of a function that returns a type.
func (p *parser) functionType(returns *Type) (*Type, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.next()
	fn := &Type{Kind: Function, size: 1, prog: returns.prog, mod: returns.mod, elem: returns, elemOK: true, lang: returns.lang, proto: true, typed: new(signatureTyped)}
	for !p.accept(")") {
		if len(fn.typed.params) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.accept("...") {
			fn.typed.open = true
			continue
		}
		t, err := p.typeName()
		if err != nil {
			return nil, err
		}
		if p.peek().kind == tokName { // a parameter's name
			p.next()
		}
		if t.Kind == Void && len(fn.typed.params) == 0 && p.is(")") {
			continue
		}
		if fn.typed.params = append(fn.typed.params, t); len(fn.typed.params) > maxParameters {
			return nil, errNoType
		}
	}
	return fn, nil
}

// dimension reads [N].
func (p *parser) dimension() (int64, error) {
	p.next()
	n, _, err := integer(p.next().text)
	if err != nil || n > 1<<32 || !p.accept("]") {
		return 0, errNoType
	}
	return int64(n), nil
}
