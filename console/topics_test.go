package console

import (
	"strings"
	"testing"

	"hdb/internal/cond"
)

func TestHelpConditions(t *testing.T) {
	out, errs, _ := play(t, "help conditions")
	if errs != "" {
		t.Fatal(errs)
	}
	for _, f := range cond.Fields() {
		if !strings.Contains(out, "\n  "+strings.TrimSuffix(f.Name, "(")+" ") || !strings.Contains(out, f.Help) {
			t.Errorf("nothing on %s in\n%s", f.Name, out)
		}
	}
	for _, want := range []string{"innermost", "inlined", "every frame", "libfoo.so.1", "* in a name", "1024", "&&"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing on %q in\n%s", want, out)
		}
	}
	for line, want := range map[string]string{"help": "conditions", "apropos innermost": "help conditions", "complete help condi": "help conditions", "help condition": "give a stop another condition"} {
		if out, _, _ := play(t, line); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", line, want, out)
		}
	}
}

// TestConditionExamples holds what the help shows to the parser.
func TestConditionExamples(t *testing.T) {
	for _, ex := range conditionExamples {
		if _, err := cond.Parse(ex); err != nil {
			t.Errorf("%s: %v", ex, err)
		}
	}
	for size, want := range map[string]uint64{"0x1000": 4096, "1_000_000": 1000000, "1.5MiB": 3 << 19, "1k": 1024, "1kB": 1000, "1M": 1 << 20, "1MB": 1000000} {
		if n, err := cond.ParseSize(size); n != want || err != nil {
			t.Errorf("%s = %d, %v", size, n, err)
		}
	}
}
