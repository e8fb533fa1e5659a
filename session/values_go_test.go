package session

import "testing"

func TestGoAssignment(t *testing.T) {
	for expr, want := range map[string][2]string{
		"x = 1": {"x", "1"}, "x=y==z": {"x", "y==z"}, `m["a=b"] = 2`: {`m["a=b"]`, "2"},
		`m["a\"=b"] = 2`: {`m["a\"=b"]`, "2"}, "m[`a\\`] = 2": {"m[`a\\`]", "2"}, `r = '\''`: {"r", `'\''`},
		"x == 1": {}, "x <= 1": {}, "x >= 1": {}, "x != 1": {}, "x := 1": {}, `"a\\" == "="`: {}, "": {},
	} {
		to, from, ok := goAssignment(expr)
		if got := [2]string{to, from}; got != want || ok != (want[0] != "") {
			t.Errorf("%s: %q, %t; want %q", expr, got, ok, want)
		}
	}
}
