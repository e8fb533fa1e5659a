package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"hdb/capture"
)

// createError is why there is no file to record to.
type createError struct{ error }

func (e createError) Unwrap() error { return e.error }

// create makes the file of the process that has been launched or attached to.
func (r *recorder) create(info capture.Info) (io.WriteCloser, error) {
	// The program has the terminal's foreground while it runs; a line written
	// from the background must not stop hdb. What was launched is not affected.
	signal.Ignore(syscall.SIGTTOU)
	if r.o.pid == 0 {
		r.signals.runs(info.PID)
	}
	r.signals.start() // until now nothing was done to the program, and hdb may die
	to := r.o.output(info.Program)
	if to.Path == "" {
		to.Path = fmt.Sprintf("%s.%d.hdb", filepath.Base(info.Program), info.PID)
	}
	r.file = to.Path
	f, err := to.Create()
	if err != nil {
		return nil, createError{err}
	}
	if made, err := f.Stat(); err == nil {
		r.withdraw = func() { to.Withdraw(made) }
		if made.Mode().IsRegular() {
			r.written = again(f)
		}
	}
	return f, nil
}

// again is the same file once more, nil if there can be no more. It is opened anew, and only for
// its name: a duplicate of f would keep f's lock after f is closed.
func again(f *os.File) *os.File {
	const path = 0x200000 // O_PATH
	g, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), path, 0)
	if err != nil {
		return nil
	}
	return g
}

// nameNow makes file the name that the file has now: it may have been given another one meanwhile.
func (r *recorder) nameNow() {
	if r.written == nil {
		return
	}
	defer func() { _ = r.written.Close(); r.written = nil }()
	own, err := r.written.Stat()
	if err != nil {
		return
	}
	if there, err := os.Stat(r.file); err == nil && os.SameFile(own, there) {
		return
	}
	if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.written.Fd())); err == nil {
		r.file = name // with " (deleted)" behind it where it has none any more
	}
}
