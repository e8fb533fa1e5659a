package session

import (
	"fmt"

	"hdb/heap"
	"hdb/report"
)

// WholeProfile is Profile, also of a capture of a program that allocated nothing, or of
// which nothing is counted.
func (s *Session) WholeProfile() (*report.Profile, error) {
	if s.saved == nil || s.saved.Len() > 0 {
		src, x, err := s.recordedSums()
		if err != nil {
			return nil, err
		}
		return s.profileOf(src, x, 0, s.moment(), ProfileParts{})
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
	if seq >= p.Moment.Seq { // which would be compared with itself
		return nil, fmt.Errorf("%s: the recording ends there, at event #%d: give an earlier moment", since, p.Moment.Seq)
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
