package session

import (
	"errors"
	"sync/atomic"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/internal/units"
	"hdb/recording"
	"hdb/report"
	"hdb/session/recordings"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
)

// Recorder records the allocator calls of a run: in memory, in a file without a name that
// keeps within bounds, or in a stream.
type Recorder struct {
	target  *target.Target
	account *target.Account
	sel     *view.Selection
	planes  *Planes
	console *recordings.ConsoleLog

	stream    *stream                 // this run is recorded to a file
	streaming *Stream                 // the next run's recording goes there
	streamed  recordings.RecordStatus // of the last stream
	streamErr error
	bounds    recording.Bounds      // of the recording of this run or, if it has none, the next
	paused    bool                  // recordings begin so
	failure   atomic.Pointer[error] // see Failure

	status func() recordings.RecordStatus // of a stream that ends
}

// Start starts recording every allocation event with its stack. With plain
// breakpoints each call costs two stops of the thread, tens of microseconds.
func (r *Recorder) Start() error {
	if r.target.Mode() == target.Saved {
		return target.ErrSaved
	}
	if r.target.Mode() == target.Core {
		return errCoreRecord
	}
	if r.account.Rec.On() {
		return errors.New("record: already recording")
	}
	ended := r.account.Rec.Ended()
	r.target.Exclusive(func() {
		r.account.Rec.Start()
		r.account.Rec.Pause(r.paused)
	})
	if r.target.Proc == nil {
		return nil
	}
	r.noteStart(ended)
	return r.planes.arm()
}

// BeginPaused has the recording that Start begins, and those of runs to come, be paused until
// Resume is called or the program asks for it.
func (r *Recorder) BeginPaused(on bool) { r.paused = on }

// PythonAllocators has CPython's own allocators followed from now on.
func (r *Recorder) PythonAllocators() { r.target.Settings.PythonAllocators = true }

// noteStart notes what a recording lacks that begins within the run, or continues after it had
// ended.
func (r *Recorder) noteStart(ended bool) {
	ran := r.account.Gaps.Restarted()
	switch {
	case !ended:
		if r.target.Proc.Attached() {
			r.account.Rec.NotePartial(capture.Reason{Kind: capture.BeganLate})
		}
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.StartedLate})
	case ran:
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.Stopped})
	}
	if r.account.Gaps.Blind() {
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.FreedUnseen})
	}
	r.account.Rec.DropPartial(capture.EndedEarly)
	r.noteSelection()
}

// Stop ends recording; what was recorded stays. Nothing is added to it except the ends of its
// blocks, as far as those are seen for another reason.
func (r *Recorder) Stop() error {
	if err := r.recording(); err != nil {
		return err
	}
	r.target.Exclusive(func() { r.account.Rec.Stop(r.target.Proc != nil) })
	if r.target.Proc == nil {
		return nil
	}
	r.account.Rec.NotePartial(capture.Reason{Kind: capture.EndedEarly})
	return r.planes.arm()
}

// Pause keeps events out of the recording, except the ends of blocks that are in it. They continue
// being followed, so that the live heap stays right.
func (r *Recorder) Pause() error {
	if err := r.recording(); err != nil {
		return err
	}
	if r.account.Rec.Status().Paused {
		return errors.New("record: already paused: use record resume")
	}
	r.target.Exclusive(func() { r.account.Rec.Pause(true) })
	r.noteSelection()
	return nil
}

// Resume ends the pause.
func (r *Recorder) Resume() error {
	if err := r.recording(); err != nil {
		return err
	}
	if !r.account.Rec.Status().Paused {
		return errors.New("record: not paused")
	}
	r.target.Exclusive(func() { r.account.Rec.Pause(false) })
	return nil
}

// recording is the error of a verb that needs a recording, or nil.
func (r *Recorder) recording() error {
	switch {
	case r.target.Mode() == target.Saved:
		return target.ErrSaved
	case !r.account.Rec.On():
		return errors.New("record: not recording: use record start")
	}
	return nil
}

// Filter has only events recorded for which c holds, and the ends of
// their blocks; a nil c takes the filter away.
func (r *Recorder) Filter(c *cond.Cond) error {
	if r.target.Mode() == target.Saved {
		return target.ErrSaved
	}
	var filter *recording.Filter
	if c != nil {
		filter = recording.NewFilter(c)
	}
	r.target.Exclusive(func() { r.account.Rec.SetFilter(filter) })
	r.noteSelection()
	return nil
}

// noteSelection notes what keeps events out of a recording that is under way.
func (r *Recorder) noteSelection() {
	st := r.account.Rec.Status()
	if !st.On || r.target.Proc == nil {
		return
	}
	if st.Paused {
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.Paused})
	}
	if st.Filter != "" {
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.OnlyEvents, Text: st.Filter})
	}
}

// NoteLosses records the losses since the last time, and warns of them, and that small blocks
// of Python are in no event.
func (r *Recorder) NoteLosses() {
	if r.planes.tracer == nil && r.target.Probe == nil {
		return
	}
	if r.account.Rec.On() && r.planes.hidesPython() {
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.PythonHeap})
	}
	for _, l := range r.account.Losses.Fresh(r.planes.data.stats(), r.planes.tracerStats()) {
		if r.account.Rec.On() {
			r.target.Exclusive(func() { r.account.Rec.AddLoss(l) })
		}
	}
	switch n, why := r.account.Losses.Warning(); n {
	case 0:
	case 1:
		r.target.Notify("1 call lost: %s", report.ReasonText(why))
	default:
		r.target.Notify("%s lost: %s", units.Count(n, "call"), report.ReasonText(why))
	}
}

// logStop keeps the report, with its stack, for the capture.
func (r *Recorder) logStop(rep *stopped.Report) {
	ends := rep.Reason == inferior.Exited || rep.Reason == inferior.Gone
	if f := r.account.Rec.File(); f != nil && !f.Kept() && !ends {
		return // a recording without a console stops for itself, not for a user
	}
	rec := capture.StopRecord{Time: rep.Elapsed, Text: rep.Headline(), TID: int32(rep.Thread.TID)}
	if e := rep.Event(); e != nil {
		rec.Event = e.Seq
	}
	r.NoteLosses()
	r.target.Exclusive(func() {
		if r.sel.Cur.Thread == nil || ends {
			r.account.Rec.AddStop(rec, nil, nil)
			return
		}
		var stack *capture.Stack
		if raw, err := r.sel.Walker.Raw(r.sel.Cur.Thread, view.DefaultDepth, r.sel.Cur.Code); err == nil {
			st := recording.StackOf(r.planes.data.python.Insert(r.sel.Cur.Thread, raw))
			stack = &st
		}
		r.account.Rec.AddStop(rec, thread{r.sel.Cur.Thread}, stack)
	})
}
