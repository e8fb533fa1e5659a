package session

import (
	"fmt"
	"time"

	"hdb/capture"
	"hdb/probe"
)

// losses are the calls of a run that are in no event, by cause.
type losses struct {
	full     uint64 // no room in the ring
	noThread uint64 // of threads that the probe had no place for
	torn     uint64 // records that were never completed
	tracer   uint64 // that plain breakpoints could not follow
}

// probeStats are the counts of all probes of the run.
func (s *Session) probeStats() probe.Stats {
	sum := s.trace.probed
	if s.probe != nil {
		sum = sum.Add(s.probe.Stats())
	}
	return sum
}

// lossesOf gathers what was lost.
func (s *Session) lossesOf(p probe.Stats) losses {
	return losses{p.Lost, p.NoThread, p.Torn, s.lost().Lost}
}

func (l losses) total() uint64 { return l.full + l.noThread + l.torn + l.tracer }

// noteLosses records the losses since the last time, and warns of them.
func (s *Session) noteLosses() {
	if s.rec == nil || s.tracer == nil && s.probe == nil {
		return
	}
	now, told := s.lossesOf(s.probeStats()), s.trace.told
	if now == told {
		return
	}
	s.trace.told = now
	tracer := "plain breakpoints could not follow the call"
	if cause := s.lost().LostCause; cause != nil {
		tracer += ": " + cause.Error()
	}
	for _, l := range []struct {
		count  uint64
		reason string
	}{
		{now.full - told.full, "the ring was full"},
		{now.noThread - told.noThread, "more threads than the probe has places for"},
		{now.torn - told.torn, "a thread ended within a record"},
		{now.tracer - told.tracer, tracer},
	} {
		if l.count == 0 {
			continue
		}
		if s.trace.recording {
			s.exclusive(func() { s.rec.AddLoss(capture.Loss{After: s.trace.last, Count: l.count, Reason: l.reason}) })
		}
		if s.trace.lossText == "" {
			s.trace.lossText = l.reason
		}
		s.trace.untold += l.count
	}
	s.warnLosses(false)
}

// warnLosses tells the user of losses, at most once a second but at the end.
func (s *Session) warnLosses(end bool) {
	tr := &s.trace
	if tr.untold == 0 || !end && time.Since(tr.warned) < time.Second {
		return
	}
	noun := "calls"
	if tr.untold == 1 {
		noun = "call"
	}
	s.notify("lost %s: %s", fmt.Sprint(tr.untold, " ", noun), tr.lossText)
	tr.untold, tr.lossText, tr.warned = 0, "", time.Now()
}
