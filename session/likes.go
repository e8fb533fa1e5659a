package session

import (
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
	if _, err := other.Captures.Open(path); err != nil {
		return nil, err
	}
	return other.Queries.recordingOf(other.saved, nil).LikenessOf(seq)
}
