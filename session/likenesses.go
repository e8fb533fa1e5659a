package session

import (
	"hdb/names"
	"hdb/query"
	"hdb/session/target"
)

// likenesses finds the events of captures that conditions name.
type likenesses struct {
	target *target.Target
	query.Likenesses
}

func newLikenesses(c *target.Target) *likenesses {
	l := &likenesses{target: c}
	l.Read = l.read
	return l
}

// same reports whether a stack of the process is the stack of the event FILE#N.
func (l *likenesses) same(event string, frames []names.Frame) bool {
	return l.Same(event, frames, func(f names.Frame) query.Origin { return query.OriginIn(l.target.Names.Modules, f) })
}

// read reads the event of that number of a capture.
func (l *likenesses) read(path string, seq uint64) (*query.Likeness, error) {
	other := New(target.Config{Version: l.target.Config.Version, Cache: l.target.Config.Cache})
	other.target.Reading = l.target.Reading
	defer other.Close()
	if _, err := other.Captures.Open(path); err != nil {
		return nil, err
	}
	return other.Queries.RecordingOf(other.target.Saved, nil).LikenessOf(seq)
}
