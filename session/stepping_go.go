package session

import "hdb/inferior"

// stepGo steps a Go program with delve's knowledge of goroutines.
func (s *Stepping) stepGo(n int, into bool) (*Report, error) {
	defer s.exec.step()()
	if err := s.exec.lockable(); err != nil {
		return nil, err
	}
	if err := s.sel.steps(); err != nil {
		return nil, err
	}
	g, err := s.proc.Go()
	if err != nil {
		return nil, err
	}
	verb, step := "next", g.Next
	if into {
		verb, step = "step", g.Step
	}
	for i := range max(n, 1) {
		t := s.sel.thread
		s.exec.leave()
		stop, err := step(t)
		if err != nil {
			return nil, err
		}
		if stop.Reason != inferior.Stepped || i == max(n, 1)-1 {
			return s.exec.report(stop, verb), nil
		}
		if stop.Thread != nil {
			s.sel.thread = stop.Thread
		}
	}
	return nil, ErrNotRunning
}

// finishGo runs to the return of the innermost Go function.
func (s *Stepping) finishGo() (*Report, error) {
	if err := s.exec.lockable(); err != nil {
		return nil, err
	}
	if err := s.sel.steps(); err != nil {
		return nil, err
	}
	g, err := s.proc.Go()
	if err != nil {
		return nil, err
	}
	t := s.sel.thread
	s.exec.leave()
	stop, err := g.StepOut(t)
	if err != nil {
		return nil, err
	}
	return s.exec.report(stop, "finish"), nil
}
