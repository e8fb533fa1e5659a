// Package regular opens files that a user has named and that must be regular ones. To
// open a FIFO waits for a writer that may never come, and to read a device may never end.
// /dev/null counts as one: it is what users name for nothing. Files that a kernel makes up when they are read (proc,
// sysfs and the like) count as none, though they look so: some of them wait, or never end, or do something.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Errors of paths that name something else than a regular file, a directory among it.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrDirectory  = fmt.Errorf("a directory, %w", ErrNotRegular)
	ErrKernel     = fmt.Errorf("made up by the kernel, %w", ErrNotRegular)
)

// Open opens a regular file for reading, and returns its status. It does not wait.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s: %w", path, ErrDirectory)
	} else if err == nil && path != os.DevNull && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	} else if err == nil && madeUp(f) {
		err = fmt.Errorf("%s: %w", path, ErrKernel)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// Read reads a regular file of at most limit bytes, and of a longer one a byte more.
func Read(path string, limit int64) ([]byte, error) { return ReadBy(Open, path, limit) }

// ReadBy is Read of a file that is opened in another way.
func ReadBy(open func(path string) (*os.File, fs.FileInfo, error), path string, limit int64) ([]byte, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
