package session

import (
	"fmt"
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/recording"
	"hdb/report"
)

// noteSelection notes what keeps events out of a recording that is under way.
func (s *Session) noteSelection() {
	st := s.rec.Status()
	if !st.On || s.proc == nil {
		return
	}
	if st.Paused {
		s.rec.NotePartial(recording.WasPaused)
	}
	if st.Filter != "" {
		s.rec.NotePartial(capture.OnlyEvents + st.Filter)
	}
}

// spans are the reasons that say only which part of the run is recorded: of that part
// the recording is true.
var spans = []string{recording.BeganLate, recording.StartedLate, recording.EndedEarly, capture.Trimmed}

// Partial says why the recording has not all events of the run, a line for each
// reason: what is added up is true of those it has.
func (s *Session) Partial() []string {
	src := s.source()
	if src == nil {
		return nil
	}
	why := slices.Clip(src.Info().Partial)
	if hasGo(src) && !slices.Contains(why, capture.GoHeap) {
		why = append(why, capture.GoHeap)
	}
	lacks := slices.ContainsFunc(why, func(reason string) bool { return reason != recording.FreedUnseen })
	if recorded, seen := s.Recordings(); !lacks && seen > recorded { // at stops only, or by an older hdb
		why = append(why, fmt.Sprintf("%d of %d events were recorded", recorded, seen))
	}
	return why
}

// Caveats are why the numbers that are drawn from the recording may not be those of
// the run.
func (s *Session) Caveats() report.Caveats {
	if s.saved == nil {
		s.noteLosses()
	}
	src := s.source()
	if src == nil {
		return report.Caveats{}
	}
	c := report.CaveatsOf(src)
	c.Partial = s.Partial()
	if !slices.Contains(c.Partial, recording.FreedUnseen) {
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
	c.Partial = slices.DeleteFunc(slices.Clone(c.Partial), func(reason string) bool {
		return slices.Contains(spans, reason) || reason == recording.FreedUnseen && c.Doubt != ""
	})
	return c
}

// begin is when a recording began whose times count from earlier on, as far as its
// first event tells; 0 if it began with them.
func begin(why []string, x *heap.Index) time.Duration {
	late := slices.ContainsFunc(why, func(reason string) bool {
		return reason == recording.StartedLate || reason == recording.DroppedOlder || reason == recording.WasPaused || reason == capture.Trimmed
	})
	if runs := x.Runs(); late && len(runs) > 0 {
		return runs[0].Start
	}
	return 0
}
