package session

import (
	"testing"

	"hdb/inferior"
)

// A signal arrives inside of raise: finish ends the frame that the thread stands in, not
// main, which would run the program to its end.
func TestFinishAfterSignal(t *testing.T) {
	s := open(t, "signals")
	r := must(t)(s.Run(nil))
	if r.Signal == nil || r.Signal.Name != "SIGUSR1" {
		t.Fatalf("no SIGUSR1: %s", r.Headline())
	}
	if last := r.Frames[len(r.Frames)-1]; last.Function != "main" {
		t.Errorf("the frames shown end at %s, want main", last.Function)
	}
	before, err := s.SelectedFrame()
	if err != nil || before.Num != 0 {
		t.Fatalf("frame %d (%s) is selected, want 0: %v", before.Num, before.Function, err)
	}
	st, err := s.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	if r = must(t)(s.Finish()); r.Reason != inferior.Trapped {
		t.Fatalf("finish ended with %v: %s", r.Reason, r.Headline())
	}
	after, err := s.SelectedFrame()
	if err != nil || after.Num != 0 || after.CFA != st.Frames[1].CFA {
		t.Errorf("after finish: %s with CFA %v, %v; want its caller's, %v", after.Function, after.CFA, err, st.Frames[1].CFA)
	}
}

// Nothing of the program's comes after main: finish says so and runs nothing.
func TestFinishMain(t *testing.T) {
	s := open(t, "stepping")
	must(t)(s.Start(nil))
	if r, err := s.Finish(); err == nil {
		t.Errorf("finish in main went on to %s", r.Headline())
	}
	must(t)(s.Next(1))
}
