package session

import (
	"errors"
	"sync/atomic"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/recording"
	"hdb/report"
)

// Recorder records the allocator calls of a run: in memory, in a file without a name that
// keeps within bounds, or in a stream.
type Recorder struct {
	*common
	*account
	sel     *Selection
	planes  *Planes
	console *ConsoleLog

	stream    *stream      // this run is recorded to a file
	streaming *Stream      // the next run's recording goes there
	streamed  RecordStatus // of the last stream
	streamErr error
	bounds    recording.Bounds      // of the recording of this run or, if it has none, the next
	paused    bool                  // recordings begin so
	failure   atomic.Pointer[error] // see Failure

	status func() RecordStatus // of a stream that ends
}

// Start starts recording every allocation event with its stack. With plain
// breakpoints each call costs two stops of the thread, tens of microseconds.
func (r *Recorder) Start() error {
	if r.mode() == Saved {
		return ErrSaved
	}
	if r.mode() == Core {
		return errCoreRecord
	}
	if r.rec.On() {
		return errors.New("record: already recording")
	}
	ended := r.rec.Ended()
	r.exclusive(func() {
		r.rec.Start()
		r.rec.Pause(r.paused)
	})
	if r.proc == nil {
		return nil
	}
	r.noteStart(ended)
	return r.planes.arm()
}

// BeginPaused has the recording that Start begins, and those of runs to come, be paused until
// Resume is called or the program asks for it.
func (r *Recorder) BeginPaused(on bool) { r.paused = on }

// PythonAllocators has CPython's own allocators followed from now on.
func (r *Recorder) PythonAllocators() { r.settings.PythonAllocators = true }

// noteStart notes what a recording lacks that begins within the run, or goes on after it
// had ended.
func (r *Recorder) noteStart(ended bool) {
	ran := r.gaps.Restarted()
	switch {
	case !ended:
		if r.proc.Attached() {
			r.rec.NotePartial(capture.Reason{Kind: capture.BeganLate})
		}
		r.rec.NotePartial(capture.Reason{Kind: capture.StartedLate})
	case ran:
		r.rec.NotePartial(capture.Reason{Kind: capture.Stopped})
	}
	if r.gaps.Blind() {
		r.rec.NotePartial(capture.Reason{Kind: capture.FreedUnseen})
	}
	r.rec.DropPartial(capture.EndedEarly)
	r.noteSelection()
}

// Stop ends recording; what was recorded stays. Nothing is added to it any more
// but the ends of its blocks, as far as other things have them seen.
func (r *Recorder) Stop() error {
	if err := r.recording(); err != nil {
		return err
	}
	r.exclusive(func() { r.rec.Stop(r.proc != nil) })
	if r.proc == nil {
		return nil
	}
	r.rec.NotePartial(capture.Reason{Kind: capture.EndedEarly})
	return r.planes.arm()
}

// Pause keeps events out of the recording, but for the ends of blocks that
// are in it. They go on being followed, so that the live heap stays right.
func (r *Recorder) Pause() error {
	if err := r.recording(); err != nil {
		return err
	}
	if r.rec.Status().Paused {
		return errors.New("record: already paused: use record resume")
	}
	r.exclusive(func() { r.rec.Pause(true) })
	r.noteSelection()
	return nil
}

// Resume ends the pause.
func (r *Recorder) Resume() error {
	if err := r.recording(); err != nil {
		return err
	}
	if !r.rec.Status().Paused {
		return errors.New("record: not paused")
	}
	r.exclusive(func() { r.rec.Pause(false) })
	return nil
}

// recording is the error of a verb that needs a recording, or nil.
func (r *Recorder) recording() error {
	switch {
	case r.mode() == Saved:
		return ErrSaved
	case !r.rec.On():
		return errors.New("record: not recording: use record start")
	}
	return nil
}

// Filter has only events recorded for which c holds, and the ends of
// their blocks; a nil c takes the filter away.
func (r *Recorder) Filter(c *cond.Cond) error {
	if r.mode() == Saved {
		return ErrSaved
	}
	var filter *recording.Filter
	if c != nil {
		filter = recording.NewFilter(c)
	}
	r.exclusive(func() { r.rec.SetFilter(filter) })
	r.noteSelection()
	return nil
}

// noteSelection notes what keeps events out of a recording that is under way.
func (r *Recorder) noteSelection() {
	st := r.rec.Status()
	if !st.On || r.proc == nil {
		return
	}
	if st.Paused {
		r.rec.NotePartial(capture.Reason{Kind: capture.Paused})
	}
	if st.Filter != "" {
		r.rec.NotePartial(capture.Reason{Kind: capture.OnlyEvents, Text: st.Filter})
	}
}

// noteLosses records the losses since the last time, and warns of them, and that small blocks
// of Python are in no event.
func (r *Recorder) noteLosses() {
	if r.planes.tracer == nil && r.probe == nil {
		return
	}
	if r.rec.On() && r.planes.hidesPython() {
		r.rec.NotePartial(capture.Reason{Kind: capture.PythonHeap})
	}
	for _, l := range r.losses.Fresh(r.planes.data.stats(), r.planes.tracerStats()) {
		if r.rec.On() {
			r.exclusive(func() { r.rec.AddLoss(l) })
		}
	}
	switch n, why := r.losses.Warning(); n {
	case 0:
	case 1:
		r.notify("1 call lost: %s", report.ReasonText(why))
	default:
		r.notify("%d calls lost: %s", n, report.ReasonText(why))
	}
}

// logStop keeps the report, with its stack, for the capture.
func (r *Recorder) logStop(rep *Report) {
	ends := rep.Reason == inferior.Exited || rep.Reason == inferior.Gone
	if f := r.rec.File(); f != nil && !f.Kept() && !ends {
		return // a recording without a console stops for itself, not for a user
	}
	rec := capture.StopRecord{Time: rep.Elapsed, Text: rep.Headline(), TID: int32(rep.Thread.TID)}
	if rep.Event != nil {
		rec.Event = rep.Event.Seq
	}
	r.noteLosses()
	r.exclusive(func() {
		if r.sel.thread == nil || ends {
			r.rec.AddStop(rec, nil, nil)
			return
		}
		var stack *capture.Stack
		if raw, err := r.sel.walker.raw(r.sel.thread, defaultDepth, r.sel.code); err == nil {
			st := recording.StackOf(r.planes.data.python.insert(r.sel.thread, raw))
			stack = &st
		}
		r.rec.AddStop(rec, thread{r.sel.thread}, stack)
	})
}
