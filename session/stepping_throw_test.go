package session

import (
	"fmt"
	"testing"

	"hdb/inferior"
	"hdb/session/stopped"
)

// TestStepsOverExits: a call that an exception or a longjmp leaves does not return; what
// steps over it ends where the program goes on. gdb's next does, too.
func TestStepsOverExits(t *testing.T) {
	next := func(s *Session) (*stopped.Report, error) { return s.Stepping.Next(1) }
	instructions := func(s *Session) (r *stopped.Report, err error) {
		from, err := s.Selection.Frame()
		for err == nil {
			if r, err = s.Stepping.NextInstruction(1); err != nil || r.Reason != inferior.Stepped {
				break
			}
			if f := r.Frames[0]; f.Function != from.Function || f.Line != from.Line {
				break
			}
		}
		return r, err
	}
	until := func(s *Session) (*stopped.Report, error) { return s.Stepping.Until("") }
	advance := func(s *Session) (*stopped.Report, error) { return s.Stepping.Advance("exceptions.cc:48") }
	for _, c := range []struct {
		program, at string
		passed      int // hits before
		verb        string
		run         func(*Session) (*stopped.Report, error)
		lines       []int // of main
	}{
		{"exceptions", "exceptions.cc:38", 0, "next", next, []int{39, 40}},
		{"exceptions", "exceptions.cc:38", 0, "until", until, []int{39, 40}},
		{"exceptions", "exceptions.cc:38", 0, "nexti", instructions, []int{39, 40}},
		{"exceptions", "exceptions.cc:16", 0, "next", next, []int{39, 40}}, // operator new throws
		{"exceptions", "exceptions.cc:16", 0, "advance", advance, []int{39, 40}},
		{"exceptions", "exceptions.cc:43", 0, "next", next, []int{44, 45}}, // caught and thrown again further in
		{"longjmp", "longjmp.c:22", 1, "next", next, []int{21, 24}},
		{"longjmp", "longjmp.c:13", 0, "next", next, []int{21, 24}},
	} {
		t.Run(fmt.Sprintf("%s at %s", c.verb, c.at), func(t *testing.T) {
			s := open(t, c.program)
			setBreak(t, s, c.at)
			must(t)(s.Run(nil))
			for range c.passed {
				must(t)(s.Execution.Continue(1))
			}
			if err := s.Stops.Delete(1); err != nil {
				t.Fatal(err)
			}
			r := must(t)(c.run(s))
			if len(r.Frames) == 0 || r.Frames[0].Function != "main" || r.Frames[0].Line < c.lines[0] || r.Frames[0].Line > c.lines[1] {
				t.Fatalf("%s: want lines %d of main: %s [%s]", c.verb, c.lines, r.Headline(), path(r.Frames))
			}
			must(t)(s.Stepping.Next(1))
			if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
				t.Errorf("ended by %v", r.Exit())
			}
		})
	}
}
