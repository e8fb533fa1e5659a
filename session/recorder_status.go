package session

import (
	"hdb/capture"
	"hdb/probe"
	"hdb/recording"
	"hdb/report"
)

// RecordStatus is what `record status` prints.
type RecordStatus struct {
	Recording  bool
	Paused     bool
	Filter     string // condition of what is recorded, "" all is
	Plane      Plane
	Seen       uint64 // events of this run
	Recorded   uint64 // events in the log or file
	Unwritten  uint64 // further recorded events, which the file could not take
	Left       uint64 // of them, after the older ones were dropped; 0: all are
	Stacks     int
	Truncated  int    // of them
	Unrecorded string // whose functions of Python stacks do not have, of several interpreters in the process; "" otherwise
	Unmerged   uint64 // stacks of this run whose calls of Python did not fit to the native frames, and are left out
	LiveBytes  uint64 // of all events that hdb saw, recorded or not
	LiveBlocks int
	PeakBytes  uint64
	KeptBytes  uint64 // of the live blocks that are in the log or file
	KeptBlocks int
	// HidesPython: objects of Python come from pymalloc, whose arenas hide them.
	HidesPython bool
	GoHeap      bool             // a Go runtime allocates what is not counted
	Sites       int              // allocator functions that are followed
	Losses      []recording.Loss // calls of this run that are in no event
	Lost        uint64           // their sum
	Probe       probe.Stats      // of the probe's own work
	Partial     capture.Reasons  // why else numbers are not those of the run, as in Recorded.Gaps
	Damage      error            // what of the recording cannot be read, nil if no damage is known
	Unfollowed  bool             // there were calls that hdb did not follow: of the blocks that they made nothing is counted
	Doubt       report.Doubt     // why blocks that seem to live may not
	Bounds      recording.Bounds // that the recording of this run is kept in
	Full        bool             // it has Bounds.MaxSize, and has ended
	Err         error            // why it cannot be written any more, nil if it can
	Bytes       int64            // of the file, or of the encoded events of the log, so far
}

func (st *RecordStatus) setLosses(losses []recording.Loss) {
	st.Losses, st.Lost = losses, 0
	for _, l := range losses {
		st.Lost += l.Count
	}
}

// progress is Recorded.Status but for the live blocks that are recorded, which
// have to be counted.
func (r *Recorder) progress() RecordStatus {
	st := RecordStatus{
		Plane: r.planes.Plane(), Probe: r.account.Losses.Probe(r.planes.data.stats()),
		Unmerged: r.planes.data.python.unmerged(), Unrecorded: r.planes.data.python.unrecorded(), GoHeap: r.account.Rec.Info().Partial.Has(capture.GoHeap),
	}
	st.Unfollowed = r.account.Gaps.Calls()
	if r.account.Gaps.Counted() {
		st.Doubt = report.UnfollowedSince
	}
	r.target.Exclusive(func() {
		now := r.account.Rec.Status()
		st.Recording, st.Paused, st.Filter = now.On, now.Paused, now.Filter
		st.Seen, st.Recorded, st.Unwritten = now.Seen, now.Recorded, now.Unwritten
		st.LiveBytes, st.LiveBlocks, st.PeakBytes = now.LiveBytes, now.LiveBlocks, now.PeakBytes
		st.Stacks, st.Truncated = now.Stacks, now.Truncated
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
	st.setLosses(r.account.Losses.All(r.planes.data.stats(), r.planes.tracerStats()))
	return st
}
