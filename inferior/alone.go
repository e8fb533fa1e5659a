package inferior

import (
	"errors"

	"golang.org/x/sys/unix"
)

// ErrThreadEnded is the error of a run of one thread that has ended, while others have not.
var ErrThreadEnded = errors.New("the thread has ended")

// RunAlone runs t until something stops it. All other threads are stopped, also those that it
// starts. What is owed of t from before, signals, hits of watchpoints and followed system calls, is
// reported later. A signal that stops t is dropped, because
// the caller restores the state that t had before.
func (p *Process) RunAlone(t *Thread) (Stop, error) {
	if err := p.Alive(); err != nil {
		return Stop{}, err
	}
	queue, changes, call := t.queue, t.changes, t.call
	t.queue, t.changes, t.call, p.alone.thread = nil, nil, followedCall{}, t
	stop, err := p.Continue()
	if stop.Signal != nil && stop.Thread == t && len(t.queue) > 0 && t.queue[0].seen {
		t.queue = t.queue[1:]
	}
	t.queue, p.alone.thread = append(queue, t.queue...), nil
	t.changes, t.call = append(changes, t.changes...), call
	if err == nil && t.state == exiting && p.target.exit == nil {
		err = ErrThreadEnded
	}
	return stop, err
}

// ContinueAlone is Continue for t: all other threads stay stopped, also those that it starts.
// What is pending on them is reported when they run. When t ends and others have not, that is
// ErrThreadEnded; a child that is followed instead of t's process runs all its threads.
func (p *Process) ContinueAlone(t *Thread) (Stop, error) {
	p.alone.thread = t
	stop, err := p.Continue()
	p.alone.thread = nil
	if err == nil && stop.Reason == Interrupted && t.tg == p.target && t.state == exiting && p.target.exit == nil {
		err = ErrThreadEnded
	}
	return stop, err
}

// A loneRun is the run of one thread, if there is one.
type loneRun struct{ thread *Thread }

// aside reports whether a thread is kept stopped because another one runs alone.
func (l loneRun) aside(t *Thread) bool {
	return l.thread != nil && t != l.thread && t.tg == l.thread.tg && !t.guest
}

// left reports whether the thread that runs alone has ended and another one of all has not. When
// the process exits, its threads end one after the other.
func (l loneRun) left(all []*Thread) bool {
	if l.thread == nil || l.thread.state != exiting {
		return false
	}
	for _, t := range all {
		if t.tg == l.thread.tg && t.state == stopped && !t.dies() {
			return true
		}
	}
	return false
}

// dies reports whether a stopped thread has been killed. The kernel moves it from its stop to the
// one at its exit.
func (t *Thread) dies() bool {
	var info siginfo
	err := getSiginfo(t.TID, &info)
	return err == unix.ESRCH || err == nil && info.code() == unix.PTRACE_EVENT_EXIT<<8|int(unix.SIGTRAP)
}
