package cond

import "testing"

// kindEnv is an event of one function, of which nothing else is known.
type kindEnv struct {
	Env
	function string
}

func (e kindEnv) Kind(pattern string) bool { return Match(pattern, e.function) }

// TestDomain asks for the domains of CPython's allocators.
func TestDomain(t *testing.T) {
	functions := []string{"PyMem_RawMalloc", "PyMem_Calloc", "PyObject_Free", "malloc"}
	for text, want := range map[string]string{
		`domain == raw`:    "1000",
		`domain == mem`:    "0100",
		`domain("obj")`:    "0010",
		`domain != raw`:    "0111",
		`domain != mem`:    "1011",
		`!(domain == obj)`: "1101",
		`!(domain == mem || domain == obj) && domain != raw`: "0001",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, f := range functions {
			got += map[bool]string{false: "0", true: "1"}[c.Eval(kindEnv{function: f})]
		}
		if got != want {
			t.Errorf("%s: %s of %v, want %s", text, got, functions, want)
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%s is printed as %s: %v", text, c, err)
		}
	}
	for _, text := range []string{`domain == object`, `domain("malloc")`, `domain == 3`, `domain > raw`, `domain`} {
		if c, err := Parse(text); err == nil {
			t.Errorf("%s parses as %s", text, c)
		}
	}
	// A variable of the program is one where there are such.
	place := Place{Name: "here", Predicates: []Predicate{Domain}, Expressions: true}
	for text, program := range map[string]bool{`domain == 3`: true, `domain == other`: true, `domain == raw`: false, `$domain == raw`: false} {
		c, err := ParseAt(text, place)
		if err != nil || c.UsesProgram() != program {
			t.Errorf("%s: of the program %v, want %v: %v", text, !program, program, err)
		}
	}
}
