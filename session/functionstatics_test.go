package session

import (
	"testing"

	"hdb/testprogs"
	"hdb/values"
)

// TestStaticsOfFunctions asks for variables by their functions, which gdb writes FUNCTION::VARIABLE: for static ones of a program
// that does not run and of one that does, where a function is a function of its own and where all of it was inlined; and for others
// of a function that is on the stack. A function has none of another that was inlined into it.
func TestStaticsOfFunctions(t *testing.T) {
	for _, flag := range []string{"-O0", "-O2"} {
		s := open(t, "basic")
		if _, err := s.Load(testprogs.Build(t, "functionstatics", flag)); err != nil {
			t.Fatal(err)
		}
		ask := func(when string, want map[string]string) {
			for expr, value := range want {
				got, err := s.Values.Show(expr, values.Options{})
				if value == "" && err == nil || value != "" && got != value {
					t.Errorf("%s, %s: %s = %q, %v, want %q", flag, when, expr, got, err, value)
				}
			}
		}
		ask("before it runs", map[string]string{"main::total": "40", "rounds::total": "3", "rounds::only": "5", "main::only": "", "rounds::none": ""})
		if _, err := s.Stops.Break("printf", false); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Run(nil))
		ask("at printf", map[string]string{"main::local": "7", "'main'::local": "7", "rounds::local": ""})
		ask("at printf", map[string]string{"main::total": "48", "rounds::total": "8", "rounds::only": "6", "main::only": "", "rounds::none": ""})
	}
}
