package session

import (
	"errors"

	"hdb/inferior"
	"hdb/internal/panics"
	"hdb/recording"
)

// failed stops the process after a panic of what takes its events, on any goroutine, so that
// its owner can end the recording.
func (r *Recorder) failed(err error) {
	r.failure.CompareAndSwap(nil, &err)
	if p := r.target.Current.Load(); p != nil && r.streaming == nil {
		p.Wake(func() { r.target.Notify("%v: no more events are taken; what was recorded before may be saved", err) })
	}
	_ = r.target.Interrupt() // an error would mean that nothing runs
}

// Fail notes a panic of the goroutine that owns the session, which may have been anywhere:
// nothing is asked of it any more but EndStream and Rescue.
func (r *Recorder) Fail(err error) {
	r.failure.CompareAndSwap(nil, &err)
	r.target.Exclusive(r.account.Rec.Detach) // it may run on
}

// Failure is an error of hdb's own that has ended the recording, or nil.
func (r *Recorder) Failure() error {
	if p := r.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// complete adds names to the stream's file, so that it can be read elsewhere, and closes
// it. After a panic, which is then the error, the file has what can be read, and the
// reason why that is not all.
func (r *Recorder) complete(f *recording.File) error {
	failure := r.Failure()
	if failure == nil {
		err := caught(func() error { return f.Complete(r.target.Names.Embedder(), r.account.Rec.Info()) })
		if !isPanic(err) {
			return err
		}
		failure = err
	}
	all := failure
	for _, step := range f.Steps(failure, r.target.Names.Embedder()) {
		err := caught(step)
		all = errors.Join(all, err)
		if err != nil && !isPanic(err) {
			break
		}
	}
	return all
}

// attempt calls f, which is part of ending a recording: a panic is its failure.
func (r *Recorder) attempt(f func()) {
	if err := panics.Catch(f); err != nil {
		r.failure.CompareAndSwap(nil, &err)
	}
}

// caught is the error of f, or its panic.
func caught(f func() error) (err error) {
	if panicked := panics.Catch(func() { err = f() }); panicked != nil {
		return panicked
	}
	return err
}

func isPanic(err error) bool {
	failed := (*panics.Error)(nil)
	return errors.As(err, &failed)
}

// Rescue ends the session after a panic. The process continues as it would without hdb, if that can
// be done.
func (s *Session) Rescue() error {
	s.Settings.Outlive = true
	return caught(func() error {
		if s.target.Proc != nil { // the panic may have come while it ran
			if err := s.target.Proc.StopAll(func() error { return nil }); err != nil && !errors.Is(err, inferior.ErrEnded) {
				return err
			}
		}
		return s.Close()
	})
}
