package session

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/outfile"
	"hdb/recording"
)

// RecordStatus tells how far the recording is.
func (s *Session) RecordStatus() RecordStatus {
	if s.saved != nil { // nothing but what it recorded is known
		return s.savedStatus()
	}
	if f := s.rec.File(); f != nil && f.Kept() {
		s.source() // which drops what there is no room for
	}
	st := s.Recorder.progress()
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
		src, err := s.Recorder.fileSource(f)
		if s.Recorder.unreadable = err; err != nil {
			return nil
		}
		return src
	}
	return nil
}

// withConsole adds the console log of the session to its recording; a capture has its
// own.
func (s *Session) withConsole(src capture.Source) capture.Source {
	switch {
	case s.saved != nil:
	case s.rec.Log() != nil:
		s.rec.Log().SetConsole(s.ConsoleLog.log.Lines())
	default:
		return s.rec.File().WithConsole(s.ConsoleLog.log.Lines())
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
	if src == nil && s.Recorder.unreadable != nil {
		return SavedInfo{}, fmt.Errorf("save: the recording cannot be read: %w", s.Recorder.unreadable)
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
