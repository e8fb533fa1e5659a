package printers

import "testing"

func TestTypeName(t *testing.T) {
	for name, want := range map[string]string{
		"int": "int",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >":                                                             "std::string",
		"std::__1::basic_string<char, std::char_traits<char>, std::allocator<char> >":                                                                 "std::string",
		"std::vector<int, std::allocator<int> >":                                                                                                      "std::vector<int>",
		"std::__1::vector<std::__1::vector<int, std::__1::allocator<int> >, std::__1::allocator<std::__1::vector<int, std::__1::allocator<int> > > >": "std::vector<std::vector<int> >",
		"std::map<int, std::basic_string_view<char, std::char_traits<char> >, std::less<int>, std::allocator<std::pair<int const, std::string> > >":   "std::map<int, std::string_view>",
		"std::unique_ptr<ns::T<1>, std::default_delete<ns::T<1> > >":                                                                                  "std::unique_ptr<ns::T<1> >",
		"std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, int> > >":                               "std::unordered_map<int, int>",
		"std::vector<int, my::allocator<int> >":                                                                                                       "std::vector<int, my::allocator<int> >",
		"std::vector<int, std::allocator<int":                                                                                                         "std::vector<int, std::allocator<int",
	} {
		if got := (Table{}).TypeName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
