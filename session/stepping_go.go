package session

import (
	"errors"
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
)

// stepGo steps a Go program with delve's knowledge of goroutines.
func (s *Stepping) stepGo(n int, into bool) (*Report, error) {
	defer s.exec.step()()
	if err := s.exec.lockable(); err != nil {
		return nil, err
	}
	g, err := s.target.Proc.Go()
	if err != nil {
		return nil, err
	}
	verb, step := "next", g.Next
	if into {
		verb, step = "step", g.Step
	}
	for i := range max(n, 1) {
		t := s.sel.Cur.Thread
		s.exec.leave()
		stop, err := step(t)
		if err != nil {
			return nil, err
		}
		if stop.Reason != inferior.Stepped || i == max(n, 1)-1 {
			return s.exec.report(stop, verb), nil
		}
		if stop.Thread != nil {
			s.sel.Cur.Thread = stop.Thread
		}
	}
	return nil, target.ErrNotRunning
}

// finishGo runs to the return of the selected function: delve, which follows inlined calls, knows the
// innermost one only.
func (s *Stepping) finishGo(f names.Frame) (*Report, error) {
	if err := s.exec.lockable(); err != nil {
		return nil, err
	}
	g, err := s.target.Proc.Go()
	if errors.Is(err, inferior.ErrNoGoDWARF) || err == nil && f.Num > 0 && !f.Inlined {
		return s.finishGoroutine(f)
	}
	if err != nil {
		return nil, err
	}
	t := s.sel.Cur.Thread
	s.exec.leave()
	stop, err := g.StepOut(t)
	if err != nil {
		return nil, err
	}
	return s.exec.report(stop, "finish"), nil
}

// finishGoroutine runs until a frame of the selected goroutine has returned, on whatever thread that is
// then, and wherever its stack is.
func (s *Stepping) finishGoroutine(f names.Frame) (*Report, error) {
	ret, err := s.returnOf(f)
	if err != nil {
		return nil, err
	}
	by, ok := s.target.Goroutine(s.sel.Cur.Thread)
	if !ok { // a stack of the system: its frames stay on the thread
		return s.finishAt(f, ret)
	}
	if s.target.Go.IsExit(addr.Return(ret)) {
		return nil, fmt.Errorf("finish: %s is the outermost function of its goroutine", f.Function)
	}
	m := s.target.Go.Memory(s.target.Proc)
	// above is how far it is from the stack's end to an address.
	above := func(g target.Goroutine, a addr.Run) (uint64, bool) {
		end, ok := m.Word(g.At + 8)
		return end - uint64(a), ok && uint64(a) <= end
	}
	depth, ok := above(by, f.CFA)
	if !ok {
		return nil, fmt.Errorf("finish: %s is not on its goroutine's stack", f.Function)
	}
	reached, stop, err := s.exec.runToTargets([]runTarget{{at: ret, when: func(t *inferior.Thread) bool {
		now, ok := s.target.Goroutine(t)
		if !ok || now.ID != by.ID {
			return false
		}
		regs, err := t.Regs()
		d, ok := above(now, regs.SP())
		return err != nil || ok && d <= depth
	}}})
	if err != nil {
		return nil, err
	}
	if !reached {
		return s.exec.report(stop, "finish"), nil
	}
	return s.exec.reportAhead(stop, "finish", &Finished{Function: f.Function, Unknown: true}, 0), nil
}
