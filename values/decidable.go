package values

import (
	"errors"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind"
)

// A Decidable is what the registers and the memory at a place in the code say of a
// condition, for code that asks them there. The zero Decidable says nothing.
type Decidable struct {
	Op    string      // "&&", "||", "!", "" nothing, or a comparison: "==", "!=", "<", "<=", ">", ">="
	Parts []Decidable // of "&&" and "||" two, of "!" one
	Spot  Spot        // of a comparison: what is compared
	With  uint64      // with which number
}

// A Spot is where a number is whenever a thread is at a place in the code.
type Spot struct {
	Kind   SpotKind
	Reg    unwind.Reg
	Disp   int64
	Addr   addr.Run
	Size   int  // in bytes: 1, 2, 4 or 8
	Signed bool // and what it is compared with has a sign, too
}

// A SpotKind says what counts in a Spot.
type SpotKind uint8

// The kinds of spots.
const (
	InRegister SpotKind = iota // the low bytes of Reg
	OnStack                    // in memory at Reg + Disp, in the frame or among its arguments on the stack
	Pointed                    // in memory at Reg + Disp, of which nothing else is known
	Static                     // in memory at Addr
)

// A CFARule is how the CFA is found at a place in the code: a register plus an offset.
type CFARule struct {
	Reg    unwind.Reg
	Offset int64
}

// Decide tells what registers and memory at the frame's PC, of which nothing else is known,
// say of an expression. Values that other memory or another frame has are not decided.
//
// The expression is computed with registers that have numbers of their own, and without
// memory: where a value lies tells by which register it was found. It is done twice with
// other numbers, so that a value at a place computed in another way is none that is known.
func (w *World) Decide(f *Frame, cfa CFARule, src string) (d Decidable) {
	e := w.evaluator(f)
	n, err := e.parse(src)
	if err != nil {
		return Decidable{}
	}
	dc := &decider{w: w, f: f, cfa: cfa}
	was := w.Program
	words := w.Words
	defer func() { w.Mem, w.TLS, w.Note, w.Lookup, w.Words = was.Mem, was.TLS, was.Note, was.Lookup, words }()
	w.Mem, w.TLS, w.Note, w.Words = noMemory{}, nil, nil, nil
	if was.Lookup != nil {
		w.Lookup = func(name string, global bool) (addr.Run, bool, bool) {
			at, code, ok := was.Lookup(name, global)
			dc.symbols = dc.symbols || ok
			return at, code, ok
		}
	}
	return dc.decide(n)
}

type decider struct {
	w       *World
	f       *Frame
	cfa     CFARule
	symbols bool // a symbol without a type, or of a thread's own, was found
}

var errNoMemory = errors.New("memory is not read")

// noMemory has none.
type noMemory struct{}

func (noMemory) ReadAt([]byte, int64) (int, error) { return 0, errNoMemory }

// mark is what a register has in one of the two rounds: numbers that are far from each other and
// from all addresses.
func mark(reg unwind.Reg, round uint64) uint64 {
	return (uint64(reg)+1)<<52 + (uint64(reg)+3)<<(36*round)
}

// frame is the frame with marks in its registers.
func (d *decider) frame(round uint64) *Frame {
	f := &Frame{Module: d.f.Module, PC: d.f.PC, Inlined: d.f.Inlined}
	for r := unwind.RAX; r < unwind.RIP; r++ {
		f.Regs.Set(r, mark(r, round))
	}
	f.CFA = addr.Run(mark(d.cfa.Reg, round) + uint64(d.cfa.Offset))
	return f
}

func (d *decider) decide(n *node) Decidable {
	switch n.op {
	case "&&", "||":
		return Decidable{Op: n.op, Parts: []Decidable{d.decide(n.a), d.decide(n.b)}}
	case nodeUnary:
		if n.text == "!" {
			return Decidable{Op: "!", Parts: []Decidable{d.decide(n.a)}}
		}
	case "==", "!=", "<", "<=", ">", ">=":
		if c, ok := d.constant(n.b); ok {
			return d.comparison(n.op, n.a, c)
		}
		if c, ok := d.constant(n.a); ok {
			return d.comparison(mirrored[n.op], n.b, c)
		}
		return Decidable{}
	}
	return d.comparison("!=", n, Number(d.w.cType("int"), 0))
}

// mirrored are the comparisons with their sides exchanged.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// constant is the value of an expression that is always the same: it names no variables.
func (d *decider) constant(n *node) (Value, bool) {
	if !d.isConstant(n) {
		return Value{}, false
	}
	v, err := d.w.evaluator(d.frame(0)).eval(n)
	if err != nil || v.place != nowhere || v.err != nil || !v.Type.isInteger() && v.Type.Strip().Kind != Pointer || v.Type.Size() > 8 {
		return Value{}, false
	}
	return v, true
}

func (d *decider) isConstant(n *node) bool {
	switch n.op {
	case nodeNumber, nodeChar:
		return true
	case nodeName:
		if n.text == "true" || n.text == "false" {
			return true // unless it is a variable, which lies somewhere
		}
		l := d.w.evaluator(d.frame(0))
		if l.localEntry(n.text).Valid() {
			return false
		}
		b, err := l.bound(n.text, false, false)
		if b.m == nil && err == nil {
			b, err = l.bound(n.text, false, true)
		}
		return err == nil && b.m != nil && b.e.Tag() == dwarf.TagEnumerator
	case nodeUnary:
		return (n.text == "-" || n.text == "+" || n.text == "~") && d.isConstant(n.a)
	case nodeCast:
		return n.text == "" && d.isConstant(n.a)
	case "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>":
		return d.isConstant(n.a) && d.isConstant(n.b)
	}
	return false
}

// comparison is op between the value of an expression and a constant.
func (d *decider) comparison(op string, n *node, c Value) Decidable {
	s, t, ok := d.spot(n)
	if !ok {
		return Decidable{}
	}
	with, err := d.w.Uint(c)
	if err != nil {
		return Decidable{}
	}
	if t.Strip().Kind == Pointer {
		return Decidable{Op: op, Spot: s, With: with}
	}
	if c.Type.Strip().Kind == Pointer {
		return Decidable{}
	}
	// Both are compared as what they are if the type that they are converted to has all their values.
	negative := c.Type.isSigned() && int64(with) < 0
	common := d.w.evaluator(d.frame(0)).ops.promote(t, c.Type)
	s.Signed = t.isSigned()
	switch {
	case common.isSigned() && (s.Signed || common.Size() > t.Size()):
		if negative && !s.Signed {
			return Decidable{} // seldom, and known without a test
		}
	case !common.isSigned() && !s.Signed && !negative:
	default:
		return Decidable{}
	}
	if s.Signed && !c.Type.isSigned() && int64(with) < 0 {
		return Decidable{} // no number of 64 bits with a sign
	}
	return Decidable{Op: op, Spot: s, With: with}
}

// spot is where the number lies that an expression is.
func (d *decider) spot(n *node) (Spot, *Type, bool) {
	first, t, ok := d.seen(n, 0)
	second, _, again := d.seen(n, 1)
	return first, t, ok && again && first == second
}

// seen is the spot in one round.
func (d *decider) seen(n *node, round uint64) (s Spot, t *Type, ok bool) {
	f := d.frame(round)
	d.symbols = false
	v, err := d.w.evaluator(f).eval(n)
	if err != nil || d.symbols || v.err != nil || v.lost != nil || v.bits > 0 || v.synthetic() || v.Type.untyped {
		return s, nil, false
	}
	t = v.Type
	s.Size = int(t.Size())
	switch k := t.Strip().Kind; {
	case k != Pointer && !t.isInteger():
		return s, nil, false
	case s.Size != 1 && s.Size != 2 && s.Size != 4 && s.Size != 8:
		return s, nil, false
	}
	switch v.place {
	case inRegister:
		s.Kind, s.Reg = InRegister, v.reg
		return s, t, v.frame == f && v.regOff == 0 && v.reg < unwind.RIP
	case inMemory:
		return s, t, v.data == nil && d.place(&s, v.addr, n.op == nodeName, round)
	}
	return s, nil, false
}

const (
	// frameBelow is how far below the CFA other things than variables may be taken for
	// the frame's, and argumentsAbove how far above it arguments on the stack are.
	frameBelow     = 4096
	argumentsAbove = 256
	// farthest is how far from a register a spot may be.
	farthest = 1 << 30
)

// place finds by which register a place in memory was found.
func (d *decider) place(s *Spot, a addr.Run, variable bool, round uint64) bool {
	if a < 1<<48 {
		s.Kind, s.Addr = Static, a
		return true
	}
	s.Reg = unwind.Reg((uint64(a)+1<<51)>>52 - 1)
	if s.Reg >= unwind.RIP {
		return false
	}
	s.Disp = int64(uint64(a) - mark(s.Reg, round))
	if s.Disp < -farthest || s.Disp > farthest {
		return false
	}
	s.Kind = Pointed
	toCFA := s.Disp - d.cfa.Offset
	switch low := int64(-frameBelow); {
	case s.Reg == unwind.RSP && d.cfa.Reg == unwind.RSP:
		if s.Disp >= -addr.RedZone && toCFA < argumentsAbove {
			s.Kind = OnStack
		}
	case s.Reg == unwind.RBP && d.cfa.Reg == unwind.RBP:
		if (variable || toCFA >= low) && toCFA < argumentsAbove {
			s.Kind = OnStack
		}
	}
	return true
}
