// Package cond is the one condition language of hdb, for stops, filters and
// reports alike: it parses, checks, prints and evaluates text such as
//
//	size >= 1MiB && thread == 3 && func("load_*")
//
// The grammar, loosest binding first:
//
//	or      = and { ("||" | "or") and }
//	and     = not { ("&&" | "and") not }
//	not     = ("!" | "not") not | primary
//	primary = "(" or ")" | compare | call | "#" number | expr
//	compare = field op number | number op field
//	        | "thread" ("==" | "!=") string | "kind" ("==" | "!=") name
//	call    = ("func" | "module" | "caller" | "kind") "(" name ")"
//	op      = "==" | "!=" | "<" | "<=" | ">" | ">="
//	name    = string | identifier
//	expr    = any other text up to the next && or ||, where the Place has Expressions
//
// Numbers are decimal, with a fraction if a unit makes it whole (1.5MiB), or
// hexadecimal. Units of sizes and addresses are k, M, G, T (and KiB, MiB, ...)
// for powers of 1024 and kB, MB, GB, TB for powers of 1000. Units of counts
// (thread, nth, blocks, count, goroutine) are k, M, G, T for powers of 1000. #4711 alone
// means nth == 4711.
//
// A *Cond never changes after Parse, so goroutines may share it.
package cond

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Cond is a parsed condition.
type Cond struct {
	src  string
	root Node // as written
	norm Node // root with ! at names alone, see positive
	plan Node // norm with the cheap terms of each chain first

	program bool // it has terms of the program's language
}

// Parse reads a whole condition without terms of the program's language. The error is an
// *Error that points at the column; text after a complete condition is an error too.
func Parse(src string) (*Cond, error) {
	p := parser{lex: lexer{src: src}}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return newCond(src, root), nil
}

// ParseAt reads a condition that is used at a place, and checks it. Its terms are of the
// program's language where the place has Expressions and this language does not know
// them there.
func ParseAt(src string, at Place) (*Cond, error) {
	if !at.Expressions {
		c, err := Parse(src)
		if err == nil {
			err = c.Check(at)
		}
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	p := splitter{src: src, at: at}
	root, err := p.or(0, len(src))
	if err != nil {
		return nil, err
	}
	return newCond(src, root), nil
}

func newCond(src string, root Node) *Cond {
	norm := positive(root, true)
	c := &Cond{src: src, root: root, norm: norm, plan: reorder(norm)}
	c.program = len(c.Expressions()) > 0
	return c
}

// Source is the text the condition was parsed from.
func (c *Cond) Source() string { return c.src }

// String is the canonical text, which parses to an equal tree.
func (c *Cond) String() string { return c.root.String() }

// Root is the tree to be evaluated, terms in the order written, in which a Not has a Call or an Expr.
// It must not be modified.
func (c *Cond) Root() Node { return c.norm }

// Uses reports whether the condition compares f.
func (c *Cond) Uses(f Field) bool {
	return contains(c.root, func(n Node) bool {
		cmp, ok := n.(*Compare)
		return ok && cmp.Field == f
	})
}

// UsesPredicate reports whether the condition asks p.
func (c *Cond) UsesPredicate(p Predicate) bool {
	return contains(c.root, func(n Node) bool {
		call, ok := n.(*Call)
		return ok && call.Predicate == p
	})
}

// CheckTypes is an error if the condition asks of which type a block is, and why says that this
// is not known.
func (c *Cond) CheckTypes(why string) error {
	var err error
	contains(c.root, func(n Node) bool {
		if call, ok := n.(*Call); ok && call.Predicate == Type {
			err = &Error{Src: c.src, Col: call.Col, Msg: why}
		}
		return err != nil
	})
	return err
}

// Impossible are the comparisons that no event satisfies, in the order written. frees:
// of the events that free a block, none of which is at address 0.
func (c *Cond) Impossible(frees bool) []*Compare {
	var never []*Compare
	if c == nil {
		return nil
	}
	contains(c.norm, func(n Node) bool {
		if cmp, ok := n.(*Compare); ok && cmp.impossible(frees) {
			never = append(never, cmp)
		}
		return false
	})
	return never
}

// impossible reports whether the field has no value that compares so.
func (c *Compare) impossible(frees bool) bool {
	low := uint64(0) // the least value
	if c.Field == Nth || c.Field == Thread || c.Field == Goroutine || c.Field == Addr && frees {
		low = 1
	}
	switch c.Op {
	case EQ, LE:
		return c.Value < low
	case LT:
		return c.Value <= low
	case GT:
		return c.Value == math.MaxUint64
	}
	return false
}

// Asked are the names that the condition asks p for, in the order written.
func (c *Cond) Asked(p Predicate) []string {
	var names []string
	contains(c.root, func(n Node) bool {
		if call, ok := n.(*Call); ok && call.Predicate == p {
			names = append(names, call.Arg)
		}
		return false
	})
	return names
}

// UsesProgram reports whether the condition has terms in the program's language.
func (c *Cond) UsesProgram() bool { return c.program }

// Expressions are the terms in the program's language, in the order written.
func (c *Cond) Expressions() []*Expr {
	var all []*Expr
	contains(c.root, func(n Node) bool {
		if x, ok := n.(*Expr); ok {
			all = append(all, x)
		}
		return false
	})
	return all
}

// UsesStack reports whether evaluating may need the stack walked.
func (c *Cond) UsesStack() bool { return usesStack(c.root) }

func usesStack(n Node) bool {
	return contains(n, func(n Node) bool {
		switch n := n.(type) {
		case *Call:
			return n.Predicate.OfStack()
		case *Expr:
			return true
		}
		return false
	})
}

// ByStack parts a condition in two, either of which makes it true: what may need the stack walked, and what
// does not. A part that it does not have is nil; without a condition, c nil, both are.
func (c *Cond) ByStack() (asks, rest Node) {
	if c == nil {
		return nil, nil
	}
	terms, ok := isOr(c.norm)
	if !ok {
		terms = []Node{c.norm}
	}
	var with, without []Node
	for _, t := range terms {
		if usesStack(t) {
			with = append(with, t)
		} else {
			without = append(without, t)
		}
	}
	return anyOf(with), anyOf(without)
}

// anyOf is true if one of the terms is, nil without terms.
func anyOf(terms []Node) Node {
	if len(terms) > 1 {
		return &Or{terms}
	}
	return first(terms)
}

// contains reports whether any node of the tree satisfies f.
func contains(n Node, f func(Node) bool) bool {
	if f(n) {
		return true
	}
	return slices.ContainsFunc(n.children(), func(c Node) bool { return contains(c, f) })
}

// A Place says which names mean something where a condition is used.
type Place struct {
	Name       string // completes "is not known ...": "at a line of code"
	Fields     []Field
	Predicates []Predicate
	// Expressions tells that a program is stopped here whose variables can be asked.
	Expressions bool
}

// Check reports the first name that means nothing at p as an *Error.
func (c *Cond) Check(p Place) error {
	name, col := firstUnknown(c.root, p)
	if name == "" {
		return nil
	}
	return &Error{Src: c.src, Col: col, Msg: p.unknown(name)}
}

// ErrorAt is the error of a term of the program's language which names something that
// the program has not got at p.
func (c *Cond) ErrorAt(x *Expr, p Place, name, reason string) error {
	col := x.Col
	if i := strings.Index(x.Text, name); i > 0 {
		col += utf8.RuneCountInString(x.Text[:i])
	}
	msg := reason
	if _, ok := FieldNamed(name); ok {
		msg = reason + ", and " + p.unknown(name)
	} else if near := Nearest(name); near != "" {
		msg += " (did you mean " + near + "?)"
	}
	return &Error{Src: c.src, Col: col, Msg: msg}
}

// unknown says that a name means nothing at p.
func (p Place) unknown(name string) string {
	return name + " is not known " + p.Name + " (known: " + p.known() + ")"
}

// firstUnknown is the leftmost name of the tree that p does not have, with its column.
func firstUnknown(n Node, p Place) (name string, col int) {
	switch n := n.(type) {
	case *Compare:
		if !slices.Contains(p.Fields, n.Field) {
			return n.Field.String(), n.Col
		}
	case *Call:
		if !slices.Contains(p.Predicates, n.Predicate) {
			return n.Predicate.String(), n.Col
		}
	}
	for _, c := range n.children() {
		if name, col := firstUnknown(c, p); name != "" {
			return name, col
		}
	}
	return "", 0
}
