package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"hdb/capture"
)

// Bounds keep a recording small. The zero value keeps everything.
type Bounds struct {
	MaxSize   int64         // the recording ends when it takes so many bytes
	Ring      int64         // bytes of the last events that are kept
	Last      time.Duration // that the last events which are kept span
	Aggregate bool          // sums for each stack are kept, no events
}

// Check finds bounds that contradict one another.
func (b Bounds) Check() error {
	switch {
	case b.Aggregate && b.drops():
		return errors.New("record: --aggregate keeps no events, --ring and --last the last ones")
	case b.MaxSize > 0 && b.drops():
		return errors.New("record: --max-size keeps the first events, --ring and --last the last ones")
	}
	return nil
}

// Any tells that there are bounds.
func (b Bounds) Any() bool { return b != Bounds{} }

// drops tells that old events are dropped.
func (b Bounds) drops() bool { return b.Ring > 0 || b.Last > 0 }

// String are the flags that ask for the bounds.
func (b Bounds) String() string {
	var words []string
	for _, f := range []struct {
		name string
		size int64
	}{{"--max-size", b.MaxSize}, {"--ring", b.Ring}} {
		if f.size > 0 {
			words = append(words, fmt.Sprintf("%s %s", f.name, flagSize(f.size)))
		}
	}
	if b.Last > 0 {
		words = append(words, "--last "+b.Last.String())
	}
	if b.Aggregate {
		words = append(words, "--aggregate")
	}
	return strings.Join(words, " ")
}

// flagSize is a size as it would be typed.
func flagSize(n int64) string {
	unit := 0
	for unit < 4 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprint(n) + []string{"", "K", "M", "G", "T"}[unit]
}

// A BoundError says that a file cannot be kept within bounds.
type BoundError struct{ error }

func (e *BoundError) Unwrap() error { return e.error }

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
	dropped atomic.Int64 // bytes given back
}

// newBoundedFile takes the file, which it closes when it cannot be bounded.
func newBoundedFile(w io.WriteCloser, b Bounds, full func()) (*boundedFile, error) {
	f := &boundedFile{WriteCloser: w, bounds: b, full: full}
	f.disk, _ = w.(*os.File)
	if b.drops() {
		if err := punch(f.disk, 0, 1); err != nil {
			return nil, &BoundError{errors.Join(fmt.Errorf("%s: --ring and --last need a file in which room can be given back: %w", f.disk.Name(), err), w.Close())}
		}
	}
	return f, nil
}

// lost says what somebody else has done to the file, or nil.
func (f *boundedFile) lost() error {
	if !f.named || f.disk == nil {
		return nil
	}
	st, err := f.disk.Stat()
	switch {
	case err != nil || !st.Mode().IsRegular():
		return nil // a device or a pipe
	case st.Sys().(*syscall.Stat_t).Nlink == 0:
		return fmt.Errorf("%s: was removed or replaced while it was recorded: what was recorded is lost", f.disk.Name())
	case st.Size() < f.size:
		return fmt.Errorf("%s: was cut to %d of %d bytes while it was recorded: what they held is lost", f.disk.Name(), st.Size(), f.size)
	}
	return nil
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
func (f *boundedFile) bound() capture.Bound {
	return capture.Bound{Aggregate: f.bounds.Aggregate, Bytes: f.bounds.Ring, Last: f.bounds.Last, Drop: func(offset, length int64) error {
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
