package session

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"hdb/capture"
	"hdb/recording"
	"hdb/session/recordings"
	"hdb/session/target"
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
	Tick func(recordings.RecordStatus)
}

// stream is the recording of this run to a file.
type stream struct {
	file  *recording.File
	done  chan struct{}
	ended bool        // done is closed
	asked atomic.Bool // a tick is under way: the process may be stopped for long
}

// flushEvery is how often a stream is written out: what was recorded longer ago
// is in the file however hdb ends.
const flushEvery = time.Second

// StreamTo has what is recorded from the next run or attach on go to a file.
func (r *Recorder) StreamTo(st Stream) { r.streaming = &st }

// begin begins to record the process that was launched or attached to.
func (r *Recorder) begin(info capture.Info) error {
	r.target.Names.Log.Begin()
	r.failure.Store(nil)
	r.dropKept()
	r.account.Rec.Drop()
	if r.account.Rec.On() && r.paused {
		r.account.Rec.Pause(true)
	}
	r.stream = nil
	r.console.Log.Begin()
	switch {
	case r.streaming != nil:
		w, err := r.streaming.Open(info)
		if err != nil {
			return err
		}
		file, err := recording.NewFile(w, info, r.streaming.Bounds, r.streaming.Full)
		if err != nil {
			return err
		}
		r.account.Rec.Begin(info, file)
		r.follow(file)
	case r.bounds.Any():
		file, err := recording.KeepFile(info, r.bounds, r.endFull)
		if err != nil {
			return err
		}
		r.account.Rec.Begin(info, file)
		r.follow(file)
	default:
		r.account.Rec.Begin(info, nil)
	}
	return nil
}

// follow has the file written out from time to time.
func (r *Recorder) follow(f *recording.File) {
	r.stream = &stream{file: f, done: make(chan struct{})}
	go r.stream.run(r)
}

// run asks for a tick once a second, on the goroutine that owns the process.
func (st *stream) run(r *Recorder) {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-st.done:
			return
		case <-ticker.C:
			if p := r.target.Current.Load(); p != nil && st.asked.CompareAndSwap(false, true) {
				p.Wake(func() {
					st.asked.Store(false)
					r.tick(st)
				})
			}
		}
	}
}

// tick writes out what was recorded. The first error of that stops the process, so that it need not
// continue being recorded.
func (r *Recorder) tick(st *stream) {
	if r.stream != st {
		return
	}
	r.NoteLosses()
	r.target.Exclusive(st.file.Push)
	if st.file.Err() != nil && !st.file.Failed() {
		if st.file.Kept() {
			r.failKept()
		}
		st.file.Fail()
		_ = r.target.Interrupt() // an error would mean that nothing runs
	}
	if r.streaming != nil && r.streaming.Tick != nil {
		r.streaming.Tick(r.Progress())
	}
}

// EndStream ends the recording to a file, as the end of the process does: the
// file is completed with the symbols and source lines that it needs to be opened
// elsewhere. It returns what was recorded, and the first error of writing.
func (r *Recorder) EndStream() (recordings.RecordStatus, error) {
	if r.stream != nil && r.account.Rec.On() {
		if r.stream.file.Full() {
			r.account.Rec.NotePartial(capture.Reason{Kind: capture.EndedFull})
		}
		r.attempt(func() {
			if err := r.Stop(); err != nil {
				r.target.Notify("%v", err)
			}
		})
	}
	r.close()
	return r.streamed, r.streamErr
}

// Err is the first error of writing the file, or nil.
func (r *Recorder) Err() error {
	if err := r.Failure(); err != nil {
		return err
	}
	if r.stream != nil {
		return r.stream.file.Err()
	}
	return r.streamErr
}

// close completes the file; no event is added any more.
func (r *Recorder) close() {
	st := r.stream
	if st == nil || st.ended {
		return
	}
	st.ended = true
	close(st.done)
	r.attempt(r.NoteLosses)
	if st.file.Kept() {
		return // it can be asked, and saved
	}
	r.attempt(func() { r.streamed = r.status() })
	r.target.Exclusive(r.account.Rec.Detach)
	err := r.complete(st.file)
	if closeErr := st.file.Close(); err == nil {
		err = closeErr
	}
	r.streamed.Bytes, r.streamed.Moved = st.file.Length(), st.file.Moved()
	if err == nil && st.file.Dropped() > 0 {
		r.streamed.Left, r.streamed.Bytes, err = st.file.Compact()
	}
	r.streamErr = err
	r.account.Rec.Drop()
	r.stream, r.streaming = nil, nil
}

// Bound has the recording that Start begins, or continues with, kept within bounds: from the
// beginning of this run on, or of the next one.
func (r *Recorder) Bound(b recording.Bounds) error {
	if err := b.Check(); err != nil {
		return err
	}
	switch {
	case r.target.Mode() == target.Saved:
		return target.ErrSaved
	case r.account.Rec.On() && b.Any():
		return errors.New("record: already recording: to set bounds, use record stop and then record start")
	case r.target.Proc == nil || r.stream == nil && !b.Any():
		r.bounds = b
		return nil
	case r.stream == nil:
		r.bounds = b
		return r.bindRecording()
	case r.stream.file.Failed():
		return fmt.Errorf("record: this run's recording has ended, %w: save it", r.stream.file.Err())
	case r.stream.file.Full():
		return fmt.Errorf("record: this run's recording has ended at its %s: save it", r.bounds)
	case b.Any() && b != r.bounds:
		return fmt.Errorf("record: this run is recorded with %s: bounds cannot be changed before the next run", r.bounds)
	}
	return nil
}

// bindRecording moves this run's recording, with what it holds, to a file within
// the bounds.
func (r *Recorder) bindRecording() error {
	file, err := recording.KeepFile(r.account.Rec.Info(), r.bounds, r.endFull)
	if err != nil {
		return err
	}
	r.target.Exclusive(func() { r.account.Rec.MoveTo(file) })
	r.follow(file)
	return nil
}

// endFull ends the recording of a process that runs, or of a stopped one when it continues.
func (r *Recorder) endFull() {
	if p := r.target.Current.Load(); p != nil {
		p.Wake(func() {
			if r.stream != nil && r.stream.file.Full() {
				r.endBounded()
			}
		})
	}
}

// endBounded ends the recording that has as much as it may have.
func (r *Recorder) endBounded() {
	if !r.account.Rec.On() {
		return
	}
	r.endKept(capture.EndedFull)
	if err := r.target.StopAll(r.disarmEnded); err != nil && r.target.Proc != nil {
		r.target.Notify("%v", err)
	}
	r.target.Notify("the recording has reached its %s, and has ended; the program runs on", r.bounds)
}

// endKept ends the recording between two events.
func (r *Recorder) endKept(why capture.ReasonKind) {
	r.target.Exclusive(func() { r.account.Rec.Stop(true) })
	r.account.Rec.NotePartial(capture.Reason{Kind: why})
}

// disarmEnded has nothing followed for a recording that has ended. All threads are stopped.
func (r *Recorder) disarmEnded() error {
	defer r.planes.noteUnfollowed()
	return r.planes.arm()
}

// failKept ends a recording that cannot be written any more: what was written before
// can be asked.
func (r *Recorder) failKept() {
	f := r.stream.file
	if !f.Fail() {
		return
	}
	r.endKept(capture.Unwritten)
	f.Forget() // it was made before, without EndedUnwritten
	if r.target.Proc == nil {
		return
	}
	if err := r.target.StopAll(r.disarmEnded); err != nil && r.target.Proc != nil {
		if _, gone := r.target.Proc.Exited(); !gone {
			r.target.Notify("%v", err)
		}
	}
}

// FileSource is the recording so far, which goes to a file without a name.
func (r *Recorder) FileSource(f *recording.File) (capture.Source, error) {
	if f.Dropped() > 0 {
		r.account.Rec.NotePartial(capture.Reason{Kind: capture.DroppedOlder})
	}
	var err error
	r.target.Exclusive(func() { err = f.Flush() })
	if err != nil {
		r.failKept()
	}
	return f.Source(r.target.Exclusive)
}

// Bounded reports whether the recording is kept within bounds, and in which.
func (r *Recorder) Bounded() (recording.Bounds, bool) { return r.bounds, r.stream != nil }

// dropKept gives up the bounded recording of the last run.
func (r *Recorder) dropKept() {
	if r.stream == nil || !r.stream.file.Kept() {
		return
	}
	r.stream.file.Forget()
	_ = r.stream.file.Close() // it is no longer read
	r.account.Rec.Drop()
	r.stream = nil
}
