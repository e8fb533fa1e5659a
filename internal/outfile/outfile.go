// Package outfile has the one rule for files that hdb is asked to write:
//
//   - One that is there is replaced only if that was asked for, and never if it is
//     read for what is written, or is a recording that an hdb is making.
//   - It is written to a file in the same directory, which gets its name when all of it is on the disk: after
//     an error what was there is as it was. A recording has its name from the
//     beginning, so that it is there however its hdb ends, and is locked until then.
//   - A new file is its owner's alone, as recordings hold what a process knew; one that is
//     replaced keeps its mode.
//   - Devices and pipes are written to as they are, except a FIFO that no reader has
//     open for reading: to open it would wait for a reader that may never come.
//
// The lock is flock(2)'s on the file, which the kernel lifts when the hdb that has
// it ends. A file system without such locks does without.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// A File is one to be written.
type File struct {
	Path   string
	Force  bool     // one that is there is replaced
	Public bool     // a new one may be read by all, as the umask says
	Inputs []string // what it is made of, "" for nothing
}

// Check says why the file must not or cannot be written, before anything is done
// for that.
func (f File) Check() error {
	dir := filepath.Dir(f.Path)
	switch st, err := os.Stat(dir); {
	case err != nil:
		return fmt.Errorf("%s: cannot be made: %s: %w", f.Path, dir, cause(err))
	case !st.IsDir():
		return fmt.Errorf("%s: cannot be made: %s is not a directory", f.Path, dir)
	}
	there, err := os.Stat(f.Path)
	switch {
	case err != nil:
		return nil
	case there.IsDir():
		return fmt.Errorf("%s: is a directory", f.Path)
	case there.Mode()&fs.ModeSocket != 0:
		return fmt.Errorf("%s: is a socket: name a file", f.Path)
	case !there.Mode().IsRegular():
		return nil
	}
	for _, path := range f.Inputs {
		if in, err := os.Stat(path); err == nil && os.SameFile(in, there) {
			return fmt.Errorf("%s: is also the input: name another file", f.Path)
		}
	}
	if !f.Force {
		return f.exists()
	}
	held, err := f.hold(f.Path)
	if held != nil {
		_ = held.Close() // it was only looked at
	}
	return err
}

func (f File) exists() error { return fmt.Errorf("%s: exists already: --force replaces it", f.Path) }

// Write has the file written by to.
func (f File) Write(to func(io.Writer) error) error {
	w, own, path, err := f.open()
	if err != nil {
		return err
	}
	if own == "" {
		return errors.Join(to(w), w.Close())
	}
	if err = to(w); err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = f.publish(own, path)
	}
	if err != nil {
		_ = os.Remove(own) // the error that led here says more
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Create makes the file for a recording: it has its name at once, and no other hdb
// replaces it until it is closed.
func (f File) Create() (*os.File, error) {
	w, own, path, err := f.open()
	if err != nil || own == "" {
		return w, err
	}
	if err = lock(w); err == nil {
		err = f.publish(own, path)
	}
	if err != nil {
		_ = os.Remove(own)
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Withdraw removes a file that Create made, as made tells, if nothing was written to it and
// it has its name still.
func (f File) Withdraw(made fs.FileInfo) {
	if there, err := os.Stat(f.Path); err == nil && there.Mode().IsRegular() && there.Size() == 0 && os.SameFile(there, made) {
		_ = os.Remove(f.Path) // an empty file is no capture, either
	}
}

// open opens what is written: a new file with the name own, to be published as path,
// or without one a device or a pipe. Errors of it name the file that was asked for.
func (f File) open() (w *os.File, own, path string, err error) {
	if err := f.Check(); err != nil {
		return nil, "", "", err
	}
	if path, err = filepath.EvalSymlinks(f.Path); err != nil {
		path = f.Path
	}
	mode := fs.FileMode(0o600)
	if f.Public {
		mode = 0o666
	}
	if st, err := os.Stat(path); err == nil {
		if !st.Mode().IsRegular() {
			w, err = f.openSpecial(st.Mode())
			return w, "", path, err
		}
		mode = st.Mode().Perm()
	}
	w, own, err = createBeside(path, mode)
	if err != nil {
		err = fmt.Errorf("%s: cannot be made: %w", f.Path, err)
	}
	return w, own, path, err
}

// openSpecial opens a device or a pipe of that mode.
func (f File) openSpecial(mode fs.FileMode) (*os.File, error) {
	flags := os.O_WRONLY
	if mode&fs.ModeNamedPipe != 0 {
		flags |= syscall.O_NONBLOCK // does not wait for a reader
	}
	w, err := os.OpenFile(f.Path, flags, 0)
	switch {
	case errors.Is(err, syscall.ENXIO) && mode&fs.ModeNamedPipe != 0:
		return nil, fmt.Errorf("%s: a FIFO without a reader: start its reader first", f.Path)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot be written: %w", f.Path, cause(err))
	}
	return w, nil
}

// createBeside creates a new file in path's directory, with that mode under the umask. Its errors name path.
func createBeside(path string, mode fs.FileMode) (*os.File, string, error) {
	base := filepath.Base(path)
	base = base[:min(len(base), 200)] // of the 255 bytes that a name may have
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
		fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, uint32(mode))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), name, nil
		case try == 100, err != syscall.EEXIST && err != syscall.EINTR:
			return nil, "", err
		}
	}
}

// publish gives the file own its name.
func (f File) publish(own, path string) error {
	if f.Force {
		old, err := f.hold(path)
		if err != nil {
			return err
		}
		if old != nil {
			defer old.Close()
		}
	} else {
		if renameNew(own, path) == nil {
			return nil
		} // else it is there, or the file system does not know how
		if err := os.Link(own, path); err == nil {
			return os.Remove(own)
		}
		if _, err := os.Lstat(path); err == nil {
			return f.exists()
		} // or the file system has no links
	}
	if err := os.Rename(own, path); err != nil {
		return fmt.Errorf("%s: cannot be made: %w", f.Path, cause(err))
	}
	return nil
}

// hold opens the file at path, nil if there is none, and locks it: until it is
// closed no other hdb replaces it.
func (f File) hold(path string) (*os.File, error) {
	for {
		old, err := os.OpenFile(path, os.O_RDWR, 0) // NFS wants that for an exclusive lock
		if err != nil {
			old, err = os.Open(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s: cannot be replaced: %w", f.Path, cause(err))
		}
		if err := lock(old); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", f.Path, err), old.Close())
		}
		locked, err := old.Stat()
		if now, nowErr := os.Stat(path); err == nil && nowErr == nil && os.SameFile(locked, now) {
			return old, nil
		}
		if err := old.Close(); err != nil { // it was replaced meanwhile
			return nil, err
		}
	}
}

// lock locks a file until it is closed.
func lock(f *os.File) error {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK {
		return errors.New("is being recorded by another hdb")
	}
	return nil // or the file system has no locks
}

// cause is an error of a file without its name, or names.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// syncDir puts a rename onto the disk, as far as the file system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // written, but in a directory that may not be read
	}
	defer d.Close()
	_ = d.Sync() // not every file system can, and the file itself is safe
	return nil
}
