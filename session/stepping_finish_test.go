package session

import (
	"errors"
	"fmt"
	"testing"

	"hdb/inferior"
	"hdb/session/stopped"
	"hdb/values"
)

// A signal arrives inside of raise: finish ends the frame that the thread stands in, not
// main, which would run the program to its end.
func TestFinishAfterSignal(t *testing.T) {
	s := open(t, "signals")
	r := must(t)(s.Run(nil))
	if r.Signal() == nil || r.Signal().Name != "SIGUSR1" {
		t.Fatalf("no SIGUSR1: %s", r.Headline())
	}
	if last := r.Frames[len(r.Frames)-1]; last.Function != "main" {
		t.Errorf("the frames shown end at %s, want main", last.Function)
	}
	before, err := s.Selection.Frame()
	if err != nil || before.Num != 0 {
		t.Fatalf("frame %d (%s) is selected, want 0: %v", before.Num, before.Function, err)
	}
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	if r = must(t)(s.Stepping.Finish()); r.Reason != inferior.Trapped {
		t.Fatalf("finish ended with %v: %s", r.Reason, r.Headline())
	}
	after, err := s.Selection.Frame()
	if err != nil || after.Num != 0 || after.CFA != st.Frames[1].CFA {
		t.Errorf("after finish: %s with CFA %v, %v; want its caller's, %v", after.Function, after.CFA, err, st.Frames[1].CFA)
	}
}

// A numbered stop where the function returns to does not keep its value from being told.
func TestFinishAtStop(t *testing.T) {
	s := open(t, "stepping")
	setBreak(t, s, "leaf")
	must(t)(s.Run(nil))
	st, err := s.Selection.Stack(2)
	if err != nil {
		t.Fatal(err)
	}
	setBreak(t, s, fmt.Sprintf("*%v", st.Frames[1].Code.Addr()))
	r := must(t)(s.Stepping.Finish())
	if len(r.Hits) != 1 || r.Hits[0].ID != 2 || stopped.CauseOf[*stopped.Finished](r) == nil {
		t.Fatalf("want breakpoint 2 and a return: %s", r.Headline())
	}
	v, err := s.Values.Returned(stopped.CauseOf[*stopped.Finished](r).Frame, values.Options{})
	if err != nil || v.Value != "1" || v.Type != "int" || v.Num != 1 {
		t.Errorf("%+v, %v; want int 1 as $1", v, err)
	}
}

// Nothing of the program's comes after main: finish says so and runs nothing.
func TestFinishMain(t *testing.T) {
	s := open(t, "stepping")
	must(t)(s.Start(nil))
	if r, err := s.Stepping.Finish(); err == nil {
		t.Errorf("finish in main went on to %s", r.Headline())
	}
	must(t)(s.Stepping.Next(1))
}

// What an exception or a longjmp leaves does not return: finish ends where the program
// goes on, in main. Handlers further in are not the end of the frame.
func TestFinishLeft(t *testing.T) {
	for _, tc := range []struct {
		program, function string
		passed            int // hits before the one that is left
	}{{"exceptions", "too_large", 0}, {"exceptions", "rethrow", 0}, {"longjmp", "checked_alloc", 1}} {
		t.Run(tc.program+" "+tc.function, func(t *testing.T) {
			s := open(t, tc.program)
			setBreak(t, s, tc.function)
			must(t)(s.Run(nil))
			for range tc.passed {
				if r := must(t)(s.Stepping.Finish()); stopped.CauseOf[*stopped.Finished](r) == nil || stopped.CauseOf[*stopped.Finished](r).Left {
					t.Fatalf("the first call did not return: %s", r.Headline())
				}
				must(t)(s.Execution.Continue(1))
			}
			if err := s.Stops.Delete(1); err != nil {
				t.Fatal(err)
			}
			r := must(t)(s.Stepping.Finish())
			if stopped.CauseOf[*stopped.Finished](r) == nil || !stopped.CauseOf[*stopped.Finished](r).Left || len(r.Frames) == 0 || r.Frames[0].Function != "main" {
				t.Fatalf("want a stop in main: %s [%s]", r.Headline(), path(r.Frames))
			}
			must(t)(s.Stepping.Next(1))
		})
	}
}

// Without debug information the register is all that is known.
func TestFinishBare(t *testing.T) {
	s := open(t, "stepping", "-g0")
	setBreak(t, s, "leaf")
	must(t)(s.Run(nil))
	r := must(t)(s.Stepping.Finish())
	if stopped.CauseOf[*stopped.Finished](r) == nil || stopped.CauseOf[*stopped.Finished](r).RAX != 1 {
		t.Fatalf("want 1 in rax: %s, %+v", r.Headline(), stopped.CauseOf[*stopped.Finished](r))
	}
	if v, err := s.Values.Returned(stopped.CauseOf[*stopped.Finished](r).Frame, values.Options{}); !errors.Is(err, values.ErrNoDebug) {
		t.Errorf("%+v, %v; want %v", v, err, values.ErrNoDebug)
	}
}
