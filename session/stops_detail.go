package session

import (
	"hdb/breakpoints"
	"hdb/internal/cond"
	"hdb/report"
	"hdb/session/recordings"
)

// StopDetail is what is known of a stop in addition to the stop itself, most of it of stops at
// allocations.
type StopDetail struct {
	// InProcess and Outside are the names of its condition that the probe
	// decides inside the process, and that hdb decides.
	InProcess, Outside []string
	Plane              recordings.Plane
	Live               bool         // the stop is being waited for: the above is known
	Passed             uint64       // events of this run that it let pass
	Unsized            uint64       // frees of blocks whose size is not known, while it was set: no comparison with it holds
	Undecided          uint64       // events at which variables of its condition had no value: it did not hold
	Why                string       // the first of them had none
	Doubt              report.Doubt // why its condition may not be right
}

// Doubt says why the numbers that the condition of a stop compares may not be those of the process.
func (s *Stops) Doubt(st *breakpoints.Stop) report.Doubt { return s.conditions.stopDoubt(st) }

// Detail tells more of a stop; ok is false for one that is not at allocations, of
// which only Doubt is known.
func (s *Stops) Detail(st *breakpoints.Stop) (d StopDetail, ok bool) {
	if st.Enabled {
		d.Doubt = s.conditions.stopDoubt(st)
	}
	b := s.demand.counts[st.ID]
	if !onEvents(st) || b == nil {
		return d, false
	}
	if seen := b.seen.total(s.demand.stopSeq()); seen > st.Hits {
		d.Passed = seen - st.Hits
	}
	if st.Kind == breakpoints.StopFree && st.Cond != nil && st.Cond.Uses(cond.Size) {
		d.Unsized = b.unsized.total(s.account.Rec.Live().Unsized())
	}
	d.Undecided, d.Why = b.unknown, b.why
	if s.target.Proc == nil || !st.Enabled {
		return d, true
	}
	d.Plane, d.Live = s.planes.Plane(), s.planes.eventsArmed()
	if s.target.Probe != nil && s.target.Probe.Armed() {
		var err error
		if d.InProcess, d.Outside, err = s.target.Probe.Describe(st); err != nil {
			s.target.Notify("%s %d: %v", st.Word(), st.ID, err)
		}
	}
	return d, true
}
