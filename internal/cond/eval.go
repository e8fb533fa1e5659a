package cond

import (
	"slices"
	"strings"
)

// An Env is what a condition is evaluated against. Methods are called only
// when their answer matters, those of the stack last, so that a stop which
// another term rejects costs no stack walk.
type Env interface {
	// Number is the value of a field; false when this stop has none or it is not known,
	// and then no comparison with it holds, nor the negation of one.
	Number(Field) (uint64, bool)
	// Func reports whether a function that matches pattern is on the stack.
	Func(pattern string) bool
	// Module reports whether a frame of the module is on the stack.
	Module(name string) bool
	// Caller reports whether the function that the block belongs to matches name.
	Caller(name string) bool
	// PyFile reports whether a function of Python in a file that matches pattern is on the stack.
	PyFile(pattern string) bool
	// Like reports whether the stack is the stack of the event FILE.hdb#N.
	Like(event string) bool
	// Kind reports whether the allocator function matches name.
	Kind(name string) bool
	// Type reports whether the type of the block matches pattern.
	Type(pattern string) bool
	// ThreadName is the name of the thread that stopped.
	ThreadName() string
}

// A Program is an Env of a program that is stopped, whose variables can be read.
type Program interface {
	// Holds reports whether a term of the program's language has a value other than
	// zero. Where it has no value that is known, neither the term nor its negation holds.
	Holds(expr string) (holds, known bool)
}

// A Truth is what is known of a condition.
type Truth uint8

// The truths. A condition is Unknown if a term of the program's language decides it that
// has no value.
const (
	False Truth = iota
	True
	Unknown
)

func truth(holds bool) Truth {
	if holds {
		return True
	}
	return False
}

// Eval reports whether the condition holds.
func (c *Cond) Eval(env Env) bool { return c.Decide(env) == True }

// Decide reports whether the condition holds.
func (c *Cond) Decide(env Env) Truth { return decide(c.plan, env) }

func decide(n Node, env Env) Truth {
	switch n := n.(type) {
	case *Compare:
		v, ok := env.Number(n.Field)
		return truth(ok && n.Op.Holds(v, n.Value))
	case *Call:
		return truth(ask(n, env))
	case *Expr:
		return program(n, env)
	case *Not:
		switch decide(n.X, env) {
		case True:
			return False
		case False:
			return True
		}
		return Unknown
	case *And:
		return chain(n.Terms, env, True, False)
	case *Or:
		return chain(n.Terms, env, False, True)
	}
	return False
}

// chain is end if a term is, and otherwise Unknown if a term is. It is all if every term is.
func chain(terms []Node, env Env, all, end Truth) Truth {
	for _, t := range terms {
		switch got := decide(t, env); got {
		case end:
			return end
		case Unknown:
			all = Unknown
		}
	}
	return all
}

func program(n *Expr, env Env) Truth {
	p, ok := env.(Program)
	if !ok {
		return Unknown
	}
	holds, known := p.Holds(n.Text)
	if !known {
		return Unknown
	}
	return truth(holds)
}

func ask(n *Call, env Env) bool {
	switch n.Predicate {
	case Func:
		return env.Func(n.Arg)
	case Module:
		return env.Module(n.Arg)
	case Caller:
		return env.Caller(n.Arg)
	case PyFile:
		return env.PyFile(n.Arg)
	case Like:
		return env.Like(n.Arg)
	case Type:
		return env.Type(n.Arg)
	case Kind:
		return env.Kind(n.Arg)
	default:
		return Match(n.Arg, env.ThreadName())
	}
}

// positive is a tree that holds when n has the value, with negations at names alone. Of
// what is not known nothing holds there: not the comparison, and not its negation.
func positive(n Node, value bool) Node {
	terms := func(list []Node) []Node {
		var out []Node
		for _, t := range list {
			out = append(out, positive(t, value))
		}
		return out
	}
	switch n := n.(type) {
	case *And:
		if value {
			return &And{flat(terms(n.Terms), isAnd)}
		}
		return &Or{flat(terms(n.Terms), isOr)}
	case *Or:
		if value {
			return &Or{flat(terms(n.Terms), isOr)}
		}
		return &And{flat(terms(n.Terms), isAnd)}
	case *Not:
		return positive(n.X, !value)
	case *Compare:
		if !value {
			return &Compare{n.Field, n.Op.not(), n.Value, n.Col}
		}
	case *Call:
		if n.Predicate == Domain {
			return positive(n.functions(), value)
		}
		if !value {
			return &Not{n}
		}
	case *Expr:
		if !value {
			return &Not{n}
		}
	}
	return n
}

// flat puts the terms of chains of the same kind in their place.
func flat(terms []Node, chain func(Node) ([]Node, bool)) []Node {
	var out []Node
	for _, t := range terms {
		if inner, ok := chain(t); ok {
			out = append(out, inner...)
		} else {
			out = append(out, t)
		}
	}
	return out
}

func isAnd(n Node) ([]Node, bool) {
	and, ok := n.(*And)
	if !ok {
		return nil, false
	}
	return and.Terms, true
}

func isOr(n Node) ([]Node, bool) {
	or, ok := n.(*Or)
	if !ok {
		return nil, false
	}
	return or.Terms, true
}

// reorder copies the tree with the terms of each chain sorted by cost. The
// questions have no effects, so the order changes only the price.
func reorder(n Node) Node {
	switch n := n.(type) {
	case *And:
		return &And{reorderTerms(n.Terms)}
	case *Or:
		return &Or{reorderTerms(n.Terms)}
	case *Not:
		return &Not{reorder(n.X)}
	}
	return n
}

func reorderTerms(terms []Node) []Node {
	sorted := make([]Node, len(terms))
	for i, t := range terms {
		sorted[i] = reorder(t)
	}
	slices.SortStableFunc(sorted, func(x, y Node) int { return cost(x) - cost(y) })
	return sorted
}

// cost ranks a term by its dearest question: 0 a value at hand, 1 a name, 2 the
// totals of the heap, 3 a stack walk, 4 a frame's variables.
func cost(n Node) int {
	switch n := n.(type) {
	case *Compare:
		if n.Field == Live || n.Field == Blocks {
			return 2
		}
		return 0
	case *Call:
		if n.Predicate.OfStack() {
			return 3
		}
		return 1
	case *Expr:
		return 4
	}
	c := 0
	for _, child := range n.children() {
		c = max(c, cost(child))
	}
	return c
}

// Match reports whether name matches the pattern, in which * represents any text and every other
// character for itself.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}
