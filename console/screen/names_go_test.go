package screen

import "testing"

func TestShortNameOfGo(t *testing.T) {
	for name, want := range map[string]string{
		"main.Map[go.shape.int,go.shape.string]":        "main.Map[...]",
		"main.(*list[go.shape.struct { X []int }]).add": "main.(*list[...]).add",
		"example.com/a.b/c.f[int].func1[...]":           "example.com/a.b/c.f[...].func1[...]",
		"main.f":                                        "main.f",
		"std::string[abi:cxx11]":                        "std::string[abi:cxx11]",
		"core::ptr::drop<[T]>":                          "core::ptr::drop<[T]>",
		"operator[]":                                    "operator[]",
		"main.f[int":                                    "main.f[int",
		"main.f]int[":                                   "main.f]int[",
		"main.f[a]]":                                    "main.f[a]]",
	} {
		if got := ShortName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
