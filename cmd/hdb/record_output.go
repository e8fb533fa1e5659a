package main

import (
	"fmt"
	"io"
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
	}
	return f, nil
}
