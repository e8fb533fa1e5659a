package inferior

import (
	"hdb/internal/procfs"
	"strconv"

	"golang.org/x/sys/unix"
)

// StepSignal gives t the signal that DueSignal tells, while the other threads are stopped. handler
// tells that t is at the first instruction of the signal's handler. A signal that the process
// ignores is gone without effect, one that suspends it waits for Continue; both are Stepped.
// Otherwise the process ends.
func (p *Process) StepSignal(t *Thread) (stop Stop, handler bool, err error) {
	if err := p.Alive(); err != nil {
		return Stop{}, false, err
	}
	n, _ := t.DueSignal()
	switch t.disposition(n) {
	case ignored:
		t.SetPendingSignal(0)
		fallthrough
	case suspends:
		return Stop{Reason: Stepped, Thread: t}, false, nil
	}
	if _, err := t.Regs(); err != nil {
		return Stop{}, false, err
	}
	if err := p.traps.putBack(); err != nil {
		return Stop{}, false, err
	}
	p.stop = nil
	if err := p.watchpoints.refresh(); err != nil {
		return Stop{}, false, err
	}
	p.delivery, p.entered = t, false
	step := func() error { return p.runOne(t, unix.PTRACE_SINGLESTEP) }
	if s := p.traps.sites[t.regs.PC()]; s != nil && t.shown == 0 {
		err = p.traps.lifted(s, step)
	} else {
		err = step()
	}
	p.delivery = nil
	if err != nil {
		return Stop{}, false, err
	}
	stop, err = p.afterOne(t)
	return stop, p.entered, err
}

// A disposition is what a signal does to the process.
type disposition uint8

const (
	handled disposition = iota
	ignored
	suspends
	kills
)

// disposition is the disposition of signal n, from the masks in proc_pid_status(5) and signal(7).
func (t *Thread) disposition(n int) disposition {
	in := func(field string) bool {
		s, _ := procfs.Status(t.TID, field)
		mask, err := strconv.ParseUint(s, 16, 64)
		return err == nil && n > 0 && mask&(1<<(n-1)) != 0
	}
	switch {
	case n == 0, in("SigIgn"):
		return ignored
	case in("SigCgt"):
		return handled
	}
	switch unix.Signal(n) {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT:
		return ignored
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		return suspends
	}
	return kills
}

// Dies reports whether signal n would end the process, as it handles signals now.
func (t *Thread) Dies(n int) bool { return t.disposition(n) == kills }
