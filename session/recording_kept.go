package session

import (
	"errors"
	"fmt"
	"os"

	"hdb/capture"
	"hdb/recording"
)

// kept is a recording within bounds that can be asked: it goes to a file without a
// name, as one of hdb record goes to the user's.
type kept struct {
	bounds recording.Bounds
	asked  *capture.File // the recording as it was when the file had
	size   int64         // so many bytes
	whole  *os.File      // what asked reads if old events were dropped, nil otherwise
}

// unnamedFile is a file in the directory for temporary files that is gone when hdb is.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "hdb-record-")
	if err != nil {
		return nil, fmt.Errorf("%w: name another place by TMPDIR", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
	case s.trace.recording && b.Any():
		return errors.New("record: already recording: bounds are set by the record start after a record stop")
	case s.proc == nil || s.stream == nil && !b.Any():
		s.bounds = b
		return nil
	case s.stream == nil:
		s.bounds = b
		return s.bindRecording()
	case s.stream.failed:
		return fmt.Errorf("record: this run's recording has ended, %w: save it", s.stream.writer.Err())
	case s.stream.file.isFull.Load():
		return fmt.Errorf("record: this run's recording had its %s, and has ended: save it", s.bounds)
	case b.Any() && b != s.bounds:
		return fmt.Errorf("record: this run is recorded with %s: other bounds are for the next one", s.bounds)
	}
	return nil
}

// bindRecording moves this run's recording, with what it holds, to a file within
// the bounds.
func (s *Session) bindRecording() (err error) {
	s.exclusive(func() {
		log := s.log
		if err = s.newKept(log.Info()); err != nil {
			return
		}
		s.log = nil
		s.stream.writer.Adopt(log)
	})
	return err
}

// newKept begins a recording within bounds.
func (s *Session) newKept(info capture.Info) error {
	f, err := unnamedFile()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return s.newStream(f, info, s.bounds, s.endFull, &kept{bounds: s.bounds})
}

// endFull ends the recording of a process that runs, or of one that stands when it
// goes on.
func (s *Session) endFull() {
	p := s.target.Load()
	if p == nil {
		return
	}
	p.Wake(func() {
		if s.stream == nil || !s.trace.recording || !s.stream.file.isFull.Load() {
			return
		}
		s.endKept(endedFull)
		if err := s.stopAll(s.disarmEnded); err != nil && s.proc != nil {
			s.notify("%v", err)
		}
		s.notify("the recording has its %s, and has ended; the program goes on", s.bounds)
	})
}

// endKept ends the recording between two events.
func (s *Session) endKept(why string) {
	s.exclusive(func() { s.trace.recording, s.trace.paused = false, false })
	s.trace.ended = true
	s.notePartial(why)
}

// disarmEnded has nothing followed for a recording that has ended. All threads stand.
func (s *Session) disarmEnded() error {
	defer s.noteUnfollowed()
	return s.armTracer()
}

// failKept ends a recording that cannot be written any more: what was written before
// can be asked.
func (s *Session) failKept() {
	st := s.stream
	if st.failed || st.writer.Err() == nil {
		return
	}
	st.failed = true
	s.endKept(endedUnwritten)
	st.kept.forget() // it was made before, without endedUnwritten
	if s.proc == nil {
		return
	}
	if err := s.stopAll(s.disarmEnded); err != nil && s.proc != nil {
		if _, gone := s.proc.Exited(); !gone {
			s.notify("%v", err)
		}
	}
}

// source is the recording so far. A question reads the file that is written; one
// from which old events were dropped is made whole first.
func (k *kept) source(s *Session) (capture.Source, error) {
	w := s.stream.writer
	if w.Dropped() > 0 {
		s.notePartial(droppedOlder)
	}
	var f *capture.File
	var err error
	var size int64
	s.exclusive(func() { err = w.Flush() })
	if err != nil {
		s.failKept()
	}
	s.exclusive(func() {
		_ = w.Flush() // failKept has handled its error
		if size, err = w.Size(), nil; k.asked == nil || k.size != size {
			f, err = w.Snapshot("the recording", s.stream.file.disk)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return k.asked, nil
	}
	var whole *os.File
	if w.Dropped() > 0 {
		if f, whole, err = compacted(f); err != nil {
			return nil, err
		}
	}
	k.forget()
	k.asked, k.size, k.whole = f, size, whole
	return f, nil
}

// compacted is a recording that has only its last events, as a whole one.
func compacted(f *capture.File) (*capture.File, *os.File, error) {
	to, err := unnamedFile()
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.Compact(to); err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	st, err := to.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	whole, err := capture.NewFile("the recording", to, st.Size())
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	return whole, to, nil
}

// forget gives up what was asked.
func (k *kept) forget() {
	if k.whole != nil {
		_ = k.whole.Close() // it was only read
	}
	k.asked, k.whole = nil, nil
}

// dropKept gives up the bounded recording of the last run.
func (s *Session) dropKept() {
	if s.stream == nil || s.stream.kept == nil {
		return
	}
	s.stream.kept.forget()
	_ = s.stream.file.Close() // nobody reads it any more
	s.stream = nil
}

// withConsole is a recording with the console log of the session.
type withConsole struct {
	*capture.File
	lines []capture.ConsoleLine
}

func (w withConsole) Console() []capture.ConsoleLine { return w.lines }
