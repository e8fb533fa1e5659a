package blocktype

import "testing"

func TestObject(t *testing.T) {
	for name, want := range map[string]string{
		"Session": "Session",
		"std::_Sp_counted_ptr_inplace<Session, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>": "Session",
		"std::_Sp_counted_ptr_inplace<std::map<int, A>, std::allocator<void>, (_Lock_policy)2>":   "std::map<int, A>",
		"std::__1::__shared_ptr_emplace<net::Socket, std::__1::allocator<net::Socket> >":          "net::Socket",
		"alloc::rc::RcInner<core::cell::RefCell<ring::Node>>":                                     "core::cell::RefCell<ring::Node>",
		"alloc::sync::ArcInner<fn(&str) -> alloc::vec::Vec<u8>>":                                  "fn(&str) -> alloc::vec::Vec<u8>",
		"std::_Sp_counted_ptr_inplace<std::function<int (A, B)>, std::allocator<void>, (_Lock)2>": "std::function<int (A, B)>",
		"std::_Sp_counted_ptr_inplace<cut off":                                                    "std::_Sp_counted_ptr_inplace<cut off",
	} {
		if got := (&Type{Name: name, Count: 1}).Object(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
