package query

import (
	"regexp"
	"testing"

	"hdb/values/blocktype"
)

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"main":                  "main",
		"Index::read_page(int)": "read_page",
		"std::vector<int, std::allocator<int> >::push_back(int&&)": "push_back",
		"operator new(unsigned long)":                              "operator new",
		"main.(*page).grow":                                        "grow",
		"rust::Table::fill":                                        "fill",
		"void visit<A(*)(int)>(A&)":                                "void visit",
	} {
		if got := BaseName(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestWithoutParameters(t *testing.T) {
	for name, want := range map[string]string{
		"f":                             "f",
		"ns::f(int, void (*)(char))":    "ns::f",
		"A::get(int) const":             "A::get",
		"f(int) [clone .cold]":          "f",
		"(anonymous namespace)::f(int)": "(anonymous namespace)::f",
		"(anonymous namespace)::f":      "(anonymous namespace)::f",
		"F::operator()(int)":            "F::operator()",
		"F::operator()":                 "F::operator()",
		"main.(*page).grow":             "main.(*page).grow",
	} {
		if got := WithoutParameters(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestDefaultWrappers(t *testing.T) {
	re := regexp.MustCompile(DefaultWrappers)
	for name, want := range map[string]bool{
		"xmalloc": true, "g_malloc0": true, "xrealloc": true, "prealloc": true, "alloc_node": true, "Pool::allocate": true,
		"sqlite3MemMalloc": true, "xstrdup": true, "memdup": true, "_PyObject_Alloc": true,
		"bytearray_dealloc": false, "dict_dealloc": false, "deallocate": false, "allocations": false, "insert": false, "free": false,
	} {
		if got := re.MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMatchModule(t *testing.T) {
	for _, c := range []struct {
		pattern, base string
		want          bool
	}{
		{"libfoo", "libfoo.so.1", true}, {"libfoo.so", "libfoo.so.1", true}, {"libfoo.so.1", "libfoo.so.1", true}, {"libfo", "libfoo.so.1", false},
		{"_json", "_json.cpython-311-x86_64-linux-gnu.so", true}, {"_js", "_json.cpython-311-x86_64-linux-gnu.so", false}, {"_js*", "_json.cpython-311-x86_64-linux-gnu.so", true},
		{"_json.cpython-311-x86_64-linux-gnu", "_json.cpython-311-x86_64-linux-gnu.so", true}, {"json", "_json.cpython-311-x86_64-linux-gnu.so", false},
		{"prog", "prog", true}, {"prog", "prog.bin", false}, {"libstdc++", "libstdc++.so.6", true}, {"", "", false}, {"*", "", false},
	} {
		if got := MatchModule(c.pattern, c.base); got != c.want {
			t.Errorf("%q of %q: %v", c.pattern, c.base, got)
		}
	}
}

// func("f") knows the names that break knows, all instances of a template among them.
func TestMatchFunction(t *testing.T) {
	const instance = "std::make_unique<Foo<int>, int>(int&&)"
	for _, c := range []struct {
		pattern, function string
		want              bool
	}{
		{"make_unique", instance, true},
		{"std::make_unique", instance, true},
		{"std::make_unique<*", instance, true},
		{"make_unique<Foo<int>, int>", instance, true},
		{"unique", instance, false},
		{"other::make_unique", instance, false},
		{"Foo", instance, false},
		{"push_back", "std::vector<int, std::allocator<int> >::push_back(int&&)", true},
		{"vector::push_back", "std::vector<int, std::allocator<int> >::push_back(int&&)", true},
		{"main.(*page).grow", "main.(*page).grow", true},
		{"grow", "grow_more", false},
	} {
		if got := MatchFunction(c.pattern, c.function, ""); got != c.want {
			t.Errorf("%q, %s: %v", c.pattern, c.function, got)
		}
	}
}

// TestMatchGoType finds types of Go by their names with and without type arguments.
func TestMatchGoType(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"main.Entry", "main.Entry[go.shape.*uint8]", true},
		{"main.Entry[...]", "main.Entry[go.shape.*uint8]", true},
		{"main.Entry[go.shape.*uint8]", "main.Entry[go.shape.*uint8]", true},
		{"main.Entry[int]", "main.Entry[go.shape.*uint8]", false},
		{"[]main.Entry[...]", "[]main.Entry[map[string][]int]", true},
		{"main.Entry", "main.Entries[int]", false},
		{"map[string]int", "map[string]int", true},
		{"map[string]main.Pair", "map[string]main.Pair[int,[2]string]", true},
		{"map", "map[string]int", false},
		{"int", "map[string]int", false},
	} {
		if got := MatchType(c.pattern, &blocktype.Type{Name: c.name, Count: 1}); got != c.want {
			t.Errorf("type(%q) of %s: %t", c.pattern, c.name, got)
		}
	}
}
