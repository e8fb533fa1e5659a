package session

import (
	"hdb/capture"
	"hdb/heap"
	"hdb/query"
)

// summed is someSource, also where it has sums instead of events.
func (s *Session) summed() (capture.Source, error) {
	if s.NoEvents() != nil {
		return s.source(), nil
	}
	return s.someSource()
}

// NoEvents is why there are no events to go through, though there are sums, or nil.
func (s *Session) NoEvents() error {
	if src := s.source(); src != nil && src.Info().Aggregate && src.Info().Totals.Events > 0 {
		return query.ErrSums
	}
	return nil
}

// sumsStatus fills in what is live by sums.
func (s *Session) sumsStatus(st *RecordStatus) {
	x, err := s.Index()
	if err != nil {
		return
	}
	end := x.Totals(heap.End)
	_, st.PeakBytes = x.Peak()
	st.LiveBytes, st.LiveBlocks = end.Live, int(end.Blocks)
	st.KeptBytes, st.KeptBlocks = st.LiveBytes, st.LiveBlocks
}
