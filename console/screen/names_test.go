package screen

import (
	"strings"
	"testing"
)

func TestShortName(t *testing.T) {
	long := "std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::vector<int> >"
	for _, tc := range []struct{ in, want string }{
		{"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"", ""},
		{"f<" + long + ">(int)", "f<...>(int)"},
		{"std::map<" + long + ">::insert<int>(std::pair<" + long + ", bool>&)", "std::map<...>::insert<int>(std::pair<...>&)"},
		{"std::operator<< <" + long + " >(std::basic_ostream<char, Traits>&, char const*)", "std::operator<< <...>(std::basic_ostream<...>&, char const*)"},
		{"bool operator< <" + long + ">(int)", "bool operator< <...>(int)"},
		{"bool operator<<int, " + long + ">(int)", "bool operator<<int, std::pair<...>>(int)"}, // taken for <<
		{"P<" + long + ">::operator->() const", "P<...>::operator->() const"},
		{"P<" + long + ">::operator->*<char const*, long>() const", "P<...>::operator->*<...>() const"},
		{"P<" + long + ">::operator<=>(P<" + long + "> const&)", "P<...>::operator<=>(P<...> const&)"},
		{"P<" + long + ">::operator>(int)", "P<...>::operator>(int)"},
		{"P<" + long + ">::operator>>(int)", "P<...>::operator>>(int)"},
		{"P<" + long + ">::operator()<" + long + ">(int)", "P<...>::operator()<...>(int)"},
		{"P<&(Q::operator->()), &(Q::operator<(int)), " + long + ">::f()", "P<...>::f()"},
		{"P<(4 > 3), (x < y), " + long + ">::f()", "P<...>::f()"},
		{"P<decltype ((a)->b), " + long + ">::f()", "P<...>::f()"},
		{"g<" + long + ">(int)::{lambda(std::vector<" + long + ">)#1}::operator()(int) const", "g<...>(int)::{lambda(std::vector<...>)#1}::operator()(int) const"},
		{"g<" + long + ">::<lambda(std::vector<" + long + ">)>::operator()(int) const", "g<...>::<lambda(std::vector<...>)>::operator()(int) const"},
		{"(anonymous namespace)::h<" + long + ">[abi:cxx11]()", "(anonymous namespace)::h<...>[abi:cxx11]()"},
		{"<alloc::vec::Vec<" + long + "> as core::ops::Drop>::drop", "<alloc::vec::Vec<...> as core::ops::Drop>::drop"},
		{"core::ptr::drop_in_place::<fn(" + long + ") -> u8>", "core::ptr::drop_in_place::<...>"},
		{"my_operator<" + long + ">", "my_operator<...>"},
		{"broken<" + long, "broken<" + long},
		{strings.Repeat("n", 200), strings.Repeat("n", 200)},
		{strings.Repeat("operator", 20), strings.Repeat("operator", 20)},
		{strings.Repeat("a<", 100), strings.Repeat("a<", 100)},
		{strings.Repeat(">)", 100) + "<", strings.Repeat(">)", 100) + "<"},
	} {
		if got := ShortName(tc.in); got != tc.want {
			t.Errorf("shortName(%q)\n = %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

func FuzzShortName(f *testing.F) {
	f.Add("P<(4 > 3), std::vector<int> >::operator-><int>() const" + strings.Repeat("x", maxName))
	f.Fuzz(func(t *testing.T, name string) {
		if got := ShortName(name); len(got) > len(name) {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func TestNaming(t *testing.T) {
	const long = "std::vector<std::pair<std::string, std::map<int, std::string> >, std::allocator<std::pair<std::string, std::map<int, std::string> > > >::push_back"
	for _, tc := range []struct {
		n    Naming
		want string
	}{
		{Naming{}, "std::vector<...>::push_back"},
		{Naming{Whole: true}, long},
		{Naming{Linkage: true}, "_ZNSt6vector"},
	} {
		if got := tc.n.Short(tc.n.Function(long, "_ZNSt6vector")); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.n, got, tc.want)
		}
	}
	if got := (Naming{Linkage: true}).Function("main", ""); got != "main" {
		t.Errorf("without a linkage name: %q", got)
	}
}
