package report

import (
	"slices"
	"strings"
	"testing"
)

// TestValgrindSuppressions has entries applied to a stack that begins at the caller of malloc, and
// to one that begins with operator new.
func TestValgrindSuppressions(t *testing.T) {
	p := &Profile{
		Modules: []Module{{Path: "/src/app"}, {Path: "/lib/libc.so.6"}},
		Frames: []Frame{
			{Function: "deep", File: "/src/a.c", Line: 5}, {Function: "lost", File: "/src/a.c", Line: 6}, {Function: "main", File: "/src/a.c", Line: 9},
			{Function: "operator new(unsigned long)", Linkage: "_Znwm", Module: 1},
			{Function: "__strdup", Module: 1},
		},
	}
	c, cpp, dup := &Stack{Frames: []int{0, 0, 1, 2}}, &Stack{Frames: []int{3, 1, 2}}, &Stack{Frames: []int{4, 1}}
	for _, one := range []struct {
		st    *Stack
		how   LeakKind
		entry string
		want  bool
	}{
		{c, LeakAny, "fun:malloc fun:deep fun:deep fun:lost", true},
		{c, LeakAny, "fun:malloc fun:deep fun:lost", false},
		{c, LeakAny, "fun:*alloc ... fun:lo?t", true},
		{c, LeakAny, "fun:deep", false}, // valgrind's stacks begin with malloc
		{c, LeakAny, "... fun:main fun:lost", false},
		{c, LeakAny, "... obj:/src/a?p fun:main", true},
		{c, LeakAny, "... src:a.c:6", true},
		{c, LeakAny, "... src:a.c:7", false},
		{c, LeakAny, "... fun:lost.part.0", true},
		{c, LeakReachable, "match-leak-kinds:definite,possible fun:malloc", false},
		{c, LeakPossible, "match-leak-kinds:definite,possible fun:malloc", true},
		{c, LeakAny, "match-leak-kinds:none fun:malloc", false},
		{cpp, LeakAny, "fun:_Znw* fun:lost", true},
		{cpp, LeakAny, "fun:malloc fun:_Znwm fun:lost", true},
		{cpp, LeakAny, "fun:malloc fun:lost", false},
		{dup, LeakAny, "fun:malloc fun:strdup fun:lost", true},
	} {
		s, err := ParseSuppressions(strings.NewReader("{\nname\nMemcheck:Leak\n" + strings.ReplaceAll(one.entry, " ", "\n") + "\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Suppressor(s).Find(one.st, one.how) >= 0; got != one.want {
			t.Errorf("%s: %t, want %t", one.entry, got, one.want)
		}
	}
	s, err := ParseSuppressions(strings.NewReader("{\nr\nHelgrind:Race\nfun:x\n}\n{\n# c\nn\nMemcheck:Leak\nfun:malloc\nfun:none\n}\nleak:^lost$\n{\na\nMemcheck:Addr4\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	u := s.Count()
	u.Add(p.Suppressor(s).Find(c, LeakAny), 2, 2000)
	want := "suppressions used:\n   blocks         bytes  suppression\n        2         2,000  ^lost$ (line 13)\nsuppressions not used: n (line 6)\nsuppressions passed over: 2, for other errors than leaks\n"
	if got := u.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for in, want := range map[string]string{
		"{":                             "line 1: the entry has no end: } expected",
		"#\n{\na\nMemcheck:Leak\nfun:x": "line 2: the entry has no end: } expected",
		"{\na\nLeak\n}":                 "line 3: \"Leak\": the name of the entry, then TOOL:KIND like Memcheck:Leak expected",
		"{\na\nMemcheck:Leak\n...\n}":   "line 1: the entry names no frame: fun:PATTERN, obj:PATTERN or src:PATTERN expected",
		"{\na\nMemcheck:Leak\nfoo\n}":   "line 4: \"foo\": fun:PATTERN, obj:PATTERN, src:PATTERN, ... or } expected",
		"{\na\nMemcheck:Leak\nmatch-leak-kinds:x": "line 4: \"x\": definite, indirect, possible, reachable, all or none expected",
	} {
		if _, err := ParseSuppressions(strings.NewReader(in)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// TestStructorVariants has the names of one function in symbol tables and in debug information.
func TestStructorVariants(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN7DerivedC1Ei":           "_ZN7DerivedC2Ei",
		"_ZN4BaseC4Ev":              "_ZN4BaseC1Ev",
		"_ZN3BoxIiED2Ev":            "_ZN3BoxIiED1Ev",
		"_ZN1aIS0_Li12EEC2ERKS1A_":  "_ZN1aIS0_Li12EEC1ERKS1A_",
		"_ZZN3FooC4EvENKUlvE_clEv":  "_ZZN3FooC2EvENKUlvE_clEv",
		"_ZN3FooC2B5cxx11Ev":        "_ZN3FooC1B5cxx11Ev",
		"_ZN5C1E_xD0Ev":             "", // the name of a class, and a deleting destructor
		"_Z4losei":                  "",
		"_ZN99999999999999999999C1": "",
		"malloc":                    "",
		"_ZN9C1":                    "",
	} {
		if got := structorVariants(name); want == "" && got != nil || want != "" && !slices.Contains(got, want) {
			t.Errorf("%s: %v, want %q", name, got, want)
		}
	}
}

// TestBareName has names as hdb shows them of functions that were inlined, whose own debug information has
// no scope.
func TestBareName(t *testing.T) {
	for function, want := range map[string]string{
		"lost":      "lost",
		"lost(int)": "lost",
		"std::vector<int, std::allocator<int> >::push_back(int const&)": "push_back",
		"std::map<int, int>::size() const":                              "size",
		"void std::_Construct<int>(int*)":                               "_Construct",
		"(anonymous namespace)::make(char const*)":                      "make",
		"grow(std::vector<int>&)::{lambda()#1}::operator[](int)":        "operator[]",
		"operator new(unsigned long)":                                   "operator new",
		"a::operator<(b const&)":                                        "operator<",
		"a::operator()(int)":                                            "operator()",
		"alloc::vec::Vec<T,A>::push":                                    "push",
		"":                                                              "",
	} {
		if got := bareName(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
