package session

import (
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/recording"
)

// Status tells how far the recording is.
func (r *Recorded) Status() RecordStatus {
	if r.target.Saved != nil { // nothing but what it recorded is known
		return r.savedStatus()
	}
	if f := r.account.Rec.File(); f != nil && f.Kept() {
		r.source() // which drops what there is no room for
	}
	st := r.recorder.progress()
	careful := r.gapsOfAnswers()
	st.Partial, st.Damage = careful.Partial, careful.Damage
	if st.KeptBytes, st.KeptBlocks = st.LiveBytes, st.LiveBlocks; st.Recorded == st.Seen {
		return st
	}
	r.target.Exclusive(func() {
		// More was allocated since; what is kept is a part of what lives.
		now := r.account.Rec.Status()
		st.LiveBytes, st.LiveBlocks = now.LiveBytes, now.LiveBlocks
		st.KeptBytes, st.KeptBlocks = r.account.Rec.Live().RecordedSize()
	})
	return st
}

// savedStatus is what a capture says of its recording.
func (r *Recorded) savedStatus() RecordStatus {
	recorded, seen := r.Counts()
	st := RecordStatus{Seen: seen, Recorded: recorded, Stacks: r.target.Saved.Stacks(), Doubt: r.Doubt()}
	careful := r.gapsOfAnswers()
	st.Partial, st.Damage = careful.Partial, careful.Damage
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
	st.setLosses(losses)
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
