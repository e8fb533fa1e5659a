package filter

import "hdb/internal/cond"

// A generator writes the code of a tree of tests.
type generator struct{ assembler }

// generate makes the code of a tree that is neither always nor never, and the
// offsets of its jumps to match, and what refers to memory nearby.
func generate(n node) (code []byte, matches []int, refs []reference) {
	var g generator
	g.branch(n, true, match)
	return g.link()
}

// branch jumps to a label if the outcome of the node, which is neither always
// nor never, is want, and else falls through.
func (g *generator) branch(n node, want bool, to label) {
	if n.kind == leaf {
		g.leaf(n.test, want, to)
		return
	}
	// The outcome that one term alone brings about.
	decisive := n.kind == disjunction
	if want == decisive {
		for _, t := range n.terms {
			g.branch(t, want, to)
		}
		return
	}
	other := g.newLabel()
	last := len(n.terms) - 1
	for _, t := range n.terms[:last] {
		g.branch(t, decisive, other)
	}
	g.branch(n.terms[last], want, to)
	g.put(other)
}

// leaf jumps to a label if the test's outcome is want.
func (g *generator) leaf(t test, want bool, to label) {
	end := g.newLabel()
	yes, no := to, end
	if !want {
		yes, no = end, to
	}
	switch {
	case t.thread:
		g.moveNumber(scratch, t.n)
		g.load(scratch, scratchMemory(bits32))
		g.compareWith(t.value.x, scratch)
	case t.value.product():
		g.product(t, yes, no)
	case t.value.x.form == inCell:
		g.cell(t, yes, no)
	case fits(t.n, t.value.x.width):
		g.compareNumber(t.value.x, t.n)
	default:
		g.moveNumber(scratch, t.n)
		g.compareWith(t.value.x, scratch)
	}
	c := condition(t.op)
	if t.signed {
		c = signedCondition(t.op)
	}
	if !want {
		c ^= ccInvert
	}
	g.jump(c, to)
	g.put(end)
}

// condition is what holds after a cmp of unsigned numbers when op does.
func condition(op cond.Op) cc {
	switch op {
	case cond.EQ:
		return ccEqual
	case cond.NE:
		return ccNotEqual
	case cond.LT:
		return ccBelow
	case cond.LE:
		return ccBelowEqual
	case cond.GT:
		return ccAbove
	default:
		return ccAboveEqual
	}
}

// signedCondition is condition for numbers with a sign.
func signedCondition(op cond.Op) cc {
	switch op {
	case cond.LT:
		return ccLess
	case cond.LE:
		return ccLessEqual
	case cond.GT:
		return ccGreater
	case cond.GE:
		return ccGreaterEqual
	}
	return condition(op)
}

// cell leaves the flags of comparing a cell, or jumps to the outcome.
func (g *generator) cell(t test, yes, no label) {
	w := t.value.x.width
	g.moveNumber(scratch, t.value.x.n)
	if fits(t.n, w) {
		g.compareNumber(scratchMemory(w), t.n)
		return
	}
	g.load(scratch, scratchMemory(w))
	g.compareScratch(t.op, t.n, yes, no)
}

// product leaves the flags of comparing x*y, or jumps to the outcome.
//
// The unsigned product would be in rdx:rax, which hold arguments and results.
// The signed one is the same while it is below 1<<63. Else, unless a factor is
// 0, either both factors have the sign bit, or the signed product overflows, or
// it is negative: as unsigned number it is not below 1<<63 either, which is all
// that the tests productTest lets pass want to know.
func (g *generator) product(t test, yes, no label) {
	large := no
	if t.op == cond.GE || t.op == cond.GT || t.op == cond.NE {
		large = yes
	}
	switch x := t.value.x; x.form {
	case constant:
		g.moveNumber(scratch, x.n)
	case inCell:
		g.moveNumber(scratch, x.n)
		g.load(scratch, scratchMemory(x.width))
	default:
		g.load(scratch, x)
	}
	g.testWith(t.value.y, scratch)
	g.jump(ccSign, large)
	g.multiply(scratch, t.value.y)
	g.jump(ccOverflow, large)
	g.compareScratch(t.op, t.n, yes, no)
}

// compareScratch leaves the flags of comparing the scratch register with any
// number, or jumps to the outcome. A number that is no immediate is compared
// by halves, because no other register is free.
func (g *generator) compareScratch(op cond.Op, n uint64, yes, no label) {
	whole := scratchRegister(bits64)
	if fits(n, bits64) {
		g.compareNumber(whole, n)
		return
	}
	half := scratchRegister(bits32)
	g.rotateRight(whole, 32)
	g.compareNumber(half, n>>32)
	switch op {
	case cond.EQ:
		g.jump(ccNotEqual, no)
	case cond.NE:
		g.jump(ccNotEqual, yes)
	case cond.LT, cond.LE:
		g.jump(ccBelow, yes)
		g.jump(ccAbove, no)
	default:
		g.jump(ccAbove, yes)
		g.jump(ccBelow, no)
	}
	g.shiftRight(whole, 32)
	g.compareNumber(half, n&bits32.max())
}

// scratchRegister is the scratch register, or its low part.
func scratchRegister(w width) Place { return Place{form: inRegister, reg: scratch, width: w} }

// scratchMemory is what the scratch register points to.
func scratchMemory(w width) Place { return Place{form: inMemory, reg: scratch, width: w} }
