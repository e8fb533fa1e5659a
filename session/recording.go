package session

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// stream is a Stream with the process.
type stream struct {
	file   *boundedFile
	writer *capture.Writer
	kept   *kept // the recording is the session's own, to be asked; nil: the file is the user's
	done   chan struct{}
	ended  bool        // done is closed
	failed bool        // what was recorded cannot be written
	asked  atomic.Bool // a tick is under way: the process may stand for long
}

// flushEvery is how often a stream is written out: what was recorded longer ago
// is in the file however hdb ends.
const flushEvery = time.Second

// StreamTo has what is recorded from the next run or attach on go to a file.
func (s *Session) StreamTo(st Stream) { s.streaming = &st }

// newRecording begins to record the process that was launched or attached to.
func (s *Session) newRecording(info capture.Info) error {
	s.modLog, s.recorded, s.info = newModuleLog(), info.PID, info
	s.failure.Store(nil)
	s.dropKept()
	s.log, s.stream, s.unreadable = nil, nil, nil
	s.console.Begin()
	if s.streaming == nil && s.bounds.Any() {
		return s.newKept(info)
	}
	if s.streaming == nil {
		s.log = capture.NewLog(info)
		s.rec = s.log
		return nil
	}
	file, err := s.streaming.Open(info)
	if err != nil {
		return err
	}
	return s.newStream(file, info, s.streaming.Bounds, s.streaming.Full, nil)
}

// newStream begins to record to a file; full is called from another goroutine when
// it is. k is nil if the file is the user's.
func (s *Session) newStream(f io.WriteCloser, info capture.Info, b recording.Bounds, full func(), k *kept) error {
	file, err := newBoundedFile(f, b, func() { go full() }) // it may wait for the one that waits for the file
	if err != nil {
		return err
	}
	file.named = k == nil
	writer, err := capture.NewWriter(file, info)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	writer.Bound(file.bound())
	s.stream = &stream{file: file, writer: writer, kept: k, done: make(chan struct{})}
	s.rec = writer
	go s.stream.run(s)
	return nil
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
	s.exclusive(st.writer.Push)
	if st.writer.Err() != nil && !st.failed {
		if st.kept != nil {
			s.failKept()
		}
		st.failed = true
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
	if s.stream != nil && s.trace.recording {
		if st := s.stream; st.file.isFull.Load() {
			s.notePartial(endedFull)
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
		return s.stream.writer.Err()
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
	if st.kept != nil {
		return // it can be asked, and saved
	}
	s.attempt(func() { s.streamed = s.RecordStatus() })
	err := s.complete(st)
	if err == nil {
		err = st.file.lost()
	}
	if closeErr := st.file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write capture: %w", closeErr)
	}
	s.streamed.Bytes = st.writer.Size()
	if err == nil && st.writer.Dropped() > 0 {
		err = s.compact(st.file.disk.Name())
	}
	s.streamErr = err
	s.exclusive(func() {
		s.stream, s.streaming, s.rec = nil, nil, nowhere{}
		s.trace.recording = false
	})
}

// compact makes a whole capture of the file, whose old events were dropped.
func (s *Session) compact(path string) error {
	made, err := capture.Compact(path)
	if err != nil {
		return fmt.Errorf("%w; %s has holes: hdb capture repair makes a whole capture of it", err, path)
	}
	s.streamed.Left = made.Events
	if st, err := os.Stat(path); err == nil {
		s.streamed.Bytes = st.Size()
	}
	return nil
}

// nowhere is where the events go after the end of a stream.
type nowhere struct{}

func (nowhere) AddEvent(e *capture.Event) uint64     { return e.Seq }
func (nowhere) AddEvents(e []capture.Event) uint64   { return e[len(e)-1].Seq }
func (nowhere) Ended(uint64)                         {}
func (nowhere) Replaced()                            {}
func (nowhere) Intern(capture.Stack) capture.StackID { return 0 }
func (nowhere) FuncIndex(string) uint16              { return 0 }
func (nowhere) AddModule(capture.Module) int         { return 0 }
func (nowhere) EndModule(int, uint64)                {}
func (nowhere) AddThread(capture.Thread)             {}
func (nowhere) AddStop(capture.StopRecord)           {}
func (nowhere) AddMark(capture.MarkRecord)           {}
func (nowhere) AddSample(capture.SampleRecord)       {}
func (nowhere) AddLoss(capture.Loss)                 {}
func (nowhere) SetInfo(capture.Info)                 {}
