package inferior

import (
	"fmt"
	"hdb/internal/procfs"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// patience is how long a thread may take to stop, or a run to show that it continues, before that is reported.
const patience = time.Second

// An UnstoppedError is the error where threads were asked to stop, the kernel does not let them, and
// Interrupt ended the wait. hdb is attached to them until it ends.
type UnstoppedError struct {
	PID, TID int    // TID is one of the threads
	State    string // of the thread, as in /proc/TID/status: "D (disk sleep)"
	Frozen   bool   // its cgroup is frozen
}

func (e *UnstoppedError) Error() string {
	if e.Frozen {
		return fmt.Sprintf("process %d does not stop: its cgroup is frozen, it has to be thawed first", e.PID)
	}
	return fmt.Sprintf("process %d does not stop: thread %d is in state %s, in the kernel", e.PID, e.TID, e.State)
}

// unstopped describes a thread of the target that still runs.
func (p *Process) unstopped() *UnstoppedError {
	for _, t := range p.target.order {
		if t.state == running {
			state, _ := procfs.Status(t.TID, "State")
			return &UnstoppedError{p.target.pid, t.TID, state, frozen(t.TID)}
		}
	}
	return nil
}

// frozen reports whether a thread sleeps in the kernel's freezer: of cgroup v1 in __refrigerator, of v2
// in do_freezer_trap.
func frozen(tid int) bool {
	place, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", tid)) // "0" without the permission
	if err == nil && (strings.Contains(string(place), "refrigerator") || strings.Contains(string(place), "freezer")) {
		return true
	}
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", tid))
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != "freezer" {
			continue
		}
		state, err := os.ReadFile("/sys/fs/cgroup/freezer" + fields[2] + "/freezer.state")
		return err == nil && strings.HasPrefix(string(state), "FR") // FROZEN, FREEZING
	}
	return false
}

// An awaiting is the wait for threads to stop. Its timer runs on a goroutine of its own, also when the wait has ended.
type awaiting struct {
	timer    *time.Timer
	reported atomic.Bool // that it takes long
	over     atomic.Bool
}

// await begins a wait, which end ends.
func (p *Process) await() *awaiting {
	a := &awaiting{}
	a.timer = time.AfterFunc(patience, func() { p.waker.hurry(a) })
	return a
}

// wait waits for an event. When it takes long, that is reported once, and from then on Interrupt ends
// the wait with an *UnstoppedError.
func (a *awaiting) wait(p *Process) error {
	if err := p.waitEvent(); err != nil {
		return err
	}
	if p.waker.late() && a.reported.CompareAndSwap(false, true) {
		if e := p.unstopped(); e != nil {
			p.message("%v", e)
		}
	}
	if a.reported.Load() && p.waker.asked() {
		if e := p.unstopped(); e != nil {
			return e
		}
	}
	return nil
}

// end ends the wait, nil: there was none.
func (a *awaiting) end() {
	if a != nil {
		a.over.Store(true)
		a.timer.Stop()
	}
}

// Suspended reports whether a signal has stopped the thread with its process (group-stop, ptrace(2)): continued, it waits for
// SIGCONT.
func (t *Thread) Suspended() bool { return t.group }

// tellStopped says after a while that the process is stopped though it was resumed: a signal has
// stopped it (SIGSTOP, SIGTSTP), which gdb calls a group-stop. The result ends that.
func (p *Process) tellStopped() (end func() bool) {
	pid := p.target.pid
	return time.AfterFunc(patience, func() {
		p.Wake(func() {
			state, _ := procfs.Status(pid, "State")
			t := p.target.representative()
			if p.target.pid == pid && t != nil && (t.group && strings.HasPrefix(state, "t") || strings.HasPrefix(state, "T")) {
				p.message("process %d is stopped by a signal (SIGSTOP or the like); SIGCONT continues it: kill -CONT %d", pid, pid)
			}
		})
	}).Stop
}
