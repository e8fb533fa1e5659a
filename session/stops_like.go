package session

import (
	"fmt"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
)

// likeSpec is the stop at the event FILE#N of a capture in this run: the same
// stack, as often as there. It stops once.
func (s *Stops) likeSpec(event string) (*breakpoints.Stop, error) {
	path, err := filepath.Abs(event)
	if err != nil {
		path = event
	}
	s.likes.Forget(path)
	l, err := s.likes.Of(path)
	if err != nil {
		return nil, fmt.Errorf("break at %w", err)
	}
	if own := s.programFile(); own != "" && !slices.Contains(l.Files, own) {
		s.target.Notify("break at %s: that is of %s, where no %s ran: the stop waits for the same stack", event, l.Of, own)
	}
	place := l.Function
	if _, ok := s.allocators.Function(l.Function); !ok {
		place = "alloc"
		if l.Frees {
			place = "free"
		}
	}
	spec, err := breakpoints.ParseSpec(fmt.Sprintf("%s if like(%q)", place, path), s.allocators.Extra()...)
	if err != nil {
		return nil, fmt.Errorf("break at %s: %w", event, err)
	}
	st := breakpoints.NewStop(spec)
	st.Ignore, st.Left = l.Nth-1, 1
	return st, nil
}

// programFile is the base name of the program as in modules, "" without one.
func (s *Stops) programFile() string {
	if s.target.Names.Program == nil {
		return ""
	}
	path, err := filepath.EvalSymlinks(s.target.Names.Program.Path)
	if err != nil {
		path = s.target.Names.Program.Path
	}
	return filepath.Base(path)
}
