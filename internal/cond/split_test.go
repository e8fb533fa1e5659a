package cond

import "testing"

// atAlloc is a place at which a program is stopped that has made an allocation.
var atAlloc = Place{Name: "at an allocation", Fields: []Field{Size, Addr, Thread, Nth}, Predicates: []Predicate{Func, Kind, ThreadName}, Expressions: true}

// atLine is one of its lines.
var atLine = Place{Name: "at a line", Fields: []Field{Thread, Nth}, Predicates: []Predicate{Func, ThreadName}, Expressions: true}

func TestProgramTerms(t *testing.T) {
	for _, c := range []struct {
		at        Place
		src, want string
		terms     []string // of the program
	}{
		{atLine, "n == 50", "n == 50", []string{"n == 50"}},
		{atLine, "50 == n", "50 == n", []string{"50 == n"}},
		{atLine, "size > 3", "size > 3", []string{"size > 3"}}, // no word of a line
		{atAlloc, "size > 3", "size > 3", nil},
		{atAlloc, "$size > 3", "size > 3", nil},
		{atAlloc, "(size) > 3", "(size) > 3", []string{"(size) > 3"}},
		{atAlloc, "size >= 1k && req->user.id == 7", "size >= 1KiB && req->user.id == 7", []string{"req->user.id == 7"}},
		{atAlloc, "size > n || !p", "size > n || !p", []string{"size > n", "!p"}},
		{atAlloc, "!(n == 3 && size > 3)", "!(n == 3 && size > 3)", []string{"n == 3"}},
		{atAlloc, "!(p)", "!(p)", []string{"p"}},
		{atAlloc, "not p", "!(p)", []string{"p"}},
		{atAlloc, `!func("f") && a[i && j].s == "x && y"`, `!func("f") && a[i && j].s == "x && y"`, []string{`a[i && j].s == "x && y"`}},
		{atAlloc, "(a || b) && c", "(a || b) && c", []string{"a", "b", "c"}},
		{atAlloc, "(a + b) * 2 == c", "(a + b) * 2 == c", []string{"(a + b) * 2 == c"}},
		{atAlloc, "size + 16 == n", "size + 16 == n", []string{"size + 16 == n"}},
		{atAlloc, "size->x == 1", "size->x == 1", []string{"size->x == 1"}},
		{atAlloc, "$rdi == 5 and thread == 2", "$rdi == 5 && thread == 2", []string{"$rdi == 5"}},
		{atAlloc, "'a' == c or -1 < x", "'a' == c || -1 < x", []string{"'a' == c", "-1 < x"}},
		{atAlloc, "kind == malloc && kind(calloc)", "kind == malloc && kind == calloc", nil},
		{atLine, "#4711", "nth == 4711", nil},
		{atLine, "band == 3 && orb == 4", "band == 3 && orb == 4", []string{"band == 3", "orb == 4"}},
	} {
		got, err := ParseAt(c.src, c.at)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		var terms []string
		for _, x := range got.Expressions() {
			terms = append(terms, x.Text)
		}
		if got.String() != c.want || len(terms) != len(c.terms) {
			t.Errorf("%s = %s with %q, want %s with %q", c.src, got, terms, c.want, c.terms)
			continue
		}
		for i := range terms {
			if terms[i] != c.terms[i] {
				t.Errorf("%s: term %q, want %q", c.src, terms[i], c.terms[i])
			}
		}
	}
}

func TestProgramTermErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "column 1: the condition is empty (example: size >= 64k && thread == 1)"},
		{"n == 3 &&", "column 10: a term is missing here"},
		{"|| n == 3", "column 1: a term is missing here"},
		{"(n == 3", "column 1: no bracket closes this ("},
		{"n == 3)", "column 7: no bracket before this )"},
		{`s == "x`, "column 6: the string has no closing \""},
		{"size = 3", "column 6: one = compares nothing, write =="},
		{"size > 3x", "column 8: "},
		{"thread == beta", "column 11: thread is compared with a number, or with a name in quotes: thread == \"beta\""},
	} {
		_, err := ParseAt(c.src, atAlloc)
		if err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
			t.Errorf("%q: %v, want %s", c.src, err, c.want)
		}
	}
}

// programEnv is a program in which a term holds, does not, or has no value.
type programEnv struct {
	constEnv
	values map[string]bool
}

func (e programEnv) Holds(expr string) (holds, known bool) {
	holds, known = e.values[expr]
	return holds, known
}

// TestUnknownTerms: neither a term without a value holds nor its negation.
func TestUnknownTerms(t *testing.T) {
	env := programEnv{1, map[string]bool{"yes": true, "no": false}}
	for src, want := range map[string]bool{
		"yes": true, "no": false, "none": false,
		"!(yes)": false, "!(no)": true, "!(none)": false,
		"!(yes && none)": false, "!(no && none)": true, "!(no || none)": false,
		"none || size == 1": true, "!(none || size == 2)": false,
	} {
		c, err := ParseAt(src, atAlloc)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Eval(env); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
		if got := c.Eval(constEnv(1)); got && src != "none || size == 1" {
			t.Errorf("%s holds without a program", src)
		}
	}
}

// TestDecide: a term without a value leaves a condition unknown unless another one decides it,
// in whatever order.
func TestDecide(t *testing.T) {
	env := programEnv{1, map[string]bool{"yes": true, "no": false}}
	for src, want := range map[string]Truth{
		"yes": True, "no": False, "none": Unknown, "!(none)": Unknown,
		"none && yes": Unknown, "yes && none": Unknown, "none && no": False, "no && none": False,
		"none || yes": True, "yes || none": True, "none || no": Unknown, "no || none": Unknown,
		"!(none && no)": True, "!(none || no)": Unknown, "!(none || yes)": False,
		"none && size == 1": Unknown, "none && size == 4": False,
		"none || no || gone": Unknown, "none && (no || gone) && yes": Unknown, "(none || yes) && (no || yes)": True,
	} {
		c, err := ParseAt(src, atAlloc)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Decide(env); got != want || c.Eval(env) != (want == True) {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}

func FuzzProgramTerms(f *testing.F) {
	for _, src := range []string{"n == 3 && (size > 3 || !p)", `!func("x") or a['"'] == "&&"`, "not not (x)", "$size == 1", "((("} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, at := range []Place{atAlloc, atLine} {
			c, err := ParseAt(src, at)
			if err != nil {
				continue
			}
			again, err := ParseAt(c.String(), at)
			if err != nil {
				t.Fatalf("%q prints as %q: %v", src, c, err)
			}
			if again.String() != c.String() {
				t.Fatalf("%q prints as %q, which prints as %q", src, c, again)
			}
		}
	})
}
