package session

import (
	"hdb/capture"
	"hdb/internal/cond"
	"hdb/report"
)

// LiveDoubt says why recorded blocks that seem to be live may not be.
func (s *Session) LiveDoubt() report.Doubt {
	switch {
	case s.saved != nil && s.saved.Info().Partial.Has(capture.FreedUnseen):
		return report.UnfollowedThen
	case s.saved == nil && s.gaps.Blind():
		return report.UnfollowedSince
	}
	return report.NoDoubt
}

// countsDoubt says why live and blocks may not be what a condition that asks for them
// takes them for.
func (s *Session) countsDoubt(c *cond.Cond) report.Doubt {
	switch {
	case c == nil || !c.Uses(cond.Live) && !c.Uses(cond.Blocks):
	case s.saved != nil && s.LiveDoubt() != report.NoDoubt:
		return report.CountsMayBeHigh
	case s.saved != nil:
	case s.gaps.Counted():
		return report.CountsUnknown
	case s.gaps.Calls():
		return report.CountsMayBeLow
	}
	return report.NoDoubt
}

// warnCounts says so, once in a run for the same condition and doubt.
func (s *Session) warnCounts(c *cond.Cond) {
	doubt := s.countsDoubt(c)
	if doubt == report.NoDoubt {
		return
	}
	text := c.String() + ": " + report.DoubtText(doubt)
	if s.said[text] {
		return
	}
	if s.said == nil { // a capture is open
		s.said = map[string]bool{}
	}
	s.said[text] = true
	s.notify("%s", text)
}
