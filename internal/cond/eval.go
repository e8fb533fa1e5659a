package cond

import (
	"slices"
	"strings"
)

// An Env is what a condition is evaluated against. Methods are called only
// when their answer matters, those of the stack last, so that a stop which
// another term rejects costs no stack walk.
type Env interface {
	// Number is the value of a field; false when this stop has none, and then
	// the comparison is false.
	Number(Field) (uint64, bool)
	// Func reports whether a function that matches pattern is on the stack.
	Func(pattern string) bool
	// Module reports whether a frame of the module is on the stack.
	Module(name string) bool
	// Caller reports whether the first frame outside the allocator matches name.
	Caller(name string) bool
	// Like reports whether the stack is that of the event FILE.hdb#N.
	Like(event string) bool
	// Kind reports whether the allocator function matches name.
	Kind(name string) bool
	// ThreadName is the name of the thread that stopped.
	ThreadName() string
}

// Eval reports whether the condition holds.
func (c *Cond) Eval(env Env) bool { return eval(c.plan, env) }

func eval(n Node, env Env) bool {
	switch n := n.(type) {
	case *Compare:
		v, ok := env.Number(n.Field)
		return ok && n.Op.Holds(v, n.Value)
	case *Call:
		return ask(n, env)
	case *Not:
		return !eval(n.X, env)
	case *And:
		for _, t := range n.Terms {
			if !eval(t, env) {
				return false
			}
		}
		return true
	case *Or:
		for _, t := range n.Terms {
			if eval(t, env) {
				return true
			}
		}
	}
	return false
}

func ask(n *Call, env Env) bool {
	switch n.Predicate {
	case Func:
		return env.Func(n.Arg)
	case Module:
		return env.Module(n.Arg)
	case Caller:
		return env.Caller(n.Arg)
	case Like:
		return env.Like(n.Arg)
	case Kind:
		return env.Kind(n.Arg)
	default:
		return Match(n.Arg, env.ThreadName())
	}
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
// totals of the heap, 3 a stack walk.
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
	}
	c := 0
	for _, child := range n.children() {
		c = max(c, cost(child))
	}
	return c
}

// Match reports whether name matches the pattern, in which * stands for any
// text and every other character for itself.
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
