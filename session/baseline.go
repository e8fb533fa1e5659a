package session

import (
	"fmt"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// WholeProfile is Profile, also of a capture of a program that allocated nothing.
func (s *Session) WholeProfile() (*report.Profile, error) {
	if s.saved == nil || s.saved.Len() > 0 {
		return s.Profile(ProfileParts{})
	}
	x, err := heap.NewIndex(s.saved)
	if err != nil {
		return nil, err
	}
	return s.profileOf(s.saved, x, 0, heap.End, ProfileParts{})
}

// Baseline is the heap at an earlier moment, see MomentOf, by the stacks of p, which
// is a profile of the session.
func (s *Session) Baseline(p *report.Profile, since string) (*report.Baseline, error) {
	b := &report.Baseline{Name: since, Live: make([]uint64, len(p.Stacks))}
	if p.Events == 0 {
		return b, nil
	}
	seq, err := s.MomentOf(since)
	if err != nil {
		return nil, err
	}
	x, err := s.Index()
	if err != nil {
		return nil, err
	}
	if seq > p.Moment.Seq && seq != heap.End {
		return nil, fmt.Errorf("%s: event #%d is after the moment, #%d", since, seq, p.Moment.Seq)
	}
	t := x.Totals(seq)
	b.Moment = momentOf(t)
	for i := range p.Stacks {
		if id := int(p.Stacks[i].ID); id < len(t.Flows) {
			b.Live[i], _ = heap.LiveOf(&t.Flows[id])
		}
	}
	return b, nil
}

// Incomplete says what of the recording is missing, so that what is added up of it
// may be wrong; "" if it is whole.
func (s *Session) Incomplete() string {
	src := s.source()
	if src == nil {
		return ""
	}
	var parts []string
	info, damage := src.Info(), src.Damage()
	open := slices.Contains(info.Partial, capture.OpenEnd)
	switch n := info.Totals.Lost; {
	case n > 0 && open:
		parts = append(parts, fmt.Sprintf("at least %d calls were not recorded", n))
	case n > 0:
		parts = append(parts, fmt.Sprintf("%d calls were not recorded", n))
	case open && damage == nil: // of one that was repaired
		parts = append(parts, capture.OpenEnd)
	}
	if damage != nil {
		parts = append(parts, damage.Error())
	}
	return strings.Join(parts, "; ")
}
