package cond

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// A Node is one of *And, *Or, *Not, *Compare, *Call and *Expr.
type Node interface {
	fmt.Stringer
	children() []Node
}

// And holds when all its terms do. It has two terms at least, none an *And.
type And struct{ Terms []Node }

// Or holds when any of its terms does. It has two terms at least, none an *Or.
type Or struct{ Terms []Node }

// Not holds when X does not. Where X compares a value that the stop has not got, neither
// of them holds.
type Not struct{ X Node }

// Compare relates a field of the stop to a number. It does not hold when the stop has none.
type Compare struct {
	Field Field
	Op    Op
	Value uint64
	Col   int // column of the field's name, 1-based
}

// Call asks a predicate about a name.
type Call struct {
	Predicate Predicate
	Arg       string // a glob: * represents any text
	Col       int    // column of the predicate's name, 1-based
}

// Expr is a term in the language of the program, which a debugger evaluates in a frame of
// it: it holds when its value is not zero.
type Expr struct {
	Text string // without spaces around it
	Col  int    // column of its first character, 1-based
}

// An Op is a comparison of unsigned numbers.
type Op uint8

// The comparisons.
const (
	EQ Op = iota
	NE
	LT
	LE
	GT
	GE
)

var opText = [...]string{EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="}

// String is the operator as typed.
func (o Op) String() string { return opText[o] }

// mirror is the operator that holds with the operands exchanged.
func (o Op) mirror() Op {
	switch o {
	case LT:
		return GT
	case LE:
		return GE
	case GT:
		return LT
	case GE:
		return LE
	}
	return o
}

// not is the operator that holds when o does not.
func (o Op) not() Op { return [...]Op{EQ: NE, NE: EQ, LT: GE, LE: GT, GT: LE, GE: LT}[o] }

// Holds applies the comparison.
func (o Op) Holds(x, y uint64) bool {
	switch o {
	case EQ:
		return x == y
	case NE:
		return x != y
	case LT:
		return x < y
	case LE:
		return x <= y
	case GT:
		return x > y
	default:
		return x >= y
	}
}

func (n *And) children() []Node     { return n.Terms }
func (n *Or) children() []Node      { return n.Terms }
func (n *Not) children() []Node     { return []Node{n.X} }
func (n *Compare) children() []Node { return nil }
func (n *Call) children() []Node    { return nil }
func (n *Expr) children() []Node    { return nil }

// String joins the terms with &&.
func (n *And) String() string { return join(n.Terms, " && ") }

// String joins the terms with ||.
func (n *Or) String() string { return join(n.Terms, " || ") }

// String puts ! before the term; a name comparison becomes a != instead.
func (n *Not) String() string {
	if call, ok := n.X.(*Call); ok {
		if call.Predicate == Kind || call.Predicate == Domain || call.Predicate == ThreadName {
			return call.text(" != ")
		}
		return "!" + call.String()
	}
	if _, ok := n.X.(*Not); ok {
		return "!" + n.X.String()
	}
	return "!(" + n.X.String() + ")"
}

// String is the comparison with sizes in the largest binary unit that fits.
func (n *Compare) String() string {
	return n.Field.String() + " " + n.Op.String() + " " + formatNumber(n.Field, n.Value)
}

// String is the expression as typed.
func (n *Expr) String() string { return n.Text }

// String is func("name"), or kind == name.
func (n *Call) String() string { return n.text(" == ") }

func (n *Call) text(op string) string {
	switch n.Predicate {
	case ThreadName:
		return n.Predicate.word() + op + quote(n.Arg)
	case Kind, Domain:
		if isIdentifier(n.Arg) {
			return n.Predicate.word() + op + n.Arg
		}
		return n.Predicate.word() + op + quote(n.Arg)
	default:
		return n.Predicate.word() + "(" + quote(n.Arg) + ")"
	}
}

// join prints the terms, with parentheses where a term binds looser than sep.
func join(terms []Node, sep string) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(sep)
		}
		if _, ok := t.(*Or); ok {
			b.WriteString("(" + t.String() + ")")
		} else {
			b.WriteString(t.String())
		}
	}
	return b.String()
}

// Leaves are the comparisons, calls and expressions of a condition, whatever joins them.
func Leaves(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { leaves(n, yield) }
}

func leaves(n Node, yield func(Node) bool) (more bool) {
	among := func(t Node) bool { return leaves(t, yield) }
	switch n := n.(type) {
	case nil:
		return true
	case *And:
		return !slices.ContainsFunc(n.Terms, func(t Node) bool { return !among(t) })
	case *Or:
		return !slices.ContainsFunc(n.Terms, func(t Node) bool { return !among(t) })
	case *Not:
		return among(n.X)
	}
	return yield(n)
}
