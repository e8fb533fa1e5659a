package recordings

import (
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/probe"
	"hdb/recording"
	"hdb/report"
)

// Status tells how far the recording is.
func (r *Recorded) Status() RecordStatus {
	if r.target.Saved != nil { // nothing but what it recorded is known
		return r.savedStatus()
	}
	if f := r.Account.Rec.File(); f != nil && f.Kept() {
		r.Source() // which drops what there is no room for
	}
	st := r.recorder.Progress()
	careful := r.gapsOfAnswers()
	st.Partial, st.Damage = careful.Partial, careful.Damage
	if st.KeptBytes, st.KeptBlocks = st.LiveBytes, st.LiveBlocks; st.Recorded == st.Seen {
		return st
	}
	r.target.Exclusive(func() {
		// More was allocated since; what is kept is a part of what lives.
		now := r.Account.Rec.Status()
		st.LiveBytes, st.LiveBlocks = now.LiveBytes, now.LiveBlocks
		st.KeptBytes, st.KeptBlocks = r.Account.Rec.Live().RecordedSize()
	})
	return st
}

// savedStatus is what a capture says of its recording.
func (r *Recorded) savedStatus() RecordStatus {
	recorded, seen := r.Counts()
	st := RecordStatus{Seen: seen, Recorded: recorded, Stacks: r.target.Saved.Stacks(), Doubt: r.Doubt()}
	careful := r.gapsOfAnswers()
	st.Partial, st.Damage, st.Unfollowed = careful.Partial, careful.Damage, r.NoAllocatorKnown()
	r.sumsStatus(&st)
	for id := 1; id <= st.Stacks; id++ {
		if r.target.Saved.Stack(capture.StackID(id)).Truncated != "" {
			st.Truncated++
		}
	}
	var losses []recording.Loss
	for _, l := range r.target.Saved.Losses() {
		i := slices.IndexFunc(losses, func(x recording.Loss) bool { return x.Reason == l.Reason })
		if i < 0 {
			i, losses = len(losses), append(losses, recording.Loss{Reason: l.Reason})
		}
		losses[i].Count += l.Count
	}
	st.SetLosses(losses)
	return st
}

// sumsStatus fills in what is live by sums.
func (r *Recorded) sumsStatus(st *RecordStatus) {
	x, err := r.Index()
	if err != nil {
		return
	}
	end := x.Totals(heap.End)
	_, st.PeakBytes = x.Peak()
	st.LiveBytes, st.LiveBlocks = end.Live, int(end.Blocks)
	st.KeptBytes, st.KeptBlocks = st.LiveBytes, st.LiveBlocks
}

// A Plane says what follows allocator calls.
type Plane struct {
	Probe  bool
	Reason string // why it is not the probe, if it might have been
}

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
	Collects    bool             // a Go runtime made recorded blocks, which its collector frees
	Unfollowed  bool             // nothing is known of what the program allocates, see Recorded.NoAllocatorKnown
	Sites       int              // allocator functions that are followed
	Losses      []recording.Loss // calls of this run that are in no event
	Lost        uint64           // their sum
	Probe       probe.Stats      // of the probe's own work
	Partial     capture.Reasons  // why else numbers are not those of the run, as in Recorded.Gaps
	Damage      error            // which part of the recording cannot be read, nil if no damage is known
	CallsMissed bool             // there were calls that hdb did not follow: of the blocks that they made nothing is counted
	Doubt       report.Doubt     // why blocks that seem to live may not
	Bounds      recording.Bounds // that the recording of this run is kept in
	Full        bool             // it has Bounds.MaxSize, and has ended
	Err         error            // why it cannot be written any more, nil if it can
	Bytes       int64            // of the file, or of the encoded events of the log, so far
	Moved       string           // of a file that is complete: the name it was given meanwhile, "" if it has its own
}

// SetLosses sets the losses and their sum.
func (st *RecordStatus) SetLosses(losses []recording.Loss) {
	st.Losses, st.Lost = losses, 0
	for _, l := range losses {
		st.Lost += l.Count
	}
}
