package session

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"hdb/capture"
	"hdb/recording"
)

// A Stream is a recording that goes to a file as it is made, rather than being
// kept to be asked: hdb's memory does not grow with its events.
type Stream struct {
	// Open is called when the process is there, before it runs.
	Open func(capture.Info) (io.WriteCloser, error)
	// Bounds keep the file small, which is an *os.File if old events are dropped.
	Bounds recording.Bounds
	// Full is called once, from another goroutine, when the file has Bounds.MaxSize.
	Full func()
	// Tick, when set, is called about once a second while the process runs, on
	// the session's goroutine.
	Tick func(RecordStatus)
}

// stream is the recording of this run to a file.
type stream struct {
	file  *recording.File
	done  chan struct{}
	ended bool        // done is closed
	asked atomic.Bool // a tick is under way: the process may stand for long
}

// flushEvery is how often a stream is written out: what was recorded longer ago
// is in the file however hdb ends.
const flushEvery = time.Second

// StreamTo has what is recorded from the next run or attach on go to a file.
func (s *Session) StreamTo(st Stream) { s.streaming = &st }

// newRecording begins to record the process that was launched or attached to.
func (s *Session) newRecording(info capture.Info) error {
	s.names.Log.Begin()
	s.failure.Store(nil)
	s.dropKept()
	s.rec.Drop()
	s.stream, s.unreadable = nil, nil
	s.console.Begin()
	switch {
	case s.streaming != nil:
		w, err := s.streaming.Open(info)
		if err != nil {
			return err
		}
		file, err := recording.NewFile(w, info, s.streaming.Bounds, s.streaming.Full)
		if err != nil {
			return err
		}
		s.rec.Begin(info, file)
		s.follow(file)
	case s.bounds.Any():
		file, err := recording.KeepFile(info, s.bounds, s.endFull)
		if err != nil {
			return err
		}
		s.rec.Begin(info, file)
		s.follow(file)
	default:
		s.rec.Begin(info, nil)
	}
	return nil
}

// follow has the file written out from time to time.
func (s *Session) follow(f *recording.File) {
	s.stream = &stream{file: f, done: make(chan struct{})}
	go s.stream.run(s)
}

// run asks for a tick once a second, on the goroutine that owns the process.
func (st *stream) run(s *Session) {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-st.done:
			return
		case <-ticker.C:
			if p := s.target.Load(); p != nil && st.asked.CompareAndSwap(false, true) {
				p.Wake(func() {
					st.asked.Store(false)
					s.tick(st)
				})
			}
		}
	}
}

// tick writes out what was recorded. The first error of that stops the process,
// so that it need not go on being recorded.
func (s *Session) tick(st *stream) {
	if s.stream != st {
		return
	}
	s.noteLosses()
	s.exclusive(st.file.Push)
	if st.file.Err() != nil && !st.file.Failed() {
		if st.file.Kept() {
			s.failKept()
		}
		st.file.Fail()
		_ = s.Interrupt() // an error would mean that nothing runs
	}
	if s.streaming != nil && s.streaming.Tick != nil {
		s.streaming.Tick(s.recordStatus())
	}
}

// EndStream ends the recording to a file, as the end of the process does: the
// file is completed with the symbols and source lines that it needs to be opened
// elsewhere. It returns what was recorded, and the first error of writing.
func (s *Session) EndStream() (RecordStatus, error) {
	if s.stream != nil && s.rec.On() {
		if s.stream.file.Full() {
			s.rec.NotePartial(capture.Reason{Kind: capture.EndedFull})
		}
		s.attempt(func() {
			if err := s.StopRecord(); err != nil {
				s.notify("%v", err)
			}
		})
	}
	s.closeStream()
	return s.streamed, s.streamErr
}

// StreamErr is the first error of writing the file, or nil.
func (s *Session) StreamErr() error {
	if err := s.Failure(); err != nil {
		return err
	}
	if s.stream != nil {
		return s.stream.file.Err()
	}
	return s.streamErr
}

// closeStream completes the file; no event is added any more.
func (s *Session) closeStream() {
	st := s.stream
	if st == nil || st.ended {
		return
	}
	st.ended = true
	close(st.done)
	s.attempt(s.noteLosses)
	if st.file.Kept() {
		return // it can be asked, and saved
	}
	s.attempt(func() { s.streamed = s.RecordStatus() })
	s.exclusive(s.rec.Forsake)
	err := s.complete(st.file)
	if closeErr := st.file.Close(); err == nil {
		err = closeErr
	}
	s.streamed.Bytes = st.file.Length()
	if err == nil && st.file.Dropped() > 0 {
		s.streamed.Left, s.streamed.Bytes, err = st.file.Compact()
	}
	s.streamErr = err
	s.rec.Drop()
	s.stream, s.streaming = nil, nil
}

// BoundRecord has the recording that Record begins, or goes on with, kept within
// bounds: from the beginning of this run on, or of the next one.
func (s *Session) BoundRecord(b recording.Bounds) error {
	if err := b.Check(); err != nil {
		return err
	}
	switch {
	case s.Mode() == Saved:
		return ErrSaved
	case s.rec.On() && b.Any():
		return errors.New("record: already recording: bounds are set by the record start after a record stop")
	case s.proc == nil || s.stream == nil && !b.Any():
		s.bounds = b
		return nil
	case s.stream == nil:
		s.bounds = b
		return s.bindRecording()
	case s.stream.file.Failed():
		return fmt.Errorf("record: this run's recording has ended, %w: save it", s.stream.file.Err())
	case s.stream.file.Full():
		return fmt.Errorf("record: this run's recording had its %s, and has ended: save it", s.bounds)
	case b.Any() && b != s.bounds:
		return fmt.Errorf("record: this run is recorded with %s: other bounds are for the next one", s.bounds)
	}
	return nil
}

// bindRecording moves this run's recording, with what it holds, to a file within
// the bounds.
func (s *Session) bindRecording() error {
	file, err := recording.KeepFile(s.rec.Info(), s.bounds, s.endFull)
	if err != nil {
		return err
	}
	s.exclusive(func() { s.rec.MoveTo(file) })
	s.follow(file)
	return nil
}

// endFull ends the recording of a process that runs, or of one that stands when it
// goes on.
func (s *Session) endFull() {
	if p := s.target.Load(); p != nil {
		p.Wake(func() {
			if s.stream != nil && s.stream.file.Full() {
				s.endBounded()
			}
		})
	}
}

// endBounded ends the recording that has as much as it may have.
func (s *Session) endBounded() {
	if !s.rec.On() {
		return
	}
	s.endKept(capture.EndedFull)
	if err := s.stopAll(s.disarmEnded); err != nil && s.proc != nil {
		s.notify("%v", err)
	}
	s.notify("the recording has its %s, and has ended; the program goes on", s.bounds)
}

// endKept ends the recording between two events.
func (s *Session) endKept(why capture.ReasonKind) {
	s.exclusive(func() { s.rec.Stop(true) })
	s.rec.NotePartial(capture.Reason{Kind: why})
}

// disarmEnded has nothing followed for a recording that has ended. All threads stand.
func (s *Session) disarmEnded() error {
	defer s.Planes.noteUnfollowed()
	return s.Planes.arm()
}

// failKept ends a recording that cannot be written any more: what was written before
// can be asked.
func (s *Session) failKept() {
	f := s.stream.file
	if !f.Fail() {
		return
	}
	s.endKept(capture.Unwritten)
	f.Forget() // it was made before, without EndedUnwritten
	if s.proc == nil {
		return
	}
	if err := s.stopAll(s.disarmEnded); err != nil && s.proc != nil {
		if _, gone := s.proc.Exited(); !gone {
			s.notify("%v", err)
		}
	}
}

// fileSource is the recording so far, which goes to a file without a name.
func (s *Session) fileSource(f *recording.File) (capture.Source, error) {
	if f.Dropped() > 0 {
		s.rec.NotePartial(capture.Reason{Kind: capture.DroppedOlder})
	}
	var err error
	s.exclusive(func() { err = f.Flush() })
	if err != nil {
		s.failKept()
	}
	return f.Source(s.exclusive)
}

// dropKept gives up the bounded recording of the last run.
func (s *Session) dropKept() {
	if s.stream == nil || !s.stream.file.Kept() {
		return
	}
	s.stream.file.Forget()
	_ = s.stream.file.Close() // nobody reads it any more
	s.rec.Drop()
	s.stream = nil
}
