package session

import (
	"errors"
	"fmt"

	"hdb/inferior"
	"hdb/session/target"
)

// errGoLocked is why a Go program does not run with locked threads.
var errGoLocked = errors.New("scheduler-locking: goroutines move between the threads of a Go program, which wait for each other: set scheduler-locking off")

// Step notes that a stepping command runs, until the returned function is called.
func (x *Execution) Step() (done func()) {
	x.steps = true
	return func() { x.steps = false }
}

// locks reports whether the command that runs lets only the selected thread run.
func (x *Execution) locks() bool {
	return x.target.Settings.Locking == target.LockOn || x.target.Settings.Locking == target.LockStep && x.steps
}

// Lockable is the error of a program whose threads are not to be held.
func (x *Execution) Lockable() error {
	if x.locks() && x.alone == nil && x.target.Proc.IsGo() {
		return errGoLocked
	}
	return nil
}

// locked is the only thread that may run, nil when all may.
func (x *Execution) locked() *inferior.Thread {
	if !x.locks() {
		return nil
	}
	return x.sel.Cur.Thread
}

// runLocked lets only t run. Its end is a stop: nothing would run any more.
func (x *Execution) runLocked(t *inferior.Thread) (inferior.Stop, error) {
	stop, err := x.target.Proc.ContinueAlone(t)
	if errors.Is(err, inferior.ErrThreadEnded) {
		x.demand.hits = append(x.demand.hits, hit{
			occurred: fmt.Sprintf("thread %d has ended, scheduler-locking keeps the others stopped", t.Num), thread: stop.Thread,
		})
		err = nil
	}
	return stop, err
}
