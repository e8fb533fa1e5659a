package session

import (
	"fmt"

	"hdb/capture"
	"hdb/report"
)

// ofPart are the reasons that say only which part of the run is recorded: of that part
// the recording is true.
var ofPart = []capture.ReasonKind{capture.BeganLate, capture.StartedLate, capture.EndedEarly, capture.Trimmed}

// Partial says why the recording has not all events of the run: what is added up is true
// of those it has.
func (s *Session) Partial() capture.Reasons {
	src := s.source()
	if src == nil {
		return nil
	}
	why := src.Info().Partial
	if hasGo(src) {
		why = why.With(capture.Reason{Kind: capture.GoHeap})
	}
	lacks := len(why.Without(capture.FreedUnseen)) > 0
	if recorded, seen := s.Recordings(); !lacks && seen > recorded { // at stops only, or by an older hdb
		why = why.With(capture.Reason{Kind: capture.SomeEvents, Text: fmt.Sprintf("%d of %d", recorded, seen)})
	}
	return why
}

// Caveats are why the numbers that are drawn from the recording may not be those of
// the run.
func (s *Session) Caveats() report.Caveats {
	if s.saved == nil {
		s.Recorder.noteLosses()
	}
	src := s.source()
	if src == nil {
		return report.Caveats{}
	}
	c := report.CaveatsOf(src)
	c.Partial = s.Partial()
	if !c.Partial.Has(capture.FreedUnseen) {
		c.Doubt = s.LiveDoubt()
	}
	return c
}

// Gaps are the caveats for an answer about the recording, a line each: without what
// says only which part of the run is recorded.
func (s *Session) Gaps() []string {
	c := s.gapsOfAnswers()
	return c.Lines()
}

func (s *Session) gapsOfAnswers() report.Caveats {
	c := s.Caveats()
	c.Doubt = s.LiveDoubt()
	c.Partial = c.Partial.Without(ofPart...)
	if c.Doubt != report.NoDoubt {
		c.Partial = c.Partial.Without(capture.FreedUnseen)
	}
	return c
}
