package session

import (
	"hdb/capture"
	"hdb/report"
	"hdb/session/recordings"
)

// Progress is Recorded.Status except the live blocks that are recorded, which have to be counted.
func (r *Recorder) Progress() recordings.RecordStatus {
	partial := r.account.Rec.Info().Partial
	st := recordings.RecordStatus{
		Plane: r.planes.Plane(), Probe: r.account.Losses.Probe(r.planes.data.stats()),
		Unmerged: r.planes.data.python.Unmerged(), Unrecorded: r.planes.data.python.Unrecorded(), GoHeap: partial.Has(capture.GoHeap),
	}
	st.CallsMissed = r.account.Gaps.Calls()
	if r.account.Gaps.Counted() {
		st.Doubt = report.UnfollowedSince
	}
	r.target.Exclusive(func() {
		now := r.account.Rec.Status()
		st.Recording, st.Paused, st.Filter = now.On, now.Paused, now.Filter
		st.Seen, st.Recorded, st.Unwritten = now.Seen, now.Recorded, now.Unwritten
		st.LiveBytes, st.LiveBlocks, st.PeakBytes = now.LiveBytes, now.LiveBlocks, now.PeakBytes
		st.Stacks, st.Truncated, st.Collects = now.Stacks, now.Truncated, now.Collects
		st.Unfollowed = now.Seen == 0 && partial.Has(capture.NoAllocator)
		if log := r.account.Rec.Log(); log != nil {
			st.Bytes = log.Size()
		}
		if f := r.account.Rec.File(); f != nil {
			st.Bytes = f.Size()
			st.Bounds, st.Full, st.Err = f.Bounds(), f.Full(), f.Err()
			if n := f.Dropped(); n > 0 {
				st.Left = st.Recorded - min(n, st.Recorded)
			}
		}
	})
	st.Sites, st.HidesPython = r.planes.siteCount(), r.planes.hidesPython()
	st.SetLosses(r.account.Losses.All(r.planes.data.stats(), r.planes.tracerStats()))
	return st
}
