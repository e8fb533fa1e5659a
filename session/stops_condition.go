package session

import (
	"fmt"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/when"
	"hdb/python/eval"
)

// SetCondition gives the stop a condition; "" takes it away.
func (s *Stops) SetCondition(id int, text string) error {
	st, err := s.At(id)
	if err != nil {
		return err
	}
	if st.Kind == breakpoints.StopPython && strings.TrimSpace(text) != "" {
		if err := eval.CheckCondition(text); err != nil {
			return fmt.Errorf("condition: %w", err)
		}
	}
	was := st.Cond
	if err := st.SetCondition(strings.TrimSpace(text)); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	switch {
	case onState(st):
		s.conditions.warnStopCounts(st)
		s.planes.states.forget(st)
		return s.planes.arm()
	case st.Kind == breakpoints.StopLeaked:
		s.binds[st.ID].traced.calls = when.NewCalls(st.When)
		return s.planes.arm()
	}
	if err := s.checkCondition(st); err != nil {
		st.Cond = was
		return err
	}
	s.conditions.warnStop(st)
	return s.planes.arm()
}

// checkCondition is the error of the condition of a stop. A watchpoint's uses the variables of the
// frame in which it was set.
func (s *Stops) checkCondition(st *breakpoints.Stop) error {
	env := newCodeEnv(s, st, s.binds[st.ID].home.thread)
	if _, _, ok := env.home(st, false); !ok {
		return s.conditions.check(st, nil)
	}
	return env.Read(func() error {
		home, err := s.values.Frame()
		if err != nil {
			return err
		}
		return s.conditions.check(st, home)
	})
}
