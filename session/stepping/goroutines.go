package stepping

import (
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/inferior/delve"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/session/target"
)

// stepGo steps a Go program with delve's knowledge of goroutines.
func (s *Steps) stepGo(n int, into bool) (*stopped.Report, error) {
	defer s.exec.Step()()
	if err := s.exec.Lockable(); err != nil {
		return nil, err
	}
	g, err := s.target.Delve()
	if err != nil {
		return nil, err
	}
	verb, step := "next", g.Next
	if into {
		verb, step = "step", g.Step
	}
	for i := range max(n, 1) {
		t := s.sel.Cur.Thread
		lift, err := s.awaitReturn()
		if err != nil {
			return nil, err
		}
		s.exec.Leave()
		stop, err := step(t)
		back := lift()
		if err == nil && back && stop.Reason == inferior.Trapped && stop.Thread != nil {
			stop.Reason = inferior.Stepped
		}
		if err != nil {
			return nil, err
		}
		if stop.Reason != inferior.Stepped || i == max(n, 1)-1 {
			return s.exec.Report(stop, verb), nil
		}
		if stop.Thread != nil {
			s.sel.Cur.Thread = stop.Thread
		}
	}
	return nil, target.ErrNotRunning
}

// finishGo runs to the return of the selected function: delve, which follows inlined calls, knows the
// innermost one only.
func (s *Steps) finishGo(f names.Frame) (*stopped.Report, error) {
	if err := s.exec.Lockable(); err != nil {
		return nil, err
	}
	g, err := s.target.Delve()
	if errors.Is(err, delve.ErrNoDWARF) || err == nil && !f.Inlined && (f.Num > 0 || s.returnsIntoWrapper(f)) {
		return s.finishGoroutine(f)
	}
	if err != nil {
		return nil, err
	}
	t := s.sel.Cur.Thread
	s.exec.Leave()
	stop, err := g.StepOut(t)
	if err != nil {
		return nil, err
	}
	return s.exec.Report(stop, "finish"), nil
}

// returnsIntoWrapper reports whether the frame's function returns to one that is inlined in a function which the compiler has
// made, as the body of a go statement's function is: delve passes by such a function with all that is inlined there.
func (s *Steps) returnsIntoWrapper(f names.Frame) bool {
	st, err := s.sel.Stack(0)
	if err != nil {
		return false
	}
	frames := st.Whole()
	i := slices.IndexFunc(frames, func(x names.Frame) bool { return x.CFA != f.CFA && x.Num > f.Num })
	if i < 0 || !frames[i].Inlined {
		return false
	}
	outer := frames[i]
	for _, x := range frames[i:] {
		if x.CFA == frames[i].CFA {
			outer = x
		}
	}
	return s.target.Names.GoHelper(&outer)
}

// awaitReturn has a step of delve's stop where the selected function returns into a wrapper. lift takes that back, and
// reports whether it was there that the step has stopped.
func (s *Steps) awaitReturn() (lift func() (back bool), err error) {
	none := func() bool { return false }
	f, err := s.sel.Frame()
	if err != nil || f.Inlined || !s.returnsIntoWrapper(f) {
		return none, nil
	}
	ret, err := s.returnOf(f)
	if err != nil {
		return none, nil // delve looks for it, too
	}
	returned, err := s.returned(f)
	if err != nil {
		return none, nil
	}
	reached := false
	trap, err := s.target.Proc.Plant(ret, func(t *inferior.Thread) inferior.Action {
		if !returned(t) {
			return inferior.Resume
		}
		reached = true
		return inferior.StopHere
	})
	if err != nil {
		return nil, err
	}
	return func() bool {
		_ = trap.Remove() // it has no errors but of a process that is gone
		return reached
	}, nil
}

// returned describes a thread that is where a frame of the selected goroutine returns to whether that frame has
// returned.
func (s *Steps) returned(f names.Frame) (func(*inferior.Thread) bool, error) {
	by, ok := s.target.Goroutine(s.sel.Cur.Thread)
	if !ok {
		return nil, fmt.Errorf("%s is not on a goroutine's stack", f.Function)
	}
	m := s.target.Go.Memory(s.target.Proc)
	// above is how far it is from the stack's end to an address.
	above := func(g target.Goroutine, a addr.Run) (uint64, bool) {
		end, ok := m.Word(g.At + 8)
		return end - uint64(a), ok && uint64(a) <= end
	}
	depth, ok := above(by, f.CFA)
	if !ok {
		return nil, fmt.Errorf("%s is not on its goroutine's stack", f.Function)
	}
	return func(t *inferior.Thread) bool {
		now, ok := s.target.Goroutine(t)
		if !ok || now.ID != by.ID {
			return false
		}
		regs, err := t.Regs()
		d, ok := above(now, regs.SP())
		return err != nil || ok && d <= depth
	}, nil
}

// finishGoroutine runs until a frame of the selected goroutine has returned, on whatever thread that is
// then, and wherever its stack is.
func (s *Steps) finishGoroutine(f names.Frame) (*stopped.Report, error) {
	ret, err := s.returnOf(f)
	if err != nil {
		return nil, err
	}
	if _, ok := s.target.Goroutine(s.sel.Cur.Thread); !ok { // a stack of the system: its frames stay on the thread
		return s.finishAt(f, ret)
	}
	if s.target.Go.IsExit(addr.Return(ret)) {
		return nil, fmt.Errorf("finish: %s is the outermost function of its goroutine", f.Function)
	}
	returned, err := s.returned(f)
	if err != nil {
		return nil, fmt.Errorf("finish: %w", err)
	}
	reached, stop, err := s.exec.RunToTargets([]RunTarget{{At: ret, When: returned}})
	if err != nil {
		return nil, err
	}
	if !reached {
		return s.exec.Report(stop, "finish"), nil
	}
	return s.exec.ReportAhead(stop, "finish", &stopped.Finished{Function: f.Function, Unknown: true}, 0), nil
}
