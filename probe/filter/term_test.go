package filter

import (
	"testing"

	"hdb/internal/cond"
)

// placed is a place of a test with what it holds.
type placed struct {
	place Place
	store func(v uint64)
	held  uint64
}

// value is the number that a check finds there, extended to 64 bits.
func (p *placed) value(signed bool) uint64 {
	w := p.place.width
	v := p.held & w.max()
	if signed && w < bits64 && v > w.max()>>1 {
		v |= ^w.max()
	}
	return v
}

// check is a random comparison, and what it says.
func (p *placed) check(choose choice) (Term, func() bool) {
	c := Check{Place: p.place, Signed: choose(2) == 0, Op: pick(choose, []cond.Op{cond.EQ, cond.NE, cond.LT, cond.LE, cond.GT, cond.GE})}
	c.N = pick(choose, edges) + uint64(choose(3)) - 1
	if choose(2) == 0 {
		c.N = uint64(int64(int8(choose(256))))
	}
	return Term{Kind: Compared, Check: c}, func() bool {
		v := p.value(c.Signed)
		if c.Signed { // compares as numbers with a sign do
			return holdsSigned(c.Op, int64(v), int64(c.N))
		}
		return c.Op.Holds(v, c.N)
	}
}

// holdsSigned compares numbers with a sign.
func holdsSigned(op cond.Op, v, n int64) bool { return op.Holds(uint64(v)^1<<63, uint64(n)^1<<63) }

// A truth is what an evaluation of a term from left to right comes to.
type truth int

const (
	no truth = iota
	yes
	open // it came to a part that cannot be decided
)

// randomTerm is a term of any depth, and what it says of what the places hold.
func randomTerm(choose choice, places []*placed, depth int, undecided bool) (Term, func() truth) {
	switch kind := choose(8); {
	case depth == 0 && undecided && choose(4) == 0:
		return Term{}, func() truth { return open }
	case depth == 0 || kind == 0:
		term, holds := pick(choose, places).check(choose)
		return term, func() truth {
			if holds() {
				return yes
			}
			return no
		}
	case kind == 1:
		inner, of := randomTerm(choose, places, depth-1, undecided)
		return Term{Kind: Not, Terms: []Term{inner}}, func() truth {
			if v := of(); v != open {
				return yes - v
			}
			return open
		}
	default:
		t := Term{Kind: AllOf}
		decisive := no
		if kind%2 == 0 {
			t.Kind, decisive = AnyOf, yes
		}
		var all []func() truth
		for range 2 + choose(2) {
			inner, of := randomTerm(choose, places, depth-1, undecided)
			t.Terms, all = append(t.Terms, inner), append(all, of)
		}
		return t, func() truth {
			for _, of := range all {
				if v := of(); v == decisive || v == open {
					return v
				}
			}
			return yes - decisive
		}
	}
}

// TestTerms runs random terms over places of all forms and widths.
func TestTerms(t *testing.T) {
	m := newMachine(t)
	choose := random(7)
	r := m.registers(choose)
	var places []*placed
	add := func(p Place, store func(v uint64)) {
		places = append(places, &placed{place: pick(choose, []Place{p, p.U32(), p.U16(), p.U8()}), store: store})
	}
	at := 0
	cell := func() (uint64, func(uint64)) {
		at += 24
		here := middle + at
		return m.address(here), func(v uint64) { m.store(here, v) }
	}
	for range 2 {
		for _, reg := range free {
			add(Reg(reg), func(v uint64) { r.R[reg] = v })
		}
	}
	for range 4 {
		for _, base := range bases {
			a, store := cell()
			add(Mem(base, int32(a-m.address(middle))), store)
		}
		a, store := cell()
		add(Near(a), store)
	}
	seen := map[truth]int{}
	rejected, exact := 0, 0
	for round := range 4000 {
		undecided := round%2 == 0
		term, says := randomTerm(choose, places, choose(4), undecided)
		p := Compile(&cond.Expr{Text: "x"}, Operands{Expr: func(*cond.Expr) Term { return term }})
		if !p.Never && !p.Always {
			m.put(t, p)
		}
		for range 8 {
			for _, x := range places { // two places may share a register: the last store counts for both
				v := pick(choose, edges) + uint64(choose(3)) - 1
				if choose(2) == 0 {
					v = uint64(int64(int8(choose(256))))
				}
				x.held = v
				x.store(v)
			}
			for _, x := range places {
				if x.place.form == inRegister {
					x.held = r.R[x.place.reg]
				}
			}
			want := says()
			got := p.Always || !p.Never && m.run(t, r)
			seen[want]++
			switch {
			case want != no && !got:
				t.Fatalf("%+v rejects what may hold", term)
			case p.Exact && (want == yes) != got:
				t.Fatalf("%+v: %v, want %v", term, got, want == yes)
			}
			if !got {
				rejected++
			}
			if p.Exact {
				exact++
			}
		}
	}
	if seen[no] < 2000 || seen[yes] < 2000 || seen[open] < 2000 || rejected < 2000 || exact < 2000 {
		t.Errorf("%v, %d rejected, %d by exact programs", seen, rejected, exact)
	}
}
