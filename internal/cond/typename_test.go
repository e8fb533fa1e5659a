package cond

import "testing"

func TestTypeNames(t *testing.T) {
	for _, name := range []string{
		"main.page", "*main.page", "[]uint8", "main.pair[net/http.Request]", "[4]main.pair[a/b.T,c/d.U]", "map[string]main.T",
		"struct (unnamed struct at /usr/include/a.h:3)", "*", "main.*", "std::vector<a/b>", "alloc::vec::Vec<u8>", "/",
	} {
		if err := CheckType(name); err != nil {
			t.Error(err)
		}
	}
	if err := CheckType("[]*net/http.Request"); err == nil || err.Error() != `type "[]*net/http.Request": types of Go have the last element of the package's path only: "[]*http.Request"` {
		t.Error(err)
	}
}
