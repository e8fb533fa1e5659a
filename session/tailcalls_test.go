package session

import (
	"slices"
	"testing"
)

// TestTailCalls shows the functions that left by tail calls, by the call sites of each
// compiler: LLVM tells the jump's address where gcc tells the one behind it.
func TestTailCalls(t *testing.T) {
	for _, flags := range [][]string{{"-gdwarf-4"}, {"-gdwarf-5"}, {"CC=clang", "-Wno-unknown-attributes", "-gdwarf-4"}, {"CC=clang", "-Wno-unknown-attributes", "-gdwarf-5"}} {
		s := open(t, "tailcalls", flags...)
		setBreak(t, s, "leaf")
		must(t)(s.Run(nil))
		for _, want := range [][]string{{"leaf", "middle", "outer", "main"}, {"leaf", "shared", "main"}} {
			st, err := s.Stack(0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, f := range s.WithTailCalls(st.Frames) {
				if len(got) < len(want) {
					got = append(got, f.Function)
				}
				if inner := i > 0 && i < len(want)-1; f.Tail != inner {
					t.Errorf("%v: frame %d, %s: tail call %v", flags, i, f.Function, f.Tail)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", flags, got, want)
			}
			must(t)(s.Continue(1))
		}
	}
}
