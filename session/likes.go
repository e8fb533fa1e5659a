package session

import (
	"fmt"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
	"hdb/names"
	"hdb/query"
)

// likes finds the events of captures that conditions name.
type likes struct {
	*common
	query.Likenesses
}

func newLikes(c *common) *likes {
	l := &likes{common: c}
	l.Read = l.read
	return l
}

// same tells whether a stack of the process is that of the event FILE#N.
func (l *likes) same(event string, frames []names.Frame) bool {
	return l.Same(event, frames, func(f names.Frame) query.Origin { return query.OriginIn(l.names.Modules, f) })
}

// read reads the event of that number of a capture.
func (l *likes) read(path string, seq uint64) (*query.Likeness, error) {
	other := New(Config{Version: l.cfg.Version, Cache: l.cfg.Cache})
	other.reading = l.reading
	defer other.Close()
	if _, err := other.Open(path); err != nil {
		return nil, err
	}
	return other.recordingOf(other.saved, nil).LikenessOf(seq)
}

// programFile is the base name of the program as modules have it, "" without one.
func (s *Session) programFile() string {
	if s.names.Program == nil {
		return ""
	}
	path, err := filepath.EvalSymlinks(s.names.Program.Path)
	if err != nil {
		path = s.names.Program.Path
	}
	return filepath.Base(path)
}

// likeSpec is the stop at the event FILE#N of a capture in this run: the same
// stack, as often as there. It stops once.
func (s *Session) likeSpec(event string) (*breakpoints.Stop, error) {
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
		s.notify("break at %s: that is of %s, where no %s ran: the stop waits for the same stack", event, l.Of, own)
	}
	place := l.Function
	if _, ok := s.Allocators.function(l.Function); !ok {
		place = "alloc"
		if l.Frees {
			place = "free"
		}
	}
	spec, err := breakpoints.ParseSpec(fmt.Sprintf("%s if like(%q)", place, path), s.Allocators.fns...)
	if err != nil {
		return nil, fmt.Errorf("break at %s: %w", event, err)
	}
	st := breakpoints.NewStop(spec)
	st.Ignore, st.Left = l.Nth-1, 1
	return st, nil
}
