package session

import (
	"errors"

	"hdb/inferior"
	"hdb/internal/addr"
)

// plant puts a trap where the user wants to stop. In the first instructions of a function
// that the probe follows, its jump makes room for it.
func (s *Session) plant(a addr.Run, h inferior.Handler) (*inferior.Trap, error) {
	tr, err := s.proc.Plant(a, h)
	var inside *inferior.PatchedError
	if s.probe == nil || !errors.As(err, &inside) {
		return tr, err
	}
	err = s.stopAll(func() (err error) {
		if err = s.probe.MakeRoom(a); err != nil {
			return err
		}
		tr, err = s.proc.Plant(a, h)
		return errors.Join(err, s.reshapeProbe())
	})
	return tr, err
}

// reshapeProbe has the probe's jumps go where no traps are any more, and traps lead to its
// code where others are in their way.
func (s *Session) reshapeProbe() error {
	if s.proc == nil || s.probe == nil || !s.probe.Armed() {
		return nil
	}
	t := s.proc.StoppedThread()
	if _, gone := s.proc.Exited(); gone || t == nil || s.probe.Shaped() {
		return nil
	}
	err := s.stopAll(func() error { return s.probe.Reshape(t, s.entered()) })
	if err == nil {
		return nil
	}
	s.fallBack(err)
	return s.stopAll(s.armTracer)
}

// noteCrowded says which stops make calls cost more.
func (s *Session) noteCrowded() {
	if s.probe == nil || !s.probe.Armed() {
		return
	}
	for _, st := range s.stops.All() {
		b := s.binds[st.ID]
		if b == nil || b.crowds {
			continue
		}
		for _, tr := range b.traps {
			if name, ok := s.probe.Crowded(tr.Addr()); ok {
				b.crowds = true
				s.notify("probe: breakpoint %d stands in the first instructions of %s: a trap is put at its entry instead of a jump, each of its calls costs tens of microseconds", st.ID, name)
				break
			}
		}
	}
}
