package filter

import (
	"math"
	"math/bits"
	"slices"

	"hdb/internal/cond"
)

// A node is a condition of which everything is decided that can be before the
// program runs. It says no only if the condition does not hold; what it leaves
// to the evaluation outside is named in outside, so it is exact if that is empty.
type node struct {
	kind    nodeKind
	test    test     // of leaf
	terms   []node   // of conjunction and disjunction, two at least, none never or always
	inside  []string // names that the program decides, or that were decided before
	outside []string // names that are still to be asked about when the program says yes
}

type nodeKind uint8

const (
	never nodeKind = iota
	always
	leaf
	conjunction
	disjunction
)

// A test compares a value with a number, or the running thread with the one in a cell.
type test struct {
	value  Value // for a thread: what identifies the running one
	op     cond.Op
	n      uint64 // for a thread: the address of the cell
	thread bool
	signed bool // value and n are numbers with a sign, of the value's width
}

func decided(name string, holds bool) node {
	if holds {
		return node{kind: always, inside: []string{name}}
	}
	return node{kind: never, inside: []string{name}}
}

// maybe is what only the evaluation outside decides.
func maybe(name string) node { return node{kind: always, outside: []string{name}} }

// fold makes the node of n, or of its negation.
func (ops *Operands) fold(n cond.Node, negate bool) node {
	switch n := n.(type) {
	case *cond.Not:
		return ops.fold(n.X, !negate)
	case *cond.And:
		return join(ops.foldAll(n.Terms, negate), negate)
	case *cond.Or:
		return join(ops.foldAll(n.Terms, negate), !negate)
	case *cond.Compare:
		return ops.foldCompare(n, negate)
	case *cond.Call:
		return ops.foldCall(n, negate)
	case *cond.Expr:
		if ops.Expr == nil {
			return maybe(n.Text)
		}
		return ops.Expr(n).fold(n.Text, negate)
	}
	return maybe("")
}

func (ops *Operands) foldAll(terms []cond.Node, negate bool) []node {
	nodes := make([]node, len(terms))
	for i, t := range terms {
		nodes[i] = ops.fold(t, negate)
	}
	return nodes
}

// join is the disjunction of terms, or their conjunction.
func join(terms []node, either bool) node {
	if either {
		return anyOf(terms)
	}
	return allOf(terms)
}

func allOf(terms []node) node {
	joined := node{kind: conjunction}
	for _, t := range terms {
		if t.kind == never {
			return t
		}
		joined.add(t, always)
	}
	return joined.simplified(always)
}

func anyOf(terms []node) node {
	joined := node{kind: disjunction}
	open := false // a term is decided outside alone, and with it the disjunction
	for _, t := range terms {
		if t.kind == always && t.outside == nil {
			return t
		}
		open = open || t.kind == always
		joined.add(t, never)
	}
	if open {
		return joined.undone(terms)
	}
	return joined.simplified(never)
}

// add takes a term up; one of the kind idle adds its names only.
func (n *node) add(t node, idle nodeKind) {
	n.inside = append(n.inside, t.inside...)
	n.outside = append(n.outside, t.outside...)
	if t.kind != idle {
		n.terms = append(n.terms, t)
	}
}

// simplified is n with its terms counted: empty is what it is without any.
func (n node) simplified(empty nodeKind) node {
	switch len(n.terms) {
	case 0:
		n.kind = empty
	case 1:
		n.kind, n.test, n.terms = n.terms[0].kind, n.terms[0].test, n.terms[0].terms
	}
	return n
}

// undone is a disjunction that tests nothing, because one of the terms may hold
// whatever the others say.
func (n node) undone(terms []node) node {
	undone := node{kind: always, outside: n.outside}
	for _, t := range terms {
		if t.kind == never || t.kind == always { // decided names only
			undone.inside = append(undone.inside, t.inside...)
		} else {
			undone.outside = append(undone.outside, t.inside...)
		}
	}
	return undone
}

func (ops *Operands) foldCompare(n *cond.Compare, negate bool) node {
	name, op := compareName(n), n.Op
	if negate {
		op = inverse(op)
	}
	v, ok := ops.number(n.Field)
	switch {
	case ok && v.none():
		return decided(name, negate)
	case ok:
		return foldTest(name, v, op, n.Value)
	case n.Field == cond.Thread && (op == cond.EQ || op == cond.NE):
		return ops.foldThread(name, op, n.Value)
	}
	return maybe(name)
}

func (ops *Operands) number(f cond.Field) (Value, bool) {
	if ops.Number == nil {
		return Value{}, false
	}
	return ops.Number(f)
}

func (ops *Operands) foldThread(name string, op cond.Op, num uint64) node {
	if !ops.Thread.direct() || ops.ThreadCell == nil {
		return maybe(name)
	}
	cell, ok := ops.ThreadCell(num)
	if !ok {
		return maybe(name)
	}
	t := test{value: At(ops.Thread.U32()), op: op, n: cell, thread: true}
	return node{kind: leaf, test: t, inside: []string{name}}
}

func (ops *Operands) foldCall(n *cond.Call, negate bool) node {
	name := callName(n)
	switch n.Predicate {
	case cond.Kind:
		if ops.Is == nil {
			return maybe(name)
		}
		verdict := ops.Is(n.Arg)
		if verdict == Unknown {
			return maybe(name)
		}
		return decided(name, (verdict == Yes) != negate)
	case cond.Func, cond.Module, cond.Caller, cond.PyFile, cond.Like:
		if ops.Stack == nil {
			return maybe(name)
		}
		v, ok := ops.Stack(n)
		if !ok {
			return maybe(name)
		}
		if negate {
			return foldTest(name, v, cond.LT, 1)
		}
		return foldTest(name, v, cond.GE, 1)
	case cond.Type:
		if ops.Type == nil {
			return maybe(name)
		}
		v, ok := ops.Type(n)
		switch {
		case !ok:
			return maybe(name)
		case v.none():
			return decided(name, negate)
		case negate:
			return foldTest(name, v, cond.NE, 1)
		}
		return foldTest(name, v, cond.GE, 1)
	}
	return maybe(name)
}

// foldTest is the comparison of a value that the function's events have.
func foldTest(name string, v Value, op cond.Op, n uint64) node {
	low, high := v.bounds()
	if verdict := decide(op, n, low, high); verdict != Unknown {
		return decided(name, verdict == Yes)
	}
	narrows, exact := true, true
	if v.Bound == Upper {
		op, narrows = upperTest(op, n)
		narrows, exact = narrows && v.x.form != constant, false
	}
	if narrows && v.product() {
		var whole bool
		op, n, narrows, whole = productTest(op, n)
		narrows, exact = narrows && v.y.factor(), exact && whole
	}
	if !narrows {
		return maybe(name)
	}
	tested := node{kind: leaf, test: test{value: v, op: op, n: n}, inside: []string{name}}
	if !exact {
		tested.outside = []string{name}
	}
	return tested
}

// upperTest is what the test of a number says of an upper bound of it, if anything.
func upperTest(op cond.Op, n uint64) (_ cond.Op, narrows bool) {
	switch op {
	case cond.EQ:
		return cond.GE, n > 0
	case cond.GE, cond.GT:
		return op, true
	}
	return op, false
}

// productTest prepares a test of a product, of which the program knows the
// value below 1<<63 and beyond only that it is not below (see
// generator.product). The test stays whole if that much decides it. If not, it
// narrows to product >= 1<<63 if it holds for no number below, else not at all.
func productTest(op cond.Op, n uint64) (_ cond.Op, _ uint64, narrows, whole bool) {
	const limit = 1 << 63
	switch {
	case n < limit:
		return op, n, true, true
	case op == cond.GE || op == cond.GT || op == cond.EQ:
		return cond.GE, limit, true, false
	}
	return op, n, false, false
}

// decide compares with n a number of which only the bounds are known.
func decide(op cond.Op, n, low, high uint64) Verdict {
	switch op {
	case cond.EQ:
		if n < low || n > high {
			return No
		}
		if low == high {
			return Yes
		}
		return Unknown
	case cond.GE:
		if low >= n {
			return Yes
		}
		if high < n {
			return No
		}
		return Unknown
	case cond.GT:
		if low > n {
			return Yes
		}
		if high <= n {
			return No
		}
		return Unknown
	}
	return decide(inverse(op), n, low, high).not()
}

// inverse is the operator that holds when op does not.
func inverse(op cond.Op) cond.Op {
	switch op {
	case cond.EQ:
		return cond.NE
	case cond.NE:
		return cond.EQ
	case cond.LT:
		return cond.GE
	case cond.LE:
		return cond.GT
	case cond.GT:
		return cond.LE
	default:
		return cond.LT
	}
}

// saturated is x*y, or the greatest number.
func saturated(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

func compareName(n *cond.Compare) string { return n.Field.String() }

// callName is the question as one speaks of it: func(), but kind, which is mostly compared.
func callName(n *cond.Call) string {
	switch n.Predicate {
	case cond.Kind:
		return "kind"
	case cond.ThreadName:
		return "thread name"
	}
	return n.Predicate.String()
}

// names lists what a condition asks about, in order of appearance, without doubles.
func names(n cond.Node) []string {
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for leaf := range cond.Leaves(n) {
		switch n := leaf.(type) {
		case *cond.Compare:
			add(compareName(n))
		case *cond.Call:
			add(callName(n))
		case *cond.Expr:
			add(n.Text)
		}
	}
	return list
}
