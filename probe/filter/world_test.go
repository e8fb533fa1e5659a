package filter

import (
	"slices"

	"hdb/internal/cond"
	"hdb/probe/filter/internal/native"
)

// A world is a layout of all fields and the values of one event.
type world struct {
	*layout
	numbers  map[cond.Field]*number
	kinds    map[string]Verdict
	answers  map[string]bool // of predicates, by what is asked
	verdicts map[string]*number
	thread   slot
	cells    map[uint64]int // offset in the heap by thread number
	choose   choice

	exactOnly bool // what is known at all is known exactly
}

// A number is a field's Value and what it is made of.
type number struct {
	known  bool
	value  Value
	slots  []slot
	actual uint64 // what the event has: at most what the slots hold, if the value is an upper bound
}

func (m *machine) newWorld(choose choice) *world {
	w := &world{
		layout: m.newLayout(), numbers: map[cond.Field]*number{}, kinds: map[string]Verdict{},
		answers: map[string]bool{}, verdicts: map[string]*number{}, cells: map[uint64]int{}, choose: choose,
	}
	w.exactOnly = choose(2) == 0
	for f := cond.Size; f <= cond.Count; f++ {
		w.numbers[f] = w.number(f == cond.Thread && choose(2) == 0)
	}
	for !w.thread.place.direct() {
		w.thread = w.slot(choose)
	}
	w.thread.place = w.thread.place.U32()
	return w
}

func (w *world) number(unknown bool) *number {
	n := &number{known: w.choose(5) > 0 && !unknown}
	if !n.known {
		return n
	}
	switch w.choose(6) {
	case 0:
		n.value = None()
		return n
	case 1:
		n.slots = []slot{w.slot(w.choose), w.slot(w.choose)}
		n.value = Product(n.slots[0].place, n.slots[1].place)
	default:
		n.slots = []slot{w.slot(w.choose)}
		n.value = At(n.slots[0].place)
	}
	if !w.exactOnly && w.choose(3) == 0 {
		n.value = n.value.AtMost()
	}
	return n
}

// operands are the world's, for the compiler.
func (w *world) operands() Operands {
	return Operands{
		Number: func(f cond.Field) (Value, bool) { return w.numbers[f].value, w.numbers[f].known },
		Is: func(name string) Verdict {
			if _, ok := w.kinds[name]; !ok {
				w.kinds[name] = pick(w.choose, []Verdict{Unknown, Yes, No})
			}
			return w.kinds[name]
		},
		Thread: w.thread.place,
		ThreadCell: func(num uint64) (uint64, bool) {
			if num%4 == 3 {
				return 0, false
			}
			if _, ok := w.cells[num]; !ok {
				w.cells[num] = w.cell(w.choose)
			}
			return w.m.address(w.cells[num]), true
		},
		Stack: func(call *cond.Call) (Value, bool) {
			n, ok := w.verdicts[call.String()]
			if !ok {
				n = w.number(false)
				w.verdicts[call.String()] = n
			}
			return n.value, n.known
		},
	}
}

// happen makes up an event and the registers that the program finds there.
// Values are often those that the condition names, or beside them.
func (w *world) happen(constants []uint64) native.Registers {
	regs := w.m.registers(w.choose)
	draw := func() uint64 {
		if w.choose(3) == 0 && len(constants) > 0 {
			return pick(w.choose, constants) + uint64(w.choose(3)) - 1
		}
		return pick(w.choose, edges)
	}
	fill := func(n *number) {
		stored := uint64(1) // what the program finds
		for _, s := range n.slots {
			v := draw()
			s.write(&regs, v)
			stored = saturated(stored, s.read(v))
		}
		switch {
		case !n.known:
			n.actual = draw()
		case n.value.Bound == Upper:
			n.actual = min(draw(), stored)
		default:
			n.actual = stored
		}
	}
	for _, f := range []cond.Field{cond.Size, cond.Addr, cond.Old, cond.Thread, cond.Nth, cond.Live, cond.Blocks, cond.Align, cond.Count} {
		fill(w.numbers[f])
	}
	for name, n := range w.verdicts {
		fill(n)
		w.answers[name] = n.actual != 0
		if !n.known {
			w.answers[name] = w.choose(2) == 0
		}
		if n.known && n.value.none() {
			w.answers[name] = false
		}
	}
	for num, at := range w.cells {
		w.m.store(at, num+1000)
	}
	if !w.numbers[cond.Thread].known {
		num := uint64(w.choose(8))
		w.thread.write(&regs, num+1000)
		w.numbers[cond.Thread].actual = num
	}
	return regs
}

// The world as a condition's environment.

func (w *world) Number(f cond.Field) (uint64, bool) {
	n := w.numbers[f]
	return n.actual, !n.known || !n.value.none()
}

func (w *world) ask(p cond.Predicate, arg string) bool {
	key := (&cond.Call{Predicate: p, Arg: arg}).String()
	if _, ok := w.answers[key]; !ok {
		w.answers[key] = w.choose(2) == 0
	}
	return w.answers[key]
}

func (w *world) Func(pattern string) bool { return w.ask(cond.Func, pattern) }
func (w *world) Module(name string) bool  { return w.ask(cond.Module, name) }
func (w *world) PyFile(name string) bool  { return w.ask(cond.PyFile, name) }
func (w *world) Caller(name string) bool  { return w.ask(cond.Caller, name) }
func (w *world) Like(event string) bool   { return w.ask(cond.Like, event) }
func (w *world) Type(pattern string) bool { return w.ask(cond.Type, pattern) }
func (w *world) ThreadName() string       { return "worker" }

func (w *world) Kind(name string) bool {
	if v := w.kinds[name]; v != Unknown {
		return v == Yes
	}
	return w.ask(cond.Kind, name)
}

// narrowed is what a program should say that uses all that is known exactly:
// the condition, or its negation, with the unknown leaves taken to hold.
func (w *world) narrowed(t tb, n cond.Node, negate bool) bool {
	switch n := n.(type) {
	case *cond.Not:
		return w.narrowed(t, n.X, !negate)
	case *cond.And:
		return w.narrowedTerms(t, n.Terms, negate, negate)
	case *cond.Or:
		return w.narrowedTerms(t, n.Terms, negate, !negate)
	case *cond.Compare:
		v, ok := w.Number(n.Field)
		if !w.numbers[n.Field].known {
			if n.Field != cond.Thread || n.Op != cond.EQ && n.Op != cond.NE || n.Value%4 == 3 {
				return true
			}
		}
		if num := w.numbers[n.Field]; num.known && num.value.product() && (!num.value.y.factor() || n.Value >= 1<<63) {
			return true // not decided, or not always
		}
		return (ok && holds(t, n.Op, v, n.Value)) != negate
	case *cond.Call:
		switch n.Predicate {
		case cond.ThreadName:
			return true
		case cond.Kind:
			return w.kinds[n.Arg] == Unknown || w.Kind(n.Arg) != negate
		}
		num := w.verdicts[n.String()]
		if !num.known || num.value.product() && !num.value.y.factor() {
			return true
		}
		return w.ask(n.Predicate, n.Arg) != negate
	}
	t.Fatalf("node %T", n)
	return false
}

func (w *world) narrowedTerms(t tb, terms []cond.Node, negate, any bool) bool {
	return slices.ContainsFunc(terms, func(x cond.Node) bool { return w.narrowed(t, x, negate) == any }) == any
}

// check compiles the condition for w and compares what its program says of
// events with what cond says.
func (w *world) check(t tb, c *cond.Cond, events int) {
	t.Helper()
	ops := w.operands()
	p := Compile(c.Root(), ops)
	w.m.put(t, p)
	if len(p.Code) > maxCode {
		t.Errorf("%s has %d bytes of code", c, len(p.Code))
	}
	large := p.Always && ops.fold(c.Root(), false).kind != always
	constants := numbersOf(c.Root(), nil)
	for range events {
		regs := w.happen(constants)
		got, want := w.m.run(t, regs), c.Eval(w)
		switch {
		case want && !got:
			t.Fatalf("%s holds and is rejected\n% x", c, p.Code)
		case p.Exact && got != want:
			t.Fatalf("%s does not hold and is let through, by an exact program\n% x", c, p.Code)
		case p.Never && got, p.Always && !got:
			t.Fatalf("%s: match is %t, never %t, always %t", c, got, p.Never, p.Always)
		case w.exactOnly && got && !large && !w.narrowed(t, c.Root(), false):
			t.Fatalf("%s is let through, but what is known rejects it\n% x", c, p.Code)
		}
	}
}
