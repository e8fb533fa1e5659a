package session

import (
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
)

// Watch sets a hardware watchpoint on size bytes at the address; 0 is the size of
// the variable there.
func (s *Session) Watch(expr string, size int, kind inferior.WatchKind) (*breakpoints.Stop, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	a, err := s.Address(strings.TrimPrefix(strings.TrimSpace(expr), "*"))
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = s.watchSize(a)
	}
	w, err := s.proc.Watch(a, size, kind)
	if err != nil {
		return nil, err
	}
	st := s.stops.Add(breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopWatch, Location: expr, Addr: a}))
	st.Places = []breakpoints.Place{{Addr: a}}
	s.binds[st.ID] = &binding{watch: w, size: size, access: kind}
	return st, nil
}

// watchSize is how much to watch when nobody says: the variable that begins at
// the address, or as much as its alignment allows.
func (s *Session) watchSize(a addr.Run) int {
	if sym, err := s.SymbolAt(a); err == nil && sym.Offset == 0 {
		switch sym.Size {
		case 1, 2, 4, 8:
			return int(sym.Size)
		}
	}
	size := 8
	for a%addr.Run(size) != 0 {
		size /= 2
	}
	return size
}

// bindWatch sets the watchpoint again that unbind has taken away.
func (s *Session) bindWatch(st *breakpoints.Stop) (err error) {
	b := s.binds[st.ID]
	if b.watch == nil {
		b.watch, err = s.proc.Watch(st.Addr, b.size, b.access)
	}
	return err
}

// watched counts the hit of the watchpoint at which the engine stopped, and
// tells whether to stop there.
func (s *Session) watched(stop inferior.Stop) bool {
	for _, st := range s.stops.All() {
		if b := s.binds[st.ID]; b.watch != stop.Watch {
			continue
		}
		if !st.Check(newCodeEnv(s, stop.Thread)) {
			return len(s.hits) > 0 // of another stop, at the same time
		}
		s.hits = append(s.hits, hit{stop: st, thread: stop.Thread})
	}
	return true
}

// stepInstruction executes one instruction of the thread.
func (s *Session) stepInstruction(t *inferior.Thread) (inferior.Stop, error) {
	if behind, ok := s.behindSyscall(t); ok {
		return s.overSyscall(t, behind)
	}
	stop, err := s.proc.StepInstruction(t)
	if err == nil && stop.Reason == inferior.Watched && !s.watched(stop) {
		return inferior.Stop{Reason: inferior.Stepped, Thread: t}, nil
	}
	return stop, err
}

// forgetBindings follows the end of a process or of its program: all traps are
// gone with the memory. A watchpoint is disabled, because what stands at its
// address next is something else.
func (s *Session) forgetBindings() {
	for _, st := range s.stops.All() {
		b := s.binds[st.ID]
		b.traps, b.watch = nil, nil
		if st.Kind == breakpoints.StopWatch && st.Enabled {
			st.Enabled = false
			s.notify("watchpoint %d is disabled: the program that it watched is gone", st.ID)
		}
	}
}
