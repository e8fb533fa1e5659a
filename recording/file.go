package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"hdb/capture"
	"hdb/capture/edit"
	"hdb/capture/file"
)

// A File is a recording that goes to a file as it is made, rather than to a log: hdb's
// memory does not grow with its events. It is the user's, or has no name and can be asked.
type File struct {
	mu     *sync.Mutex // the Recording's, which guards the writer while events come,
	writer *file.Writer
	failed bool // and that what was recorded cannot be written
	out    *boundedFile
	moved  string // once it is closed, see Moved
	copies
}

// copies are what questions to a file without a name read.
type copies struct {
	kept  bool       // there is no name: the session keeps the file
	asked *file.File // the recording as it was when the file had
	size  int64      // this number of bytes
	whole *os.File   // what asked reads if old events were dropped, nil otherwise
}

// NewFile begins to record what the info describes to a file of the user's, which it
// closes when that fails. full is called once when it is, from another goroutine.
func NewFile(w io.WriteCloser, info capture.Info, b Bounds, full func()) (*File, error) {
	return newFile(w, info, b, full, false)
}

// KeepFile begins to record to a file without a name, which can be asked. It is in the
// directory for temporary files, and gone when hdb is.
func KeepFile(info capture.Info, b Bounds, full func()) (*File, error) {
	f, err := unnamedFile()
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return newFile(f, info, b, full, true)
}

func newFile(w io.WriteCloser, info capture.Info, b Bounds, full func(), kept bool) (*File, error) {
	out, err := newBoundedFile(w, b, func() { go full() }) // it may wait for the one that waits for the file
	if err != nil {
		return nil, err
	}
	out.named = !kept
	writer, err := file.NewWriter(out, info)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	writer.Bound(out.bound())
	return &File{mu: new(sync.Mutex), writer: writer, out: out, copies: copies{kept: kept}}, nil
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

// Kept tells a file without a name, which can be asked.
func (f *File) Kept() bool { return f.kept }

// Bounds are what the file is kept within.
func (f *File) Bounds() Bounds { return f.out.bounds }

// Full tells that the file has Bounds.MaxSize.
func (f *File) Full() bool { return f.out.isFull.Load() }

// Size is how many bytes the file takes, without those that were returned.
func (f *File) Size() int64 { return f.writer.Size() - f.out.dropped.Load() }

// Length is how long the file is.
func (f *File) Length() int64 { return f.writer.Size() }

// Dropped is how many old events are in the file no more.
func (f *File) Dropped() uint64 { return f.writer.Dropped() }

// Err is the first error of writing, nil if there was none.
func (f *File) Err() error { return f.writer.Err() }

// Push has what was recorded written, without waiting for it.
func (f *File) Push() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writer.Push()
}

// Flush writes what was recorded.
func (f *File) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writer.Flush()
}

// Fail notes that what was recorded cannot be written any more. It is false if that is
// noted already, or not so.
func (f *File) Fail() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed || f.writer.Err() == nil {
		return false
	}
	f.failed = true
	return true
}

// Failed tells that what was recorded cannot be written any more.
func (f *File) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Source is the recording so far, of a file that can be asked, which is read; if old events
// were dropped it is made whole first. exclusive runs a function between two events.
func (f *File) Source(exclusive func(func())) (capture.Source, error) {
	var fresh *file.File
	var err error
	var size int64
	exclusive(func() { fresh, size, err = f.snapshot() })
	switch {
	case err != nil:
		return nil, err
	case fresh == nil:
		return f.asked, nil
	}
	var whole *os.File
	if f.Dropped() > 0 {
		if fresh, whole, err = compacted(fresh); err != nil {
			return nil, err
		}
	}
	f.Forget()
	f.asked, f.size, f.whole = fresh, size, whole
	return fresh, nil
}

// snapshot is the file as it is, nil if that was asked before.
func (f *File) snapshot() (*file.File, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.writer.Flush() // Fail returns its error
	size := f.writer.Size()
	if f.asked != nil && f.size == size {
		return nil, size, nil
	}
	fresh, err := f.writer.Snapshot("the recording", f.out.disk)
	return fresh, size, err
}

// compacted is a recording that has only its last events, as a whole one.
func compacted(f *file.File) (*file.File, *os.File, error) {
	to, err := unnamedFile()
	if err != nil {
		return nil, nil, err
	}
	if _, err := edit.CompactTo(to, f); err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	st, err := to.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	whole, err := file.NewFile("the recording", to, st.Size())
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	return whole, to, nil
}

// Forget gives up what Source returned last.
func (f *File) Forget() {
	if f.whole != nil {
		_ = f.whole.Close() // it was only read
	}
	f.asked, f.whole = nil, nil
}

// WithConsole is what Source returned last, with a console log.
func (f *File) WithConsole(lines []capture.ConsoleLine) capture.Source {
	return withConsole{f.asked, lines}
}

// withConsole is a recording with the console log of the session.
type withConsole struct {
	*file.File
	lines []capture.ConsoleLine
}

func (w withConsole) Console() []capture.ConsoleLine { return w.lines }

// Complete ends the recording that the info describes: the file gets the names that e
// knows. No event may come any more.
func (f *File) Complete(e capture.Embedder, info capture.Info) error {
	err := f.writer.Embed(e)
	if f.Dropped() > 0 {
		info.AddPartial(capture.Reason{Kind: capture.DroppedOlder})
		f.writer.SetInfo(info)
	}
	if err != nil {
		return err
	}
	return f.writer.Close()
}

// Steps are how a file is completed after a panic, which may have been anywhere: with what can
// be read of it, and the reason why that is not all. Each may panic, too.
func (f *File) Steps(failure error, e capture.Embedder) []func() error {
	abort := func() error { return f.writer.Abort(failure) }
	embed := func() error { return f.writer.Embed(e) } // which may be what fails
	return []func() error{abort, embed, abort, f.writer.Close}
}

// Moved is the name that the closed file has if it was given another one while it was recorded,
// "" otherwise. A file that was removed has " (deleted)" behind it.
func (f *File) Moved() string { return f.moved }

// Close closes the file, and returns an error if another process has removed or cut it.
func (f *File) Close() error {
	err := f.out.lost()
	f.moved = f.out.moved()
	if closeErr := f.out.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write capture: %w", closeErr)
	}
	return err
}

// Compact makes a whole capture of a file of the user's whose old events were dropped, and
// which is closed. It returns how many events and bytes it has then.
func (f *File) Compact() (events uint64, bytes int64, err error) {
	path := cmp.Or(f.moved, f.out.disk.Name())
	made, err := edit.Compact(path)
	if err != nil {
		return 0, 0, fmt.Errorf("%w; %s has holes: hdb capture repair writes a valid capture from it", err, path)
	}
	if st, err := os.Stat(path); err == nil {
		bytes = st.Size()
	}
	return made.Events, bytes, nil
}
