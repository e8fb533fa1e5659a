package cond

import "testing"

func TestTypeNames(t *testing.T) {
	for _, name := range []string{
		"main.page", "*main.page", "[]uint8", "main.pair[net/http.Request]", "[4]main.pair[a/b.T,c/d.U]", "main.bitmap[a/b.T]", "main.pair[net/http.*", "map[string]main.T", "chan<- int",
		"struct (unnamed struct at /usr/include/a.h:3)", "*", "main.*", "std::vector<int>", "alloc::vec::Vec<u8>", "/", "operator/",
	} {
		if err := CheckType(name); err != nil {
			t.Error(err)
		}
	}
	const text = ": types of Go have the name of their package, not its path"
	for name, want := range map[string]string{
		"net/http.Request":                    `: "http.Request"`,
		"[]*net/http.Request":                 `: "[]*http.Request"`,
		"map[string]*net/http.Request":        `: "map[string]*http.Request"`,
		"map[net/http.ConnState]int":          `: "map[http.ConnState]int"`,
		"chan net/http.Request":               `: "chan http.Request"`,
		"func(net/http.Request)":              `: "func(http.Request)"`,
		"a/b.T[c/d.U]":                        `: "b.T[c/d.U]"`,
		"github.com/jackc/pgx/v5.Conn":        `, as http.Request is of net/http`,
		"gopkg.in/yaml.v3.Node":               `, as http.Request is of net/http`,
		"example.com/go-thing.T":              `, as http.Request is of net/http`,
		"net/http*":                           `, as http.Request is of net/http`,
		"net/http.*":                          `: "http.*"`,
		"example.com/m/v2/store.entry[int,a]": `: "store.entry[int,a]"`,
	} {
		if err := CheckType(name); err == nil || err.Error() != "type "+quote(name)+text+want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
