package cond

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"size>=1MiB", "size >= 1MiB"},
		{"size >= 1M", "size >= 1MiB"},
		{"size == 1MB", "size == 1000000"},
		{"size == 1kB", "size == 1000"},
		{"size == 64k", "size == 64KiB"},
		{"size == 64K", "size == 64KiB"},
		{"size == 1.5MiB", "size == 1536KiB"},
		{"size == 0x10", "size == 16"},
		{"size == 0x10k", "size == 16KiB"},
		{"size == 1_000_000", "size == 1000000"},
		{"size == 0", "size == 0"},
		{"size <= 16EiB", ""},
		{"size <= 18446744073709551615", "size <= 18446744073709551615"},
		{"addr == 0x7ffff4c00010", "addr == 0x7ffff4c00010"},
		{"1MiB <= size", "size >= 1MiB"},
		{"5 > thread and 3 < nth", "thread < 5 && nth > 3"},
		{"7 == blocks", "blocks == 7"},
		{"#4711", "nth == 4711"},
		{"#20k", "nth == 20000"},
		{"blocks >= 20k && live > 20k", "blocks >= 20000 && live > 20KiB"},
		{"0.3k < count", "count > 300"},
		{"nth == #4711", "nth == 4711"},
		{"nth >= #10 && size > 1", "nth >= 10 && size > 1"},
		{"not size < 1 and align == 4096", "!(size < 1) && align == 4KiB"},
		{"a", ""},
		{"size > 1 || size > 2 && size > 3", "size > 1 || size > 2 && size > 3"},
		{"(size > 1 || size > 2) && size > 3", "(size > 1 || size > 2) && size > 3"},
		{"((size > 1)) && (size > 2 && size > 3)", "size > 1 && size > 2 && size > 3"},
		{"size > 1 || (size > 2 || size > 3)", "size > 1 || size > 2 || size > 3"},
		{"!(size > 1 && count > 2)", "!(size > 1 && count > 2)"},
		{"!!func(main)", `!!func("main")`},
		{"func(std::vector*) && module(libz.so)", `func("std::vector*") && module("libz.so")`},
		{`func('a "b" \\')`, `func("a \"b\" \\")`},
		{`kind == malloc`, "kind == malloc"},
		{`kind("malloc")`, "kind == malloc"},
		{`kind != "operator new"`, `kind != "operator new"`},
		{`!kind("free")`, "kind != free"},
		{`kind == "or"`, `kind == "or"`},
		{`thread == "loader" or thread != "x"`, `thread == "loader" || thread != "x"`},
		{`caller("g_malloc") && live > 2G && old != 0`, `caller("g_malloc") && live > 2GiB && old != 0x0`},
	} {
		got, err := Parse(c.src)
		if c.want == "" {
			if err == nil {
				t.Errorf("Parse(%q) = %s, want an error", c.src, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("Parse(%q): %v", c.src, err)
			continue
		}
		if got.String() != c.want {
			t.Errorf("Parse(%q) = %s, want %s", c.src, got, c.want)
		}
		checkReparse(t, got)
	}
}

// checkReparse holds String to its promise.
func checkReparse(t *testing.T, c *Cond) {
	t.Helper()
	again, err := Parse(c.String())
	if err != nil {
		t.Fatalf("%q prints as %q, which does not parse: %v", c.Source(), c.String(), err)
	}
	if !equal(c.Root(), again.Root()) {
		t.Fatalf("%q prints as %q, which parses to %q", c.Source(), c.String(), again.String())
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "column 1: the condition is empty (example: size >= 64k && thread == 1)"},
		{"  ", "column 3: the condition is empty (example: size >= 64k && thread == 1)"},
		{"size > 1XiB", `column 8: unknown unit "XiB" in "1XiB" (units: k, M, G, T, KiB, MiB, GiB, TiB, kB, MB, GB, TB)`},
		{"thread == beta", `column 11: thread is compared with a number, or with a name in quotes: thread == "beta"`},
		{"thread != ", "column 11: thread is compared with a number, or with a name in quotes, found the end"},
		{"thread < beta", "column 10: thread is compared with a number, found beta"},
		{"size > sizee", "column 8: size is compared with a number, found sizee"},
		{"1 < 2 && sizee > 1", `column 5: expected a name to compare with 1, found 2`},
		{"size > 1 && sizee > 1", `column 13: unknown name "sizee" (did you mean size?)`},
		{"tread == 3", `column 1: unknown name "tread" (did you mean thread?)`},
		{`fun("x")`, `column 1: unknown name "fun" (did you mean func?)`},
		{"Size > 3", `column 1: unknown name "Size" (did you mean size?)`},
		{"frobnicate > 3", `column 1: unknown name "frobnicate" (help conditions lists the names)`},
		{"size", "column 5: size needs a comparison, as in size >= 1, found the end"},
		{"size = 3", "column 6: one = compares nothing, write =="},
		{"size > 3 & thread == 1", "column 10: one & does nothing here, write &&"},
		{"size > 3 | thread == 1", "column 10: one | does nothing here, write ||"},
		{"size > -1", "column 8: numbers are not negative here"},
		{"size > 10Q", `column 8: unknown unit "Q" in "10Q" (units: k, M, G, T, KiB, MiB, GiB, TiB, kB, MB, GB, TB)`},
		{"size > 99999999999999999999", "column 8: 99999999999999999999 does not fit in 64 bits"},
		{"size > 17000000TiB", "column 8: 17000000TiB does not fit in 64 bits"},
		{"size > 1.5", "column 8: 1.5 is not a whole number of bytes"},
		{"size > 1.", `column 8: "1." has no digits after the point`},
		{"size > 0x", `column 8: "0x" is not a number`},
		{"size > 1 thread == 2", "column 10: unexpected thread after the condition (join with && or ||)"},
		{"1k < size < 2k", "column 11: a comparison cannot be compared again, join two with &&"},
		{"size > 1)", "column 9: no ( before this )"},
		{"(size > 1", "column 1: no ) closes this ("},
		{"(size > 1 func", "column 11: expected ), && or ||, found func"},
		{"size > 1 &&", "column 12: the condition ends where a term is missing"},
		{"&& size > 1", "column 1: expected a comparison or a call, found &&"},
		{"func", `column 1: func needs a name, as in func("name")`},
		{"func()", `column 6: func needs a name, as in func("name"), found )`},
		{`func("")`, "column 6: the name is empty"},
		{`type("*net/http.Request")`, `column 6: type "*net/http.Request": types of Go have the name of their package, not its path: "*http.Request"`},
		{`type("a/b.T[c/d.U]")`, `column 6: type "a/b.T[c/d.U]": types of Go have the name of their package, not its path: "b.T[c/d.U]"`},
		{`func("a"`, "column 9: expected ) after the name, found the end"},
		{`func("a`, `column 6: the string has no closing "`},
		{`thread > "a"`, "column 8: names compare with == and != only"},
		{`kind == 3`, "column 9: kind is compared with a name, as in kind == calloc, found 3"},
		{`kind < malloc`, "column 6: names compare with == and != only"},
		{"size(3)", "column 1: size is a number, compare it: size >= 1"},
		{"4711", "column 1: 4711 alone says nothing, as in size >= 4711 (#4711 for an event)"},
		{"#", "column 1: # needs the number of an event, as in #4711"},
		{"size > 1 && é > 1", "column 13: unknown name \"é\" (help conditions lists the names)"},
		{"func(é) && @", `column 12: unexpected "@"`},
		{"func(a) && \x00", "column 12: unexpected a character that does not print"},
		{strings.Repeat("(", 1000), "column 101: nested more than 100 deep"},
		{strings.Repeat("!", 1000), "column 101: nested more than 100 deep"},
	} {
		_, err := Parse(c.src)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("Parse(%q) = %v, want an *Error", c.src, err)
			continue
		}
		if e.Error() != c.want {
			t.Errorf("Parse(%q):\n got %s\nwant %s", c.src, e, c.want)
		}
	}
}

// fakeEnv answers from its maps and writes down what it was asked.
type fakeEnv struct {
	numbers map[Field]uint64
	names   map[string]bool // "func main"
	thread  string
	asked   []string
}

func (e *fakeEnv) Number(f Field) (uint64, bool) {
	e.asked = append(e.asked, f.String())
	v, ok := e.numbers[f]
	return v, ok
}

func (e *fakeEnv) name(p Predicate, name string) bool {
	e.asked = append(e.asked, p.word())
	return e.names[p.word()+" "+name]
}

func (e *fakeEnv) Func(n string) bool   { return e.name(Func, n) }
func (e *fakeEnv) Module(n string) bool { return e.name(Module, n) }
func (e *fakeEnv) PyFile(n string) bool { return e.name(PyFile, n) }
func (e *fakeEnv) Caller(n string) bool { return e.name(Caller, n) }
func (e *fakeEnv) Like(n string) bool   { return e.name(Like, n) }
func (e *fakeEnv) Kind(n string) bool   { return e.name(Kind, n) }
func (e *fakeEnv) Type(n string) bool   { return e.name(Type, n) }
func (e *fakeEnv) ThreadName() string   { return e.thread }

func TestEval(t *testing.T) {
	env := &fakeEnv{
		numbers: map[Field]uint64{Size: 4096, Thread: 3, Nth: 10},
		names:   map[string]bool{"func main": true, "kind malloc": true},
		thread:  "loader 2",
	}
	for src, want := range map[string]bool{
		"size >= 4k":                  true,
		"size > 4k":                   false,
		"size < 4097":                 true,
		"size <= 4095":                false,
		"size != 4096":                false,
		"size == 4096":                true,
		"addr == 0":                   false, // no such value here
		"addr != 0":                   false,
		"!(addr == 0)":                false, // nor is it known to be another
		"!(addr == 0 || size == 1)":   false,
		"!(addr == 0 && size == 1)":   true,
		"!(size < 4k || !func(main))": true,
		"!!(addr == 0)":               false,
		"func(main) && size == 4k":    true,
		"func(mane) || #10":           true,
		"kind == malloc":              true,
		"kind != malloc":              false,
		`thread == "loader*"`:         true,
		`thread != "loader 2"`:        false,
		"module(libz)":                false,
		"caller(x) || module(y)":      false,
	} {
		c, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Eval(env); got != want {
			t.Errorf("%s = %v, want %v", src, got, want)
		}
	}
}

func TestCheapTermsFirst(t *testing.T) {
	for _, c := range []struct {
		src   string
		asked []string
	}{
		{"func(main) && size > 1M", []string{"size"}},
		{"func(main) || size > 1", []string{"size"}},
		{"live > 1 && kind == calloc && size > 1", []string{"size", "kind"}},
		{"!(func(main) && size > 1M) && caller(x) && thread == 3", []string{"thread", "size", "caller"}},
	} {
		env := &fakeEnv{numbers: map[Field]uint64{Size: 4096, Thread: 3}}
		cond, err := Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		cond.Eval(env)
		if !slices.Equal(env.asked, c.asked) {
			t.Errorf("%s asked %v, want %v", c.src, env.asked, c.asked)
		}
	}
}

func TestUses(t *testing.T) {
	c, err := Parse(`size > 1 && !(func("x") || thread == "y")`)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Uses(Size) || c.Uses(Addr) || c.Uses(Thread) {
		t.Error("Uses: want size alone")
	}
	if !c.UsesStack() || !c.UsesPredicate(ThreadName) || c.UsesPredicate(Kind) {
		t.Error("UsesStack, UsesPredicate: want func() and a thread's name")
	}
	if c, _ := Parse("kind == malloc"); c.UsesStack() {
		t.Error("kind needs no stack")
	}
	if c, _ := Parse(`!(kind == malloc || func("x")) && kind("c*")`); !slices.Equal(c.Asked(Kind), []string{"malloc", "c*"}) {
		t.Errorf("asked %q", c.Asked(Kind))
	}
}

func TestCheck(t *testing.T) {
	place := Place{Name: "at a line of code", Fields: []Field{Thread, Nth}, Predicates: []Predicate{Func, ThreadName}}
	for src, want := range map[string]string{
		`thread == 3 && func(x) || thread == "y"`: "",
		"thread == 3 && size > 1":                 "column 16: size is not known at a line of code (known: thread, nth, func())",
		"!(kind == malloc)":                       "column 3: kind() is not known at a line of code (known: thread, nth, func())",
	} {
		c, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.Check(place); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Check(%s) = %q, want %q", src, got, want)
		}
	}
	c, _ := Parse("size > 1")
	if err := c.Check(Place{Name: "here"}); err == nil || !strings.Contains(err.Error(), "known: nothing") {
		t.Errorf("Check at a place without names = %v", err)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"main", "main", true}, {"main", "main2", false}, {"*", "", true},
		{"load_*", "load_index", true}, {"load_*", "unload_index", false},
		{"*index", "load_index", true}, {"a*b*c", "a12b34c", true}, {"a*b*c", "acb", false},
		{"ab*ba", "aba", false}, {"*::*", "std::sort", true}, {"", "", true}, {"", "x", false},
		{"a*a*a", "aa", false}, {"**", "xyz", true},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for src, want := range map[string]uint64{
		"0": 0, "10": 10, "0x10": 16, "0x1b": 27, "64k": 64 << 10, "64K": 64 << 10, "64kib": 64 << 10,
		"1MB": 1e6, "1MiB": 1 << 20, "1M": 1 << 20, "2G": 2 << 30, "2GB": 2e9, "1T": 1 << 40, "0.5k": 512,
		"15.9999999999999T": 0, "1.000000000000000000000000k": 1024, "8b": 8,
		"18446744073709551615": 1<<64 - 1, "18446744073709551616": 0, "0.0000000000000000001k": 0,
	} {
		got, err := ParseSize(src)
		if want == 0 && src != "0" {
			if err == nil {
				t.Errorf("ParseSize(%s) = %d, want an error", src, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("ParseSize(%s) = %d, %v, want %d", src, got, err, want)
		}
	}
}

func TestImpossible(t *testing.T) {
	for src, want := range map[string][2]string{ // of any event, of those that free
		"addr == 0":                       {"", "addr == 0x0"},
		"0 >= addr && size > 1":           {"", "addr <= 0x0"},
		"!(addr != 0) || addr < 1":        {"", "addr == 0x0, addr < 0x1"},
		"addr != 0 && addr >= 0":          {},
		"!(addr == 0)":                    {},
		"size < 0":                        {"size < 0", "size < 0"},
		"nth == 0 || thread <= 0":         {"nth == 0, thread <= 0", "nth == 0, thread <= 0"},
		"nth == 1 && size == 0":           {},
		"live > 18446744073709551615":     {"live > 18446744073709551615", "live > 18446744073709551615"},
		`func("f") && !module("libc.so")`: {},
	} {
		c, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		for i, frees := range []bool{false, true} {
			var got []string
			for _, cmp := range c.Impossible(frees) {
				got = append(got, cmp.String())
			}
			if strings.Join(got, ", ") != want[i] {
				t.Errorf("%s, frees %v: %q, want %q", src, frees, got, want[i])
			}
		}
	}
}

func TestParseCount(t *testing.T) {
	for src, want := range map[string]uint64{
		"0": 0, "10": 10, "0x10": 16, "20k": 20_000, "20K": 20_000, "1.5M": 1_500_000, "2g": 2e9, "1T": 1e12, "1_000": 1000, "0.0005k": 0, "20kB": 0, "20KiB": 0, "1b": 0,
	} {
		got, err := ParseCount(src)
		if want == 0 && src != "0" {
			if err == nil {
				t.Errorf("ParseCount(%s) = %d, want an error", src, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("ParseCount(%s) = %d, %v, want %d", src, got, err, want)
		}
	}
}

func TestFieldsHaveHelp(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fields() {
		if f.Name == "" || f.Help == "" || seen[f.Name] {
			t.Errorf("field %+v: no name, no help or twice", f)
		}
		seen[f.Name] = true
	}
	if len(seen) != int(fieldCount)+int(ThreadName) {
		t.Errorf("%d names", len(seen))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"size >= 1MiB && thread == 3 && func(\"load_*\")", "!(a || b) and not #12", "1 < size", "kind != 'a b'",
		"size == 1.25M || ((live>0x1f))", "thread == \"\xff\\\"\"", "func(é.so:*)", "#", "0x_ 1_k",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		c, err := Parse(src)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Col < 1 || e.Col > len([]rune(src))+1 {
				t.Fatalf("Parse(%q): %v has no good column", src, err)
			}
			return
		}
		checkReparse(t, c)
		c.Eval(&fakeEnv{})
		_ = c.Check(Place{})
	})
}

func BenchmarkEval(b *testing.B) {
	c, err := Parse("size >= 1MiB && thread == 3 && func(main)")
	if err != nil {
		b.Fatal(err)
	}
	env := constEnv(4096)
	for b.Loop() {
		c.Eval(env)
	}
}

// constEnv has one number for all.
type constEnv uint64

func (e constEnv) Number(Field) (uint64, bool) { return uint64(e), true }
func (constEnv) Func(string) bool              { return true }
func (constEnv) Module(string) bool            { return true }
func (constEnv) PyFile(string) bool            { return true }
func (constEnv) Caller(string) bool            { return true }
func (constEnv) Like(string) bool              { return true }
func (constEnv) Kind(string) bool              { return true }
func (constEnv) Type(string) bool              { return true }
func (constEnv) ThreadName() string            { return "" }

// equal compares two trees, columns aside.
func equal(x, y Node) bool {
	switch x := x.(type) {
	case *Compare:
		y, ok := y.(*Compare)
		return ok && x.Field == y.Field && x.Op == y.Op && x.Value == y.Value
	case *Call:
		y, ok := y.(*Call)
		return ok && x.Predicate == y.Predicate && x.Arg == y.Arg
	case *Expr:
		y, ok := y.(*Expr)
		return ok && x.Text == y.Text
	case *And:
		y, ok := y.(*And)
		return ok && slices.EqualFunc(x.Terms, y.Terms, equal)
	case *Or:
		y, ok := y.(*Or)
		return ok && slices.EqualFunc(x.Terms, y.Terms, equal)
	case *Not:
		y, ok := y.(*Not)
		return ok && equal(x.X, y.X)
	}
	return false
}

// TestLeaves finds all parts of a condition in their order, and ends when nobody wants more.
func TestLeaves(t *testing.T) {
	c, err := Parse(`size > 1 && (thread == 2 || !func("f") && kind == free)`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n := range Leaves(c.Root()) {
		got = append(got, n.String())
	}
	if want := []string{"size > 1", "thread == 2", `func("f")`, "kind == free"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for n := range Leaves(c.Root()) {
		if n.String() != "size > 1" {
			t.Errorf("%s after the first", n)
		}
		break
	}
	for n := range Leaves(nil) {
		t.Errorf("%s of no condition", n)
	}
}
