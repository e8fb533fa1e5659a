package inferior

import (
	"fmt"
	"os"
	"slices"

	"hdb/inferior/corefile"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// A target is one process of the debugging session.
type target struct {
	pid        int
	launched   bool // otherwise it was there before
	killOnExit bool // it dies with its tracer
	exe        string
	builtByGo  *bool // nil: not looked at yet
	threads    map[int]*Thread
	order      []*Thread // by Num
	nextNum    int
	exit       *ExitStatus
	core       *corefile.File // what is left of the process, nil while it lives
	peers      bool           // a process that this is a child of shares its memory
}

func newTarget(pid int, launched bool) *target {
	return &target{pid: pid, launched: launched, killOnExit: launched, threads: map[int]*Thread{}, nextNum: 1}
}

// PID is the process ID of the target; after a followed fork, the child's.
func (tg *target) PID() int { return tg.pid }

// Exe is the path of the program that the target runs.
func (tg *target) Exe() string { return tg.exe }

// Attached tells a process that was running before from one that was launched.
func (tg *target) Attached() bool { return !tg.launched }

// Exited reports whether and how the target has ended.
func (tg *target) Exited() (ExitStatus, bool) {
	if tg.exit == nil {
		return ExitStatus{}, false
	}
	return *tg.exit, true
}

// Threads lists the living threads in order of Num.
func (tg *target) Threads() []*Thread {
	return slices.DeleteFunc(slices.Clone(tg.order), func(t *Thread) bool { return t.state == exiting })
}

// Thread is the thread with that TID, or nil.
func (tg *target) Thread(tid int) *Thread {
	if t := tg.threads[tid]; t != nil && t.state != exiting {
		return t
	}
	return nil
}

// StoppedThread is a thread of the target that can be worked with now: in a
// hook or a handler the one that it is about, as a rule. nil if none is stopped.
func (tg *target) StoppedThread() *Thread {
	for _, t := range tg.order {
		if t.state == stopped {
			return t
		}
	}
	return nil
}

// representative is the thread to show at a stop that no thread caused: the first whose registers
// can be read then, or just the first. It is nil when all have gone and only the end of the process
// is still to be reported.
func (tg *target) representative() *Thread {
	for _, t := range tg.order {
		if t.state == running || t.state == stopped {
			return t
		}
	}
	if len(tg.order) > 0 {
		return tg.order[0]
	}
	return nil
}

// dying reports whether no thread will run the program's code again, and the end of the process is
// still to be reported.
func (tg *target) dying() bool {
	return tg.exit == nil && !slices.ContainsFunc(tg.order, func(t *Thread) bool { return t.state != exiting })
}

func (tg *target) vforking() bool {
	for _, t := range tg.order {
		if t.state == vforking {
			return true
		}
	}
	return false
}

// survives reports whether the target continues when hdb is killed.
func (tg *target) survives() bool { return !tg.killOnExit && tg.exit == nil }

// drain takes the SIGTRAPs of int3s that the threads have executed but not
// reported, so that none is left behind when the int3s are lifted.
func (tg *target) drain() error {
	for _, t := range tg.order {
		if t.state != stopped {
			continue
		}
		if err := t.drainTrap(); err != nil && err != unix.ESRCH {
			return fmt.Errorf("thread %d: %w", t.TID, err)
		}
	}
	return nil
}

// detachAll detaches every thread of the stopped target, delivering its pending
// signals. Threads that are being killed are left to it.
func (tg *target) detachAll() error {
	var first error
	for _, t := range tg.order {
		if t.state != stopped {
			continue
		}
		err := t.flush()
		if err == nil && t.debugSet {
			err = pokeDebug(t.TID, 7, 0) // a watchpoint that hits now would kill it
		}
		sig := 0
		if t.deliverable && len(t.queue) > 0 {
			sig = t.inject(tg.pid, t.TID, true)
		}
		t.sendRest(tg.pid, t.TID)
		if err == nil {
			err = ptrace(unix.PTRACE_DETACH, t.TID, 0, uintptr(sig))
		}
		if err != nil && err != unix.ESRCH && first == nil {
			first = fmt.Errorf("detach from thread %d: %w", t.TID, err)
		}
	}
	return first
}

// executes takes up which program the target runs, after an exec and before all else.
func (tg *target) executes() error {
	path, err := os.Readlink(procfs.Path(tg.pid, "exe"))
	if err != nil {
		return err
	}
	tg.exe, tg.builtByGo = path, nil
	return nil
}

// Program is the file that the target runs, to open.
func (tg *target) Program() string {
	if tg.core != nil {
		return tg.exe
	}
	return procfs.Path(tg.pid, "exe")
}

// IsGo reports whether the target's program was built by the Go toolchain.
func (tg *target) IsGo() bool {
	if tg.builtByGo == nil {
		is := isGo(tg.Program())
		tg.builtByGo = &is
	}
	return *tg.builtByGo
}
