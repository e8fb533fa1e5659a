package session

import (
	"hdb/breakpoints"
	"hdb/internal/cond"
	"hdb/report"
)

// eventCount counts events in the times in which a stop was set and enabled.
type eventCount struct {
	on        bool
	from, sum uint64
}

func (e *eventCount) begin(seq uint64) {
	if !e.on {
		e.on, e.from = true, seq
	}
}

func (e *eventCount) end(seq uint64) {
	e.sum, e.on = e.total(seq), false
}

func (e *eventCount) total(seq uint64) uint64 {
	if e.on && seq > e.from { // it is below if the stop was set where others were hit
		return e.sum + seq - e.from
	}
	return e.sum
}

// count has the events counted that a stop sees from now on.
func (s *Session) count(b *binding) {
	b.seen.begin(s.rec.Seq())
	b.unsized.begin(s.rec.Live().Unsized())
}

// stopSeq is the number of the last event for whoever looks at a stop: of the event there,
// if it is one. Other threads may have made more before they stood.
func (s *Session) stopSeq() uint64 {
	last := uint64(0)
	for _, h := range s.hits {
		if h.event != nil {
			last = max(last, h.event.Seq)
		}
	}
	if last == 0 {
		return s.rec.Seq()
	}
	return last
}

// StopDetail is what is known of a stop beside the stop itself, most of it of stops at
// allocations.
type StopDetail struct {
	// InProcess and Outside are the names of its condition that the probe
	// decides inside the process, and that hdb decides.
	InProcess, Outside []string
	Plane              Plane
	Live               bool         // the stop is being waited for: the above is known
	Passed             uint64       // events of this run that it let pass
	Unsized            uint64       // frees of blocks whose size is not known, while it was set: no comparison with it holds
	Doubt              report.Doubt // why its condition may not be right
}

// StopDetail tells more of a stop; ok is false for one that is not at allocations, of
// which only Doubt is known.
func (s *Session) StopDetail(st *breakpoints.Stop) (d StopDetail, ok bool) {
	if st.Enabled {
		d.Doubt = s.countsDoubt(st.Cond)
	}
	b := s.binds[st.ID]
	if !onEvents(st) || b == nil {
		return d, false
	}
	if seen := b.seen.total(s.stopSeq()); seen > st.Hits {
		d.Passed = seen - st.Hits
	}
	if st.Kind == breakpoints.StopFree && st.Cond != nil && st.Cond.Uses(cond.Size) {
		d.Unsized = b.unsized.total(s.rec.Live().Unsized())
	}
	if s.proc == nil || !st.Enabled {
		return d, true
	}
	d.Plane, d.Live = s.Plane(), s.eventsArmed()
	if s.probe != nil && s.probe.Armed() {
		var err error
		if d.InProcess, d.Outside, err = s.probe.Describe(st); err != nil {
			s.notify("breakpoint %d: %v", st.ID, err)
		}
	}
	return d, true
}

// spanStops counts events for the enabled stops of a new run, which begins.
func (s *Session) spanStops() {
	for _, st := range s.stops.All() {
		b := s.binds[st.ID]
		b.seen, b.unsized = eventCount{}, eventCount{}
		if st.Enabled {
			s.count(b)
		}
	}
}

// spanHits ends the count of stops that their hit has disabled.
func (s *Session) spanHits() {
	for _, h := range s.hits {
		if h.stop == nil || h.stop.Enabled || h.event == nil {
			continue
		}
		if b := s.binds[h.stop.ID]; b != nil {
			b.seen.end(h.event.Seq)
			b.unsized.end(s.rec.Live().Unsized())
		}
	}
}
