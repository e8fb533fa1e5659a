package session

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/names"
)

// callSiteBuilds are how compilers write call sites: LLVM tells the jump's address where
// gcc tells the one behind it.
var callSiteBuilds = [][]string{
	{"-gdwarf-4"}, {"-gdwarf-5"},
	{"CC=clang", "-Wno-unknown-attributes", "-gdwarf-4"}, {"CC=clang", "-Wno-unknown-attributes", "-gdwarf-5"},
}

// TestTailCalls shows the functions that left by tail calls.
func TestTailCalls(t *testing.T) {
	for _, flags := range callSiteBuilds {
		s := open(t, "tailcalls", flags...)
		setBreak(t, s, "leaf")
		must(t)(s.Run(nil))
		tailsAre(t, s, "leaf", "[middle]", "[outer]", "main")
		must(t)(s.Execution.Continue(1))
		tailsAre(t, s, "leaf", "[shared]", "main")
	}
}

// TestTailCallsOfTheAllocator shows the functions that called it with a jump: where it has
// returned, where it begins, and in the recording.
func TestTailCallsOfTheAllocator(t *testing.T) {
	for _, flags := range callSiteBuilds {
		s := open(t, "tailcalls", flags...)
		if err := s.Recorder.Start(); err != nil {
			t.Fatal(err)
		}
		wrapper, giver := []string{"[wrapper]", "main"}, []string{"[giver]", "main"}
		if strings.HasPrefix(flags[0], "CC=clang") { // it writes no call site for a function that it knows itself
			wrapper, giver = []string{"main"}, []string{"main"}
		}
		setBreak(t, s, "alloc if size == 3004")
		made := must(t)(s.Run(nil)).Event()
		tailsAre(t, s, wrapper...)
		setBreak(t, s, "free")
		given := must(t)(s.Execution.Continue(1)).Event()
		tailsAre(t, s, append([]string{"free"}, giver...)...)
		recorded := func() {
			t.Helper()
			for seq, want := range map[uint64][]string{made.Seq: wrapper, given.Seq: giver} {
				e, st, err := s.Queries.EventStack(seq)
				if err != nil {
					t.Fatal(err)
				}
				sameTails(t, s.Selection.WithTailCalls(st.Frames, e.Function), want...)
			}
		}
		recorded()
		must(t)(s.Execution.Continue(1))
		recorded() // of the program that has ended
		saved := filepath.Join(t.TempDir(), "tail.hdb")
		if _, err := s.Captures.Save(saved, false); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Captures.Open(saved); err != nil {
			t.Fatal(err)
		}
		recorded()
	}
}

// tailsAre compares the innermost frames of the selected stack: those in brackets have
// left by a tail call.
func tailsAre(t *testing.T, s *Session, want ...string) {
	t.Helper()
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	sameTails(t, s.Selection.WithTailCalls(st.Frames, s.Selection.Called()), want...)
}

func sameTails(t *testing.T, frames []names.Frame, want ...string) {
	t.Helper()
	var got []string
	for _, f := range frames {
		name := f.Function
		if f.Tail {
			name = "[" + name + "]"
		}
		got = append(got, name)
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%v, want %v", got, want)
	}
}
