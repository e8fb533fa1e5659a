package session

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/internal/outfile"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/unwind"
)

// recordedProcess is what the recording asks about the process.
type recordedProcess struct {
	*common
	likes *likes
}

// Frames answers what the filter asks of a stack that the probe has walked.
func (r recordedProcess) Frames(st capture.Stack) recording.Frames {
	f := &recordedFrames{likes: r.likes, Predicates: query.Predicates{Attribution: r.attribution}}
	f.Find = func() []names.Frame {
		defer r.names.Debuginfod.DoNotWait()() // see fetchAhead
		var out []names.Frame
		for i := range st.PCs {
			out = r.names.AppendFrames(out, unwind.Frame{PC: st.Code(i)})
		}
		return out
	}
	return f
}

// recordedFrames are the named frames of a stack.
type recordedFrames struct {
	likes *likes
	query.Predicates
}

// Like tells whether the stack is that of the event in a capture.
func (f *recordedFrames) Like(event string) bool { return f.likes.same(event, f.Predicates.Stack()) }

// Guessed has names read that the frames may have, while the process runs. They are read
// soon, because a runtime that ends takes its code back first: recorded stacks were followed
// by frame pointers, as those through code of no file are.
func (r recordedProcess) Guessed() {
	if r.names.JIT.Want() {
		if p := r.target.Load(); p != nil {
			p.Wake(r.names.JIT.Read)
		}
	}
}

// Numbered has the probe count an event that got a number.
func (r recordedProcess) Numbered() {
	if r.probe != nil {
		r.probe.Numbered()
	}
}

// Resident is the resident memory of a process.
func (recordedProcess) Resident(pid int) (uint64, error) { return inferior.Resident(pid) }

// thread is a thread as the recording sees it.
type thread struct{ *inferior.Thread }

// ID is the kernel's.
func (t thread) ID() int32 { return int32(t.TID) }

// Number is the debugger's.
func (t thread) Number() int { return t.Num }

// Record starts recording every allocation event with its stack. With plain
// breakpoints each call costs two stops of the thread, tens of microseconds.
func (s *Session) Record() error {
	if s.Mode() == Saved {
		return ErrSaved
	}
	if s.rec.On() {
		return errors.New("record: already recording")
	}
	ended := s.rec.Ended()
	s.exclusive(s.rec.Start)
	if s.proc == nil {
		return nil
	}
	s.noteStart(ended)
	return s.Planes.arm()
}

// noteStart notes what a recording lacks that begins within the run, or goes on after it
// had ended.
func (s *Session) noteStart(ended bool) {
	ran := s.gaps.Restarted()
	switch {
	case !ended:
		s.rec.NotePartial(capture.Reason{Kind: capture.StartedLate})
	case ran:
		s.rec.NotePartial(capture.Reason{Kind: capture.Stopped})
	}
	if s.gaps.Blind() {
		s.rec.NotePartial(capture.Reason{Kind: capture.FreedUnseen})
	}
	s.rec.DropPartial(capture.EndedEarly)
	s.noteSelection()
}

// StopRecord ends recording; what was recorded stays. Nothing is added to it any more
// but the ends of its blocks, as far as other things have them seen.
func (s *Session) StopRecord() error {
	if err := s.recording(); err != nil {
		return err
	}
	s.exclusive(func() { s.rec.Stop(s.proc != nil) })
	if s.proc == nil {
		return nil
	}
	s.rec.NotePartial(capture.Reason{Kind: capture.EndedEarly})
	return s.Planes.arm()
}

// PauseRecord keeps events out of the recording, but for the ends of blocks that
// are in it. They go on being followed, so that the live heap stays right.
func (s *Session) PauseRecord() error {
	if err := s.recording(); err != nil {
		return err
	}
	if s.rec.Status().Paused {
		return errors.New("record: already paused: use record resume")
	}
	s.exclusive(func() { s.rec.Pause(true) })
	s.noteSelection()
	return nil
}

// ResumeRecord ends the pause.
func (s *Session) ResumeRecord() error {
	if err := s.recording(); err != nil {
		return err
	}
	if !s.rec.Status().Paused {
		return errors.New("record: not paused")
	}
	s.exclusive(func() { s.rec.Pause(false) })
	return nil
}

// recording is the error of a verb that needs a recording, or nil.
func (s *Session) recording() error {
	switch {
	case s.Mode() == Saved:
		return ErrSaved
	case !s.rec.On():
		return errors.New("record: not recording: use record start")
	}
	return nil
}

// FilterRecord has only events recorded for which c holds, and the ends of
// their blocks; a nil c takes the filter away.
func (s *Session) FilterRecord(c *cond.Cond) error {
	if s.Mode() == Saved {
		return ErrSaved
	}
	var filter *recording.Filter
	if c != nil {
		filter = recording.NewFilter(c)
	}
	s.exclusive(func() { s.rec.SetFilter(filter) })
	s.noteSelection()
	return nil
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
	LiveBytes  uint64 // of all events that hdb saw, recorded or not
	LiveBlocks int
	PeakBytes  uint64
	KeptBytes  uint64 // of the live blocks that are in the log or file
	KeptBlocks int
	GoHeap     bool             // a Go runtime allocates what is not counted
	Sites      int              // allocator functions that are followed
	Losses     []recording.Loss // calls of this run that are in no event
	Lost       uint64           // their sum
	Probe      probe.Stats      // of the probe's own work
	Partial    capture.Reasons  // why else numbers are not those of the run, as in Session.Gaps
	Damage     error            // what of the recording cannot be read, nil if no damage is known
	Doubt      report.Doubt     // why blocks that seem to live may not
	Bounds     recording.Bounds // that the recording of this run is kept in
	Full       bool             // it has Bounds.MaxSize, and has ended
	Err        error            // why it cannot be written any more, nil if it can
	Bytes      int64            // of the file, or of the encoded events of the log, so far
}

// RecordStatus tells how far the recording is.
func (s *Session) RecordStatus() RecordStatus {
	if s.saved != nil { // nothing but what it recorded is known
		return s.savedStatus()
	}
	if f := s.rec.File(); f != nil && f.Kept() {
		s.source() // which drops what there is no room for
	}
	st := s.recordStatus()
	careful := s.gapsOfAnswers()
	st.Partial, st.Damage = careful.Partial, careful.Damage
	if st.KeptBytes, st.KeptBlocks = st.LiveBytes, st.LiveBlocks; st.Recorded == st.Seen {
		return st
	}
	s.exclusive(func() {
		// More was allocated since; what is kept is a part of what lives.
		now := s.rec.Status()
		st.LiveBytes, st.LiveBlocks = now.LiveBytes, now.LiveBlocks
		st.KeptBytes, st.KeptBlocks = s.rec.Live().RecordedSize()
	})
	return st
}

// recordStatus is RecordStatus but for the live blocks that are recorded, which
// have to be counted.
func (s *Session) recordStatus() RecordStatus {
	st := RecordStatus{
		Plane: s.Planes.Plane(), Probe: s.losses.Probe(s.Planes.data.stats()),
		GoHeap: s.rec.Info().Partial.Has(capture.GoHeap),
	}
	if s.gaps.Counted() {
		st.Doubt = report.UnfollowedSince
	}
	s.exclusive(func() {
		now := s.rec.Status()
		st.Recording, st.Paused, st.Filter = now.On, now.Paused, now.Filter
		st.Seen, st.Recorded, st.Unwritten = now.Seen, now.Recorded, now.Unwritten
		st.LiveBytes, st.LiveBlocks, st.PeakBytes = now.LiveBytes, now.LiveBlocks, now.PeakBytes
		st.Stacks, st.Truncated = now.Stacks, now.Truncated
		if log := s.rec.Log(); log != nil {
			st.Bytes = log.Size()
		}
		if f := s.rec.File(); f != nil {
			st.Bytes = f.Size()
			st.Bounds, st.Full, st.Err = f.Bounds(), f.Full(), f.Err()
			if n := f.Dropped(); n > 0 {
				st.Left = st.Recorded - min(n, st.Recorded)
			}
		}
	})
	st.Sites = s.Planes.siteCount()
	st.setLosses(s.losses.All(s.Planes.data.stats(), s.Planes.tracerStats()))
	return st
}

func (st *RecordStatus) setLosses(losses []recording.Loss) {
	st.Losses, st.Lost = losses, 0
	for _, l := range losses {
		st.Lost += l.Count
	}
}

// noteLosses records the losses since the last time, and warns of them.
func (s *Session) noteLosses() {
	if s.Planes.tracer == nil && s.probe == nil {
		return
	}
	for _, l := range s.losses.Fresh(s.Planes.data.stats(), s.Planes.tracerStats()) {
		if s.rec.On() {
			s.exclusive(func() { s.rec.AddLoss(l) })
		}
	}
	switch n, why := s.losses.Warning(); n {
	case 0:
	case 1:
		s.notify("1 call lost: %s", report.ReasonText(why))
	default:
		s.notify("%d calls lost: %s", n, report.ReasonText(why))
	}
}

// savedStatus is what a capture says of its recording.
func (s *Session) savedStatus() RecordStatus {
	recorded, seen := s.Recordings()
	st := RecordStatus{Seen: seen, Recorded: recorded, Stacks: s.saved.Stacks(), Doubt: s.LiveDoubt()}
	careful := s.gapsOfAnswers()
	st.Partial, st.Damage = careful.Partial, careful.Damage
	s.sumsStatus(&st)
	for id := 1; id <= st.Stacks; id++ {
		if s.saved.Stack(capture.StackID(id)).Truncated != "" {
			st.Truncated++
		}
	}
	var losses []recording.Loss
	for _, l := range s.saved.Losses() {
		i := slices.IndexFunc(losses, func(x recording.Loss) bool { return x.Reason == l.Reason })
		if i < 0 {
			i, losses = len(losses), append(losses, recording.Loss{Reason: l.Reason})
		}
		losses[i].Count += l.Count
	}
	st.setLosses(losses)
	return st
}

// Recordings are how many events are recorded, of how many: in this run, or in that
// of a capture, where only those up to the last event or stop are known of.
func (s *Session) Recordings() (recorded, seen uint64) {
	if s.saved == nil {
		s.exclusive(func() {
			st := s.rec.Status()
			recorded, seen = st.Recorded, st.Seen
		})
		return recorded, seen
	}
	recorded = uint64(s.saved.Len())
	seen = max(recorded, s.saved.Info().Totals.Events)
	if s.saved.Info().Aggregate {
		recorded = seen // though not one by one
	}
	for e := range s.saved.Events(seen + 1) { // none if all events were recorded
		seen = e.Seq
	}
	for _, st := range s.saved.Stops() {
		seen = max(seen, st.Seq)
	}
	return recorded, seen
}

// source is the events that can be asked about: of this run, of the last one, or
// of the capture. They end early when the reading is given up.
func (s *Session) source() capture.Source { return s.reading.Of(s.wholeSource()) }

// wholeSource is source, to its end.
func (s *Session) wholeSource() capture.Source {
	if s.saved != nil {
		return s.saved
	}
	if log := s.rec.Log(); log != nil {
		return log
	}
	if f := s.rec.File(); f != nil && f.Kept() {
		src, err := s.fileSource(f)
		if s.unreadable = err; err != nil {
			return nil
		}
		return src
	}
	return nil
}

// logStop keeps the report, with its stack, for the capture.
func (s *Session) logStop(r *Report) {
	ends := r.Reason == inferior.Exited || r.Reason == inferior.Gone
	if f := s.rec.File(); f != nil && !f.Kept() && !ends {
		return // a recording without a console stops for itself, not for a user
	}
	rec := capture.StopRecord{Time: r.Elapsed, Text: r.Headline(), TID: int32(r.Thread.TID)}
	if r.Event != nil {
		rec.Event = r.Event.Seq
	}
	s.noteLosses()
	s.exclusive(func() {
		if s.Selection.thread == nil || ends {
			s.rec.AddStop(rec, nil, nil)
			return
		}
		var stack *capture.Stack
		if raw, err := s.walker.raw(s.Selection.thread, defaultDepth, s.Selection.code); err == nil {
			st := recording.StackOf(raw)
			stack = &st
		}
		s.rec.AddStop(rec, thread{s.Selection.thread}, stack)
	})
}

// withConsole adds the console log of the session to its recording; a capture has its
// own.
func (s *Session) withConsole(src capture.Source) capture.Source {
	switch {
	case s.saved != nil:
	case s.rec.Log() != nil:
		s.rec.Log().SetConsole(s.console.Lines())
	default:
		return s.rec.File().WithConsole(s.console.Lines())
	}
	return src
}

// SavedInfo is what Save wrote.
type SavedInfo struct {
	Path   string
	Events int
	Summed uint64 // events of which only sums are kept
	Stacks int
	Stops  int
	Bytes  int64
}

// Save writes what was recorded and the session's stops to a capture. A file that is
// there is only replaced with force, and not if it is the opened one.
func (s *Session) Save(path string, force bool) (SavedInfo, error) {
	src := s.wholeSource()
	if src == nil && s.unreadable != nil {
		return SavedInfo{}, fmt.Errorf("save: the recording cannot be read: %w", s.unreadable)
	}
	if src == nil {
		return SavedInfo{}, errors.New("save: nothing to save: no program ran")
	}
	src = s.withConsole(src)
	to := outfile.File{Path: path, Force: force, Inputs: []string{s.SavedPath()}}
	if err := s.writeCapture(to, src); err != nil {
		return SavedInfo{}, fmt.Errorf("save: %w", err)
	}
	return savedInfo(path, src), nil
}

// writeCapture writes a whole capture, or none.
func (s *Session) writeCapture(to outfile.File, src capture.Source) error {
	return to.Write(func(w io.Writer) error {
		return file.WriteSource(readWriter{w, s.reading}, src, s.names.Embedder())
	})
}

// A readWriter fails once the reading is given up.
type readWriter struct {
	io.Writer
	reading *capture.Reading
}

func (w readWriter) Write(p []byte) (int, error) {
	if w.reading.GivenUp() {
		return 0, w.reading.Cut()
	}
	return w.Writer.Write(p)
}

// savedInfo is what was written to path.
func savedInfo(path string, src capture.Source) SavedInfo {
	info := SavedInfo{Path: path, Events: src.Len(), Stacks: src.Stacks(), Stops: len(src.Stops()), Bytes: fileSize(path)}
	if src.Info().Aggregate {
		info.Summed = src.Info().Totals.Events
	}
	return info
}

// Open makes the session one about a capture, at its last stop or event.
func (s *Session) Open(path string) (capture.Info, error) {
	info, err := s.OpenWhole(path)
	if err == nil {
		s.selectSaved()
	}
	return info, err
}

// OpenWhole is Open for questions to all of the capture: nothing is selected.
func (s *Session) OpenWhole(path string) (capture.Info, error) {
	if s.proc != nil {
		return capture.Info{}, ErrRunning
	}
	f, err := file.Open(path)
	if err != nil {
		return capture.Info{}, err
	}
	if s.saved != nil {
		if err := errors.Join(s.names.CloseCapture(), s.saved.Close()); err != nil {
			s.notify("close: %v", err)
		}
	}
	s.saved = f
	if s.savedPath, err = filepath.Abs(path); err != nil {
		s.savedPath = path
	}
	s.names.OpenCapture(f, s.savedPath)
	s.Selection.selection, s.at, s.moved = selection{}, 0, false
	if d := f.Damage(); d != nil {
		s.notify("%v", d)
	}
	return f.Info(), nil
}

// selectSaved starts at the last stop of the session, or the last event.
func (s *Session) selectSaved() {
	stops := s.saved.Stops()
	for i := len(stops) - 1; i >= 0; i-- {
		if stops[i].Stack != 0 {
			s.Selection.seq = stops[i].Event
			s.Selection.stackID = stops[i].Stack
			s.Selection.at = max(stops[i].Event, stops[i].Seq)
			break
		}
	}
	if s.Selection.stackID == 0 {
		if e, ok := s.saved.Event(s.saved.Last()); ok {
			s.Selection.seq, s.Selection.stackID, s.Selection.at = e.Seq, e.Stack, e.Seq
		}
	}
	if st, err := s.Selection.savedStack(); err == nil {
		s.Selection.frame = s.Selection.UserFrame(st.Frames)
	}
}
