package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"hdb/capture/file"
)

// A boundedFile is the file of a recording under bounds. A Writer's goroutine writes
// it.
type boundedFile struct {
	io.WriteCloser
	disk    *os.File // the same, or nil if it is none and no event is dropped
	named   bool     // the file is to have its name, and all that was written, in the end
	bounds  Bounds
	full    func() // is called once, on that goroutine
	size    int64
	isFull  atomic.Bool
	dropped atomic.Int64 // bytes returned to the file system
}

// newBoundedFile takes the file, which it closes when it cannot be bounded.
func newBoundedFile(w io.WriteCloser, b Bounds, full func()) (*boundedFile, error) {
	f := &boundedFile{WriteCloser: w, bounds: b, full: full}
	f.disk, _ = w.(*os.File)
	if b.Drops() {
		if err := punch(f.disk, 0, 1); err != nil {
			return nil, &BoundError{Err: errors.Join(fmt.Errorf("%s: --ring and --last need a file in which holes can be punched: %w", f.disk.Name(), err), w.Close())}
		}
	}
	return f, nil
}

// lost says what another process has done to the file, or nil.
func (f *boundedFile) lost() error {
	if !f.named || f.disk == nil {
		return nil
	}
	st, err := f.disk.Stat()
	switch {
	case err != nil || !st.Mode().IsRegular():
		return nil // a device or a pipe
	case st.Sys().(*syscall.Stat_t).Nlink == 0:
		return fmt.Errorf("%s: was removed or replaced during the recording: the recording is lost", f.disk.Name())
	case st.Size() < f.size:
		return fmt.Errorf("%s: was truncated to %d of %d bytes during the recording: the events in the rest are lost", f.disk.Name(), st.Size(), f.size)
	}
	return nil
}

// moved is the name that the file has now if it was renamed, "" otherwise. A file that was removed
// has " (deleted)" behind it.
func (f *boundedFile) moved() string {
	if !f.named || f.disk == nil {
		return ""
	}
	own, err := f.disk.Stat()
	if err != nil || !own.Mode().IsRegular() {
		return "" // a device or a pipe
	}
	if there, err := os.Stat(f.disk.Name()); err == nil && os.SameFile(own, there) {
		return ""
	}
	name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.disk.Fd())) // not known without /proc
	return name
}

// Write writes, and notes that the file is long enough.
func (f *boundedFile) Write(b []byte) (int, error) {
	if err := f.lost(); err != nil {
		return 0, err
	}
	n, err := f.WriteCloser.Write(b)
	f.size += int64(n)
	if f.bounds.MaxSize > 0 && f.size >= f.bounds.MaxSize && f.isFull.CompareAndSwap(false, true) {
		f.full()
	}
	return n, err
}

// bound is what the Writer of the file does.
func (f *boundedFile) bound() file.Bound {
	return file.Bound{Aggregate: f.bounds.Aggregate, Bytes: f.bounds.Ring, Last: f.bounds.Last, Drop: func(offset, length int64) error {
		f.dropped.Add(length)
		return punch(f.disk, offset, length)
	}}
}

// punch gives the room of a part of the file back, which then reads as zeros:
// fallocate(2).
func punch(f *os.File, offset, length int64) error {
	const keepSize, punchHole = 1, 2 // FALLOC_FL_* of linux/falloc.h
	for {
		err := syscall.Fallocate(int(f.Fd()), keepSize|punchHole, offset, length)
		if err == nil || !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
