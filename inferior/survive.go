package inferior

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// When hdb is killed by SIGKILL the kernel lets go of all tracees as they are. A stop that has been
// waited for is over then, and its signal lost: wait4 has cleared the exit_code that the tracee
// would find (wait_task_stopped in kernel/exit.c). But a SIGTRAP still pending is delivered, a
// single-step continues stepping, a debug register stays armed: each ends a program that is to
// outlive hdb. So no thread of such a program is left like that while the user thinks. What is in
// memory, and the signals lost, are the guard's.

// SetKillOnExit chooses whether the target, and what it forks from now on,
// dies when hdb does, by whatever means. At first launched programs do and
// attached ones do not. Close ends a launched program in any case: Detach
// before. A thread that waits in vfork follows when its child is gone.
func (p *Process) SetKillOnExit(on bool) error {
	if err := p.Alive(); err != nil {
		return err
	}
	p.target.killOnExit, p.optionsChanged = on, true
	for _, t := range p.target.order {
		t.optionsOld = true
		if t.state != stopped {
			continue
		}
		if err := t.syncOptions(); err != nil && err != unix.ESRCH {
			return fmt.Errorf("kill on exit: thread %d: %w", t.TID, err)
		}
	}
	for _, g := range p.family.guests {
		g.optionsOld, g.tg.killOnExit = true, on
	}
	if err := p.secure(); err != nil {
		return fmt.Errorf("kill on exit: %w", err)
	}
	return p.guard.update()
}

// Outlives reports whether the target continues when hdb is killed.
func (p *Process) Outlives() bool { return p.target.survives() }

// syncOptions sets the ptrace options of the stopped thread.
func (t *Thread) syncOptions() error {
	options := baseOptions
	if t.tg.killOnExit {
		options |= unix.PTRACE_O_EXITKILL
	}
	if err := ptrace(unix.PTRACE_SETOPTIONS, t.TID, 0, uintptr(options)); err != nil {
		return err
	}
	t.optionsOld = false
	return nil
}

// secure readies the stopped threads for the death of hdb: their registers are in the kernel, none
// is about to take a SIGTRAP of ours or to step, and no int3 is where one of them continues.
func (p *Process) secure() error {
	if !p.target.survives() {
		return nil
	}
	for _, t := range slices.Clone(p.target.order) {
		if t.mayHaveTrap() {
			if err := t.drainTrap(); err != nil && t.state == stopped {
				return err
			}
		}
		if t.state != stopped || t.flush() != nil {
			continue // an error means that it has been killed
		}
		p.disarm(t)
		if t.stepped {
			t.park()
		}
	}
	if err := p.stopThreads(); err != nil {
		return err
	}
	for _, t := range p.target.order {
		if t.state != stopped || t.load() != nil {
			continue
		}
		if s := p.traps.sites[t.pc()]; s != nil && !slices.Contains(p.traps.aside, s) {
			if err := p.traps.putAside(s); err != nil {
				return err
			}
		}
	}
	p.guard.table.keepSignals(p.target.order)
	p.guard.tellTooMany()
	return nil
}

// disarm has the debug registers of a stopped thread do nothing until it is resumed, if the
// program is to outlive hdb.
func (p *Process) disarm(t *Thread) {
	if p.target.survives() && t.debugSet && p.watchpoints.inUse() {
		t.debugOK = false
		_ = pokeDebug(t.TID, 7, 0) // ESRCH: killed
	}
}

// mayHaveTrap reports whether a SIGTRAP of ours can be pending on the stopped thread: it has been
// stopped between an instruction that traps and the report.
func (t *Thread) mayHaveTrap() bool {
	if t.state != stopped || t.load() != nil {
		return false
	}
	return t.stepCut || threadMemory{t}.usesDebug() || t.p.traps.trapAt(t.pc()-1)
}

// park ends a single-step for the kernel: it sets the stopped thread on its way
// to a PTRACE_EVENT_STOP, without having it run an instruction: the kernel looks for one, outstanding since before it
// resumes, on its way back to the program.
func (t *Thread) park() {
	if t.vfork {
		return // it stops no more until its child is gone
	}
	if ptrace(unix.PTRACE_INTERRUPT, t.TID, 0, 0) == nil && ptrace(unix.PTRACE_CONT, t.TID, 0, 0) == nil {
		t.left()
		t.interrupted, t.stepped = true, false
	}
}
