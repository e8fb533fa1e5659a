package session

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"hdb/inferior"
	"hdb/inferior/delve"
	"hdb/session/stopped"
	"hdb/session/variables"
	"hdb/values"
)

func TestGoAssignment(t *testing.T) {
	for expr, want := range map[string][2]string{
		"x = 1": {"x", "1"}, "x=y==z": {"x", "y==z"}, `m["a=b"] = 2`: {`m["a=b"]`, "2"},
		`m["a\"=b"] = 2`: {`m["a\"=b"]`, "2"}, "m[`a\\`] = 2": {"m[`a\\`]", "2"}, `r = '\''`: {"r", `'\''`},
		"x == 1": {}, "x <= 1": {}, "x >= 1": {}, "x != 1": {}, "x := 1": {}, `"a\\" == "="`: {}, "": {},
	} {
		to, from, ok := variables.GoAssignment(expr)
		if got := [2]string{to, from}; got != want || ok != (want[0] != "") {
			t.Errorf("%s: %q, %t; want %q", expr, got, ok, want)
		}
	}
}

// TestWatchOfGo watches package variables: hits have the names and values of variables, or their bytes where there is no valid value.
func TestWatchOfGo(t *testing.T) {
	s := open(t, "unhurt_go")
	must(t)(s.Start(nil))
	for _, name := range []string{"main.total", "main.kept"} {
		if _, err := s.Stops.Watch(name, 0, inferior.Write); err != nil {
			t.Fatal(err)
		}
	}
	var hits []string
	for len(hits) < 4 {
		r := must(t)(s.Execution.Continue(1))
		if len(r.Watched()) == 0 {
			t.Fatalf("stopped by %s, after %q", r.Headline(), hits)
		}
		for _, w := range r.Watched() {
			hits = append(hits, w.String())
		}
	}
	for _, want := range []string{"main.kept, bytes 8 to 15: 0x0 -> 0x3e80", "main.kept, bytes 16 to 23: 0x0 -> 0x3e80", "main.total: 0 -> 1"} {
		if !slices.Contains(hits, want) {
			t.Errorf("%q is not among %q", want, hits)
		}
	}
	if _, err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Start(nil))
	if err := s.Stops.Enable(1, true); err != nil {
		t.Fatal(err)
	}
	if r := must(t)(s.Execution.Continue(1)); len(r.Watched()) != 1 || r.Watched()[0].String() != "main.total: 0 -> 1" {
		t.Errorf("in the next process: %v", r.Watched())
	}
}

// TestGoChanges has the smallest parts that differ, and stops one behind as many as are shown.
func TestGoChanges(t *testing.T) {
	number := func(name, text string) delve.Value {
		return delve.Value{Name: name, Type: "int", Kind: reflect.Int, Text: text}
	}
	pair := func(a, b string) delve.Value {
		return delve.Value{Type: "main.pair", Kind: reflect.Struct, Len: 2, Children: []delve.Value{number("a", a), number("b", b)}}
	}
	array := func(all ...delve.Value) delve.Value {
		return delve.Value{Type: "[2]main.pair", Kind: reflect.Array, Len: int64(len(all)), Children: all}
	}
	o := values.Options{}
	got := goChanges(nil, "main.x", array(pair("1", "2"), pair("3", "4")), array(pair("1", "5"), pair("3", "4")), o)
	if want := []stopped.WatchedPart{{Name: "main.x[0].b", Old: "2", New: "5"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var old, now []delve.Value
	for i := range 3 * stopped.MaxWatchedParts {
		old, now = append(old, number("", fmt.Sprint(i))), append(now, number("", fmt.Sprint(i+1)))
	}
	if got := goChanges(nil, "main.x", array(old...), array(now...), o); len(got) != stopped.MaxWatchedParts+1 {
		t.Errorf("%d parts, want %d", len(got), stopped.MaxWatchedParts+1)
	}
}
