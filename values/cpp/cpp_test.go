package cpp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "hdb/testprogs"
)

// definitions are those of the tests, as C has them.
var definitions = []string{
	"ONE 1", "TWO (ONE + ONE)", "SELF SELF + 1", "A B", "B A", "EMPTY", "MINUS -1",
	"ADD(a,b) ((a) + (b))", "NEST(x) ADD(x, TWO)", "STR(x) #x", "XSTR(x) STR(x)", "CAT(a,b) a##b", "XCAT(a,b) CAT(a,b)",
	"NOARGS() 7", "LOG(f,...) f(__VA_ARGS__)", "GNU(a,rest...) g(a, rest)", "CALL ADD", "LIST 1, 2", "FN(x) FN(x + 1)", "PTR p->next", "DUP(x) x x",
}

// lookup reads definitions.
func lookup(name string) (Macro, bool) {
	for _, d := range definitions {
		head, body, _ := strings.Cut(d, " ")
		have, params, function := strings.Cut(head, "(")
		if have != name {
			continue
		}
		m := Macro{Function: function, Body: body}
		if params = strings.TrimSuffix(params, ")"); params != "" {
			m.Params = strings.Split(params, ",")
		}
		return m, true
	}
	return Macro{}, false
}

var expressions = []string{
	"ONE", "TWO * 2", "SELF", "A", "B", "x EMPTY + 1", "-MINUS", "- MINUS", "ADD(1, 2)", "ADD(ADD(1, 2), TWO)", "ADD((1, 2), 3)", "NEST(ONE)", "ADD", "ADD + 1",
	"STR(a + \"b\\n\")", "XSTR(TWO)", "CAT(x, 1)", "CAT(ON, E)", "XCAT(ONE, 2)", "NOARGS()", "NOARGS", "LOG(f)", "LOG(f, 1, 2)", "GNU(1, 2, 3)", "CALL(1, 2)", "FN(FN(1))",
	"PTR->value", "\"ONE\"", "'O'", "x.ONE", "DUP(ONE)", "ADD(LIST)", "(ONE)", "arr[ONE]", "ONE.5", "1.ONE", "$ONE",
	"ONE == TWO && x >= ONE", "a->b <<= ONE", "MINUS-MINUS", "ADD(-x, -1)",
}

// TestExpand asks gcc's preprocessor for the same.
func TestExpand(t *testing.T) {
	var source strings.Builder
	for _, d := range definitions {
		source.WriteString("#define " + d + "\n")
	}
	good := slices.DeleteFunc(slices.Clone(expressions), func(e string) bool { return e == "ADD(LIST)" })
	for _, e := range good {
		source.WriteString("@@ " + e + "\n")
	}
	file := filepath.Join(t.TempDir(), "e.c")
	if err := os.WriteFile(file, []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-E", "-P", file).Output()
	if err != nil {
		t.Fatalf("gcc -E: %v", err)
	}
	want := strings.Split(string(out), "@@")[1:]
	if len(want) != len(good) {
		t.Fatalf("gcc has %d answers to %d questions", len(want), len(good))
	}
	for i, e := range good {
		got, err := Expand(e, lookup)
		if squeeze(got) != squeeze(want[i]) || err != nil {
			t.Errorf("%s: %q, %v; gcc has %q", e, got, err, strings.TrimSpace(want[i]))
		}
	}
}

// squeeze drops white space, which gcc sets in its own way.
func squeeze(s string) string {
	var words []string
	for _, t := range split(s) {
		words = append(words, t.text)
	}
	return strings.Join(words, " ")
}

func TestExpandErrors(t *testing.T) {
	for e, want := range map[string]string{
		"ADD(1": `macro ADD: ")" is missing after its arguments`, "ADD(1)": "macro ADD takes 2 arguments, there are 1",
		"NOARGS(1)": "macro NOARGS takes no arguments", "CAT(+, 1)": "macro CAT: + and 1 do not make one token",
		"DUP(" + strings.Repeat("DUP(", 20) + "x" + strings.Repeat(")", 21): "macros expand to too much",
	} {
		if got, err := Expand(e, lookup); err == nil || err.Error() != want {
			t.Errorf("%.40s: %.40q, %v; want %s", e, got, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, e := range expressions {
		f.Add(e, "ADD(x, ONE)", "x")
	}
	f.Fuzz(func(t *testing.T, src, body, param string) {
		text, err := Expand(src, func(name string) (Macro, bool) {
			if name == "M" || name == "x" {
				return Macro{Function: name == "M", Params: []string{param}, Body: body}, true
			}
			return lookup(name)
		})
		if err == nil && len(text) > maxText {
			t.Fatalf("%d bytes", len(text))
		}
	})
}
