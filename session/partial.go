package session

import (
	"fmt"
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// Why a recording has not all events of the run: kept in the capture, see
// capture.Info.
const (
	beganLate      = "it began within the run"       // by an attach: times count from there
	startedLate    = "it was started within the run" // by a command: times count from the run's start
	endedEarly     = "it ended before the program"
	endedFull      = "it ended when it was large enough"
	endedUnwritten = capture.Unwritten
	droppedOlder   = "older events were dropped"
	wasPaused      = "it was paused"
	wasStopped     = "it was stopped for a while" // and started again
	freedUnseen    = capture.FreedUnseen
)

// notePartial notes in the recording that it has not all events.
func (s *Session) notePartial(why string) {
	n := len(s.info.Partial)
	if s.info.AddPartial(why); len(s.info.Partial) > n && s.rec != nil {
		s.exclusive(func() { s.rec.SetInfo(s.info) })
	}
}

// dropPartial takes back a reason that does not hold any more.
func (s *Session) dropPartial(why string) {
	if !slices.Contains(s.info.Partial, why) {
		return
	}
	s.info.Partial = slices.DeleteFunc(slices.Clone(s.info.Partial), func(reason string) bool { return reason == why })
	if s.rec != nil {
		s.exclusive(func() { s.rec.SetInfo(s.info) })
	}
}

// noteSelection notes what keeps events out of a recording that is under way.
func (s *Session) noteSelection() {
	if !s.trace.recording || s.proc == nil {
		return
	}
	if s.trace.paused {
		s.notePartial(wasPaused)
	}
	if f := s.trace.filter; f != nil {
		s.notePartial(capture.OnlyEvents + f.String())
	}
}

// spans are the reasons that say only which part of the run is recorded: of that part
// the recording is true.
var spans = []string{beganLate, startedLate, endedEarly, capture.Trimmed}

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
	lacks := slices.ContainsFunc(why, func(reason string) bool { return reason != freedUnseen })
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
	if !slices.Contains(c.Partial, freedUnseen) {
		c.Doubt = s.LiveDoubt()
	}
	return c
}

// Gaps are the caveats for an answer about the recording, a line each: without what
// says only which part of the run is recorded.
func (s *Session) Gaps() []string {
	c := s.gaps()
	return c.Lines()
}

func (s *Session) gaps() report.Caveats {
	c := s.Caveats()
	c.Doubt = s.LiveDoubt()
	c.Partial = slices.DeleteFunc(slices.Clone(c.Partial), func(reason string) bool {
		return slices.Contains(spans, reason) || reason == freedUnseen && c.Doubt != ""
	})
	return c
}

// begin is when a recording began whose times count from earlier on, as far as its
// first event tells; 0 if it began with them.
func begin(why []string, x *heap.Index) time.Duration {
	late := slices.ContainsFunc(why, func(reason string) bool {
		return reason == startedLate || reason == droppedOlder || reason == wasPaused || reason == capture.Trimmed
	})
	if runs := x.Runs(); late && len(runs) > 0 {
		return runs[0].Start
	}
	return 0
}
