package session

import (
	"hdb/capture"
	"hdb/internal/cond"
	"hdb/recording"
)

// noteUnfollowed notes what will not be known of blocks when the program goes on, as it
// does now. All of its threads stand.
func (s *Session) noteUnfollowed() {
	watched := 0
	if s.probe != nil && s.probe.Armed() {
		watched = len(s.probe.Watches()) // all that are recorded, or none
	}
	s.gaps.RunOn(s.rec, s.followsAll(), watched)
	if s.gaps.Blind() && s.eventsArmed() { // there may be recorded events behind the gap
		s.rec.NotePartial(capture.Reason{Kind: capture.FreedUnseen})
	}
}

// followsAll tells whether every allocator call reaches hdb.
func (s *Session) followsAll() bool {
	return s.tracer.Armed() || s.probe != nil && s.probe.Recording()
}

// LiveDoubt says why recorded blocks that seem to be live may not be, "" if they are.
func (s *Session) LiveDoubt() string {
	switch {
	case s.saved != nil && s.saved.Info().Partial.Has(capture.FreedUnseen):
		return "not every allocator call was followed while this was recorded: blocks that seem to live may be freed"
	case s.saved == nil && s.gaps.Blind():
		return recording.RanUnfollowed
	}
	return ""
}

// countsDoubt says why live and blocks may not be what a condition that asks for them
// takes them for, "" if they are.
func (s *Session) countsDoubt(c *cond.Cond) string {
	if s.saved == nil {
		return s.gaps.Doubt(c)
	}
	if c != nil && (c.Uses(cond.Live) || c.Uses(cond.Blocks)) && s.LiveDoubt() != "" {
		return "live and blocks may be too high: blocks that they count may have been freed while calls were not followed"
	}
	return ""
}

// warnCounts says so, once in a run for the same condition and doubt.
func (s *Session) warnCounts(c *cond.Cond) {
	doubt := s.countsDoubt(c)
	if doubt == "" || s.said[c.String()+doubt] {
		return
	}
	if s.said == nil { // a capture is open
		s.said = map[string]bool{}
	}
	s.said[c.String()+doubt] = true
	s.notify("%s: %s", c, doubt)
}
