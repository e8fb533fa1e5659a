package session

import "hdb/report"

// LiveDoubt says why recorded blocks that seem to be live may not be.
func (s *Session) LiveDoubt() report.Doubt { return s.liveDoubt(s.saved) }
