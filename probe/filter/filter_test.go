package filter

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hdb/internal/cond"
	"hdb/probe/filter/internal/native"
)

var allOps = []cond.Op{cond.EQ, cond.NE, cond.LT, cond.LE, cond.GT, cond.GE}

// size is a layout's only field.
func size(v Value) Operands {
	return Operands{Number: func(cond.Field) (Value, bool) { return v, true }}
}

// TestComparisons has each operator with all edges, for each form of place.
func TestComparisons(t *testing.T) {
	m := newMachine(t)
	cell := func(_ *native.Registers, v uint64) { m.store(middle, v) }
	forms := []slot{
		{Reg(RDI), func(r *native.Registers, v uint64) { r.R[RDI] = v }},
		{Reg(R9), func(r *native.Registers, v uint64) { r.R[R9] = v }},
		{Mem(RSP, 8), func(r *native.Registers, v uint64) { r.Stack = v }},
		{Mem(R10, 0), cell},
		{Mem(R13, 0), cell},
		{Abs(m.address(middle)), cell},
	}
	regs := m.registers(random(1))
	for _, wide := range forms {
		for _, s := range []slot{wide, {wide.place.U32(), wide.write}, {wide.place.U8(), wide.write}} {
			for _, op := range allOps {
				for _, n := range edges {
					p := Compile(&cond.Compare{Field: cond.Size, Op: op, Value: n}, size(At(s.place)))
					if !p.Exact {
						t.Fatalf("%+v %s %#x is not exact", s.place, op, n)
					}
					m.put(t, p)
					for _, v := range edges {
						s.write(&regs, v)
						if got, want := m.run(t, regs), holds(t, op, s.read(v), n); got != want {
							t.Fatalf("%+v: %#x %s %#x is %t\n% x", s.place, v, op, n, got, p.Code)
						}
					}
				}
			}
		}
	}
}

// TestProducts has calloc's size, exact up to the numbers that no size has.
func TestProducts(t *testing.T) {
	m := newMachine(t)
	for _, place := range []Place{Reg(RDI), Mem(RSP, 8), Abs(m.address(middle)), Reg(RDI).U32()} {
		for _, op := range allOps {
			for _, n := range edges {
				p := Compile(&cond.Compare{Field: cond.Size, Op: op, Value: n}, size(Product(place, Reg(RSI))))
				if !p.Exact && n < 1<<63 {
					t.Fatalf("%s %#x is not exact", op, n)
				}
				m.put(t, p)
				checkProduct(t, m, p, place, op, n)
			}
		}
	}
}

func checkProduct(t *testing.T, m *machine, p Program, place Place, op cond.Op, n uint64) {
	t.Helper()
	regs := m.registers(random(1))
	for _, x := range edges {
		regs.R[RDI], regs.Stack = x, x
		m.store(middle, x)
		for _, y := range edges {
			regs.R[RSI] = y
			got, want := m.run(t, regs), holds(t, op, saturated(x&place.width.max(), y), n)
			if want && !got || p.Exact && got != want {
				t.Fatalf("%+v: %#x * %#x %s %#x is %t\n% x", place, x, y, op, n, got, p.Code)
			}
		}
	}
}

func TestConstants(t *testing.T) {
	for _, c := range []struct{ x, y, want uint64 }{{3, 5, 15}, {1 << 32, 1 << 32, 1<<64 - 1}, {0, 1 << 63, 0}} {
		p := Compile(&cond.Compare{Field: cond.Size, Op: cond.EQ, Value: c.want}, size(Product(Const(c.x), Const(c.y))))
		if !p.Always || !p.Exact {
			t.Errorf("%#x * %#x == %#x is %+v", c.x, c.y, c.want, p)
		}
	}
	for _, c := range []struct {
		place Place
		want  uint64
	}{{Const(0x12345678_9abcdef0).U32(), 0x9abcdef0}, {Const(0x1ff).U8(), 0xff}} {
		if p := Compile(&cond.Compare{Field: cond.Size, Op: cond.EQ, Value: c.want}, size(At(c.place))); !p.Always || !p.Exact {
			t.Errorf("%+v == %#x is %+v", c.place, c.want, p)
		}
	}
	two := Product(Abs(0x1000), Reg(RSI).U32())
	if p := Compile(&cond.Compare{Field: cond.Size, Op: cond.GE, Value: 5}, size(two)); !p.Always || p.Exact {
		t.Errorf("a product without a whole register is %+v", p)
	}
	if v := Product(Place{}, Reg(RSI)); !v.none() {
		t.Errorf("a product of nothing is %+v", v)
	}
}

// numbersOf lists the constants of a condition.
func numbersOf(n cond.Node, list []uint64) []uint64 {
	switch n := n.(type) {
	case *cond.Not:
		return numbersOf(n.X, list)
	case *cond.And:
		for _, t := range n.Terms {
			list = numbersOf(t, list)
		}
	case *cond.Or:
		for _, t := range n.Terms {
			list = numbersOf(t, list)
		}
	case *cond.Compare:
		list = append(list, n.Value)
	}
	return list
}

// conditionText makes up a condition of limited depth.
func conditionText(choose choice, depth int) string {
	if depth > 0 {
		switch choose(4) {
		case 0:
			return "!(" + conditionText(choose, depth-1) + ")"
		case 1, 2:
			terms := make([]string, 2+choose(3))
			for i := range terms {
				terms[i] = "(" + conditionText(choose, depth-1) + ")"
			}
			return strings.Join(terms, pick(choose, []string{" && ", " || "}))
		}
	}
	if choose(4) == 0 {
		return fmt.Sprintf(pick(choose, []string{`func("f%d")`, `module("m%d")`, `caller("c%d")`, `kind("k%d")`, `thread == "worker%d"`}), choose(3))
	}
	f := cond.Field(choose(int(cond.Count) + 1))
	n := pick(choose, edges)
	if f == cond.Thread {
		n = uint64(choose(8))
	}
	return fmt.Sprintf("%s %s %d", f, pick(choose, allOps), n)
}

func parse(t tb, text string) *cond.Cond {
	t.Helper()
	c, err := cond.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func TestNarrowing(t *testing.T) {
	m := newMachine(t)
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		text := conditionText(choose, 1+choose(4))
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range uint64(20) {
			m.newWorld(random(seed+i)).check(t, parse(t, text), 20)
		}
	})
}

// TestAny has several conditions at one point.
func TestAny(t *testing.T) {
	m := newMachine(t)
	rapid.Check(t, func(t *rapid.T) {
		choose := random(rapid.Uint64().Draw(t, "seed"))
		w := m.newWorld(choose)
		var conds []*cond.Cond
		var programs []Program
		var constants []uint64
		for range choose(4) {
			c := parse(t, conditionText(choose, choose(3)))
			conds, constants = append(conds, c), numbersOf(c.Root(), constants)
			programs = append(programs, Compile(c.Root(), w.operands()))
		}
		p := Any(programs...)
		for range 50 {
			regs := w.happen(constants)
			anyMatch, anyHolds := false, false
			for i, c := range conds {
				m.put(t, programs[i])
				anyMatch = anyMatch || m.run(t, regs)
				anyHolds = anyHolds || c.Eval(w)
			}
			m.put(t, p)
			got := m.run(t, regs)
			if got != anyMatch || p.Exact && got != anyHolds || p.Never && got || p.Always && !got {
				t.Fatalf("any of %v is %t, want %t; %t hold", conds, got, anyMatch, anyHolds)
			}
		}
	})
}

// entry is the operands at the entry of malloc, calloc or free, much as the engine gives them.
func entry(name string) Operands {
	fields := map[cond.Field]Value{
		cond.Nth: At(Mem(R10, 16)), cond.Live: At(Abs(0x7f0000001000)).AtMost(), cond.Old: None(), cond.Align: None(), cond.Count: None(),
	}
	switch name {
	case "malloc":
		fields[cond.Size] = At(Reg(RDI))
	case "calloc":
		fields[cond.Size], fields[cond.Count] = Product(Reg(RDI), Reg(RSI)), At(Reg(RDI))
	case "free":
		fields[cond.Addr] = At(Reg(RDI))
	}
	return Operands{
		Number: func(f cond.Field) (Value, bool) { v, ok := fields[f]; return v, ok },
		Is: func(pattern string) Verdict {
			if cond.Match(pattern, name) {
				return Yes
			}
			return No
		},
		Thread:     Mem(R10, 8),
		ThreadCell: func(num uint64) (uint64, bool) { return 0x7f0000002000 + 4*num, true },
	}
}

// TestDecided has conditions that need no code, or lose a part, and what
// Describe says of them.
func TestDecided(t *testing.T) {
	for _, c := range []struct{ function, text, want string }{
		{"malloc", "size >= 1MiB", "exact, size in"},
		{"malloc", "size >= 0", "exact, always, size in"},
		{"malloc", "size < 0", "exact, never, size in"},
		{"malloc", "size > 0xffffffffffffffff", "exact, never, size in"},
		{"malloc", "kind == malloc", "exact, always, kind in"},
		{"malloc", "kind == calloc && func(x)", "exact, never, kind in"},
		{"malloc", "kind != calloc && size > 5", "exact, kind size in"},
		{"malloc", "kind == malloc || func(x)", "exact, always, kind in"},
		{"malloc", "kind == calloc || func(x)", "always, kind in, func() out"},
		{"malloc", "count > 5", "exact, never, count in"},
		{"malloc", "!(count > 5)", "exact, never, count in"},
		{"calloc", "count > 5 && size > 100", "exact, count size in"},
		{"calloc", "size == 0xffffffffffffffff", "size in, size out"},
		{"calloc", "size != 0xffffffffffffffff", "always, size out"},
		{"free", "size >= 1MiB && addr == 0x1000", "addr in, size out"},
		{"malloc", "addr == 0x1000", "always, addr out"},
		{"malloc", "size >= 64k && func(x) && module(y)", "size in, func() module() out"},
		{"malloc", "!(size < 10 || func(x))", "size in, func() out"},
		{"malloc", "size > 1 || func(x)", "always, size func() out"},
		{"malloc", "(size > 1 || func(x)) && thread == 3", "thread in, size func() out"},
		{"malloc", "live >= 1G", "live in, live out"},
		{"malloc", "live == 1G", "live in, live out"},
		{"malloc", "live < 1G", "always, live out"},
		{"malloc", "live == 0", "always, live out"},
		{"malloc", "!(live < 1G)", "live in, live out"},
		{"malloc", "thread == 3 && thread == \"x\"", "thread in, thread name out"},
		{"malloc", "thread > 3", "always, thread out"},
		{"malloc", "!(thread != 3)", "exact, thread in"},
		{"malloc", "#4711", "exact, nth in"},
	} {
		cnd := parse(t, c.text)
		ops := entry(c.function)
		if got := summary(Compile(cnd.Root(), ops), cnd.Root(), ops); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.function, c.text, got, c.want)
		}
	}
}

// summary says what is known of a program, fields in the order of names.
func summary(p Program, n cond.Node, ops ...Operands) string {
	var parts []string
	add := func(yes bool, text string) {
		if yes {
			parts = append(parts, text)
		}
	}
	add(p.Exact, "exact")
	add(p.Always, "always")
	add(p.Never, "never")
	in, out := Describe(n, ops...)
	add(len(in) > 0, strings.Join(in, " ")+" in")
	add(len(out) > 0, strings.Join(out, " ")+" out")
	return strings.Join(parts, ", ")
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"size >= 1MiB && func(x) && size < 2M && func(y)", "[size] [func()]"},
		{"kind == malloc && func(x) || caller(main)", "[kind] [func() caller()]"},
		{`kind == malloc && thread == "loader"`, "[kind] [thread name]"},
		{"size > 1 && (thread == 3 || #5) && live > 1G && kind != free", "[size thread nth live kind] []"},
	} {
		in, out := Describe(parse(t, c.text).Root())
		if got := fmt.Sprint(in, out); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	both := parse(t, "size >= 1MiB").Root()
	if in, out := Describe(both, entry("malloc"), entry("free")); fmt.Sprint(in, out) != "[size] [size]" {
		t.Errorf("size at malloc and free is in %v, out %v", in, out)
	}
	if in, out := Describe(nil); in != nil || out != nil {
		t.Errorf("no condition is in %v, out %v", in, out)
	}
}

func TestWithout(t *testing.T) {
	if p := Compile(nil, Operands{}); !p.Always || !p.Exact || len(p.Match) != 1 {
		t.Errorf("no condition is %+v", p)
	}
	if p := Any(); !p.Never || !p.Exact || p.Code != nil {
		t.Errorf("no programs are %+v", p)
	}
	for _, text := range []string{"size > 1", "thread == 1", "kind == x", "func(x)", `thread == "x"`} {
		if p := Compile(parse(t, text).Root(), Operands{}); !p.Always || p.Exact {
			t.Errorf("%s without operands is %+v", text, p)
		}
	}
}

// TestLarge has a condition whose code is beyond the bound, and one below it.
func TestLarge(t *testing.T) {
	term := "size == 0x123456789"
	one := len(Compile(parse(t, term).Root(), entry("malloc")).Code)
	fitting := maxCode / one
	long := func(n int) cond.Node { return parse(t, strings.Repeat(term+" || ", n-1)+term).Root() }
	if p := Compile(long(fitting), entry("malloc")); p.Always || !p.Exact || len(p.Code) != fitting*one {
		t.Errorf("%d terms: always %t, exact %t, %d bytes", fitting, p.Always, p.Exact, len(p.Code))
	}
	p := Compile(long(fitting+1), entry("malloc"))
	if got := summary(p, long(fitting+1), entry("malloc")); got != "always, size out" {
		t.Errorf("%d terms are %s", fitting+1, got)
	}
	half := Compile(long(fitting/2+1), entry("malloc"))
	if p := Any(half, half); !p.Always || p.Exact {
		t.Errorf("programs of %d bytes: always %t, exact %t", 2*len(half.Code), p.Always, p.Exact)
	}
}

func FuzzCondition(f *testing.F) {
	for _, text := range []string{
		"size >= 1MiB", "!(size < 10 || func(\"x\"))", "thread == 3 && live > 5G", "#4711", "size == 0xffffffffffffffff || old != 0",
		"kind == calloc and not (count > 5 or align != 16) or caller(main)", "thread != 1 && thread == \"loader\"",
	} {
		f.Add(text, uint64(1))
	}
	m := newMachine(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		c, err := cond.Parse(text)
		if err != nil {
			return
		}
		m.newWorld(random(seed)).check(t, c, 10)
		Describe(c.Root())
	})
}

// BenchmarkRun is a program with the trampoline around it, which "none" shows alone.
func BenchmarkRun(b *testing.B) {
	m := newMachine(b)
	for _, c := range []struct{ name, function, text string }{
		{"none", "malloc", "kind == free"},
		{"size", "malloc", "size >= 1MiB"},
		{"product", "calloc", "size >= 1MiB"},
		{"wide", "malloc", "size >= 5368709121"},
		{"eight", "malloc", "size == 1 || size == 2 || size == 3 || size == 4 || size == 5 || size == 6 || size == 7 || size == 8"},
	} {
		b.Run(c.name, func(b *testing.B) {
			regs := m.registers(random(1))
			regs.R[RDI], regs.R[RSI] = 100, 24
			ops := entry(c.function)
			m.put(b, Compile(parse(b, c.text).Root(), ops))
			for b.Loop() {
				m.page.Run(&regs)
			}
		})
	}
}
