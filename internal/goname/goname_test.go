package goname

import "testing"

func TestTypeArguments(t *testing.T) {
	for name, want := range map[string]string{
		"main.f": "main.f", "main.f[int]": "main.f-", "main.(*list[go.shape.struct { X []int }]).add": "main.(*list-).add",
		"a.com/b.c/d.f[int].func1[...]": "a.com/b.c/d.f-.func1-", "main.Map[go.shape.int,go.shape.string]": "main.Map-",
		"map[string]int": "map[string]int", "[]map[string]main.E[int]": "[]map[string]main.E-", "main.map[int]": "main.map-", "mymap[int]": "mymap-",
		"[3]int": "[3]int", "map[main.E[int]][]main.E[map[string][2]int]": "map[main.E-][]main.E-", "[2]main.E[[3]int]": "[2]main.E-",
		"main.f[int": "main.f[int", "main.f]int[": "main.f]int[", "main.f[a]]": "main.f[a]]", "": "", "[": "[", "]": "]",
	} {
		if got := TypeArguments(name, "-"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
