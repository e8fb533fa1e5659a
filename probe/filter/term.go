package filter

import (
	"hdb/internal/cond"
)

// A Term is what can be decided of a term of the program's language. The zero Term is one
// that may hold.
type Term struct {
	Kind  TermKind
	Check Check  // of Compared
	Terms []Term // of AllOf and AnyOf, in their order; of Not the one
}

// A TermKind says how a Term is made.
type TermKind uint8

// The kinds.
const (
	Undecided TermKind = iota
	Compared
	AllOf // a && b
	AnyOf // a || b
	Not
)

// A Check compares the number at a place, which has the place's width, with another. The
// code for it changes the flags only.
type Check struct {
	Place  Place // Reg, Mem or Near
	Signed bool  // the place has a number with a sign, and so N, as int64, is one
	Op     cond.Op
	N      uint64
}

// fold makes the node of a term or of its negation. What follows a part that may be
// unreadable does not count, as it would not be asked then: the error is to be seen.
func (t Term) fold(name string, negate bool) node {
	switch t.Kind {
	case Compared:
		return t.Check.fold(name, negate)
	case Not:
		return t.Terms[0].fold(name, !negate)
	case AllOf, AnyOf:
		var nodes []node
		for _, x := range t.Terms {
			n := x.fold(name, negate)
			nodes = append(nodes, n)
			if n.outside != nil {
				break
			}
		}
		if len(nodes) < len(t.Terms) {
			nodes = append(nodes, maybe(name))
		}
		return join(nodes, (t.Kind == AnyOf) != negate)
	}
	return maybe(name)
}

// fold makes the node of a comparison or of its negation.
func (c Check) fold(name string, negate bool) node {
	op := c.Op
	if negate {
		op = inverse(op)
	}
	low, high := c.Place.bounds()
	n, flip := c.N, uint64(0)
	if c.Signed {
		flip = 1 << 63 // so that numbers with a sign compare as those without
		low, high = -(high>>1)-1, high>>1
	}
	if verdict := decide(op, n^flip, low^flip, high^flip); verdict != Unknown {
		return decided(name, verdict == Yes)
	}
	if n &= c.Place.width.max(); !fits(n, c.Place.width) {
		return maybe(name)
	}
	return node{kind: leaf, test: test{value: At(c.Place), op: op, n: n, signed: c.Signed}, inside: []string{name}}
}
