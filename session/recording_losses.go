package session

import (
	"slices"
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

// A Loss is a number of calls that are in no event, for one reason.
type Loss struct {
	Count  uint64
	Reason string
}

// list is the losses that there are, each with its reason.
func (l losses) list(tracer string) []Loss {
	return slices.DeleteFunc([]Loss{
		{l.full, "hdb was too slow: the ring had no room for them"},
		{l.noThread, "made by more threads than the probe has places for"},
		{l.torn, "begun by a thread that ended within its record"},
		{l.tracer, tracer},
	}, func(l Loss) bool { return l.Count == 0 })
}

func (l losses) minus(o losses) losses {
	return losses{l.full - o.full, l.noThread - o.noThread, l.torn - o.torn, l.tracer - o.tracer}
}

// tracerLoss is why plain breakpoints lost calls.
func (s *Session) tracerLoss() string {
	text := "plain breakpoints could not follow them"
	if cause := s.lost().LostCause; cause != nil {
		text += ": " + cause.Error()
	}
	return text
}

func (st *RecordStatus) setLosses(losses []Loss) {
	st.Losses, st.Lost = losses, 0
	for _, l := range losses {
		st.Lost += l.Count
	}
}

// noteLosses records the losses since the last time, and warns of them.
func (s *Session) noteLosses() {
	if s.rec == nil || s.tracer == nil && s.probe == nil {
		return
	}
	now := s.lossesOf(s.probeStats())
	fresh := now.minus(s.trace.told).list(s.tracerLoss())
	s.trace.told = now
	for _, l := range fresh {
		if s.trace.recording {
			s.exclusive(func() { s.rec.AddLoss(capture.Loss{After: s.trace.last, Count: l.Count, Reason: l.Reason}) })
		}
		if s.trace.untold == 0 {
			s.trace.lossText = l.Reason
		}
		s.trace.untold += l.Count
	}
	s.warnLosses()
}

// warnLosses tells the user of losses, at most once a second; `record status`
// has them all.
func (s *Session) warnLosses() {
	tr := &s.trace
	if tr.untold == 0 || time.Since(tr.warned) < time.Second {
		return
	}
	noun := "calls"
	if tr.untold == 1 {
		noun = "call"
	}
	s.notify("%d %s lost: %s", tr.untold, noun, tr.lossText)
	tr.untold, tr.warned = 0, time.Now()
}
