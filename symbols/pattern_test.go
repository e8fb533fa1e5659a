package symbols

import (
	"slices"
	"testing"
)

func TestSplitName(t *testing.T) {
	for in, want := range map[string][]string{
		"main":                     {"main"},
		"a::b::c":                  {"a", "b", "c"},
		"a<x::y>::f<int, long>":    {"a<x::y>", "f<int,long>"},
		"ns::operator<<":           {"ns", "operator<<"},
		"ns::operator()":           {"ns", "operator()"},
		"A::operator new":          {"A", "operator new"},
		"A::operator unsigned int": {"A", "operator unsigned int"},
		"(anonymous namespace)::f": {"(anonymous namespace)", "f"},
		"<foo::Bar>::new":          {"foo", "Bar", "new"},
		"<foo::Bar<T> as core::fmt::Display>::fmt": {"foo", "Bar<T>", "fmt"},
		"c::main::{closure#0}":                     {"c", "main", "{closure#0}"},
		"A::~A":                                    {"A", "~A"},
		"f(a::b)":                                  {"f(a::b)"},
	} {
		if got := splitName(in); !slices.Equal(got, want) {
			t.Errorf("splitName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutParams(t *testing.T) {
	for _, c := range [][3]string{
		{"f", "f", ""},
		{"f(int)", "f", "(int)"},
		{"A::operator()(int) const", "A::operator()", "(int) const"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f", "(int)"},
		{"f<void (*)(int)>(char)", "f<void (*)(int)>", "(char)"},
		{"main(int, char**)::{lambda(int)#1}::operator()(int)", "main(int, char**)::{lambda(int)#1}::operator()", "(int)"},
		{"operator<<(int)", "operator<<", "(int)"},
		{"f(int", "f", "(int"},
	} {
		if name, params := cutParams(c[0]); name != c[1] || params != c[2] {
			t.Errorf("cutParams(%q) = %q, %q", c[0], name, params)
		}
	}
}

func TestPatterns(t *testing.T) {
	const grow = "_ZN2ns6Buffer4growERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	for _, c := range []struct {
		pattern, linkage string
		want             bool
	}{
		{"grow", grow, true},
		{"Buffer::grow", grow, true},
		{"::ns::Buffer::grow", grow, true},
		{"fer::grow", grow, false},
		{"other::Buffer::grow", grow, false},
		{"grow(std::string const&)", grow, true},
		{"grow( std::string const & )", grow, true},
		{"grow(int)", grow, false},
		{"Box::get", "_ZNK2ns3BoxIiE3getEv", true},
		{"Box<int>::get", "_ZNK2ns3BoxIiE3getEv", true},
		{"Box<long>::get", "_ZNK2ns3BoxIiE3getEv", false},
		{"Box<int>::get() const", "_ZNK2ns3BoxIiE3getEv", true},
		{"Box<int>::get()", "_ZNK2ns3BoxIiE3getEv", true},
		{"largest", "_Z7largestIiET_S0_S0_", true},
		{"largest<int>(int, int)", "_Z7largestIiET_S0_S0_", true},
		{"operator new", "_Znwm", true},
		{"operator new(size_t)", "_Znwm", true},
		{"operator new", "_Znam", false},
		{"std::string::append", "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", true},
		{"std::string::append", "_ZNSs6appendEPKc", true},
		{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append", "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", true},
		{"operator+=", "_ZN2ns6BufferpLEi", true},
		{"Formatter::pad", "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", true},
		{"Bar::new", "_RNvMs_CsAbC_3fooNtB4_3Bar3new", true},
		{"foo::Bar::new", "_RNvMs_CsAbC_3fooNtB4_3Bar3new", true},
	} {
		p, ok := parsePattern(c.pattern)
		if !ok || p.matchesLinkage(c.linkage) != c.want {
			t.Errorf("%q matches %s: want %v (%+v)", c.pattern, Demangle(c.linkage), c.want, p)
		}
	}
	for _, empty := range []string{"", " ", "::", "a::", "(int)"} {
		if p, ok := parsePattern(empty); ok {
			t.Errorf("%q parses to %+v", empty, p)
		}
	}
}

func TestMatchesGo(t *testing.T) {
	for _, c := range []struct {
		want, have string
		ok         bool
	}{
		{"main.(*T).Grow", "main.(*T).Grow", true},
		{"T.Grow", "main.(*T).Grow", true},
		{"Grow", "main.(*T).Grow", true},
		{"main.Map", "main.Map[go.shape.int]", true},
		{"http.Get", "net/http.Get", true},
		{"ow", "main.(*T).Grow", false},
	} {
		if matchesGo(c.want, c.have) != c.ok {
			t.Errorf("matchesGo(%q, %q), want %v", c.want, c.have, c.ok)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a::b<c>(d)", "operator<<(int)", "<a as b>::c", "(anonymous namespace)::f", "<<>>::<>", "main.(*T).Grow"} {
		f.Add(s, "_ZNK2ns3BoxIiE3getEv")
	}
	f.Fuzz(func(t *testing.T, s, linkage string) {
		p, ok := parsePattern(s)
		if !ok {
			return
		}
		p.keys()
		p.matchesLinkage(linkage)
		p.matches(&named{function: linkage})
		matchesGo(s, linkage)
	})
}
