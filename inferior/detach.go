package inferior

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// drain takes the SIGTRAPs of int3s that threads of tg have executed but not
// reported, so that none is left behind when the int3s are lifted.
func (p *Process) drain(tg *target) error {
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

// Detach lets the target and all held processes go on by themselves, as if
// they had never been traced: no int3 is left in memory, no thread stands
// behind one, pending signals are delivered, and a stopped process stays
// stopped. Afterwards only Close is left to call.
func (p *Process) Detach() error {
	if err := p.alive(); err != nil {
		return err
	}
	if err := p.waitVforks(); err != nil {
		return err
	}
	if err := p.drain(p.cur); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	p.removePatches()
	for _, s := range p.sites {
		p.mem.lift(s.addr)
	}
	p.forgetTraps()
	p.dropHandler()
	err := p.letGo(p.cur)
	for _, tg := range p.held {
		if e := p.letGo(tg); err == nil {
			err = e
		}
	}
	clear(p.held)
	p.reapLeaving(p.cur)
	p.finish()
	return err
}

// reapLeaving collects the threads that are on their way out: until then they
// are ours, and nobody else could attach. A leader that has exited before its
// threads cannot be detached from; when all are gone it is collected, so that
// its parent learns of it.
func (p *Process) reapLeaving(tg *target) {
	for tid := range p.leaving {
		for {
			_, ws, err := waitFor(tid)
			if err != nil || ws.Exited() || ws.Signaled() {
				break
			}
		}
	}
	clear(p.leaving)
	if leader := tg.threads[tg.pid]; leader != nil && leader.state == exiting {
		go func(pid int) {
			for {
				if _, ws, err := waitFor(pid); err != nil || ws.Exited() || ws.Signaled() {
					return
				}
			}
		}(tg.pid)
	}
}

// waitVforks lets vfork children go on until they no longer share memory.
func (p *Process) waitVforks() error {
	p.stopping = true
	for p.cur.exit == nil && (len(p.guests) > 0 || p.vforking()) {
		for _, g := range p.guests {
			if g.state == stopped && p.passTrap(g) {
				p.resume(g, unix.PTRACE_CONT)
			}
		}
		if err := p.waitEvent(); err != nil {
			return err
		}
	}
	return p.alive()
}

func (p *Process) vforking() bool {
	for _, t := range p.cur.order {
		if t.state == vforking {
			return true
		}
	}
	return false
}

// letGo detaches every thread of a stopped target, delivering its pending
// signals. Threads that are being killed are left to it.
func (p *Process) letGo(tg *target) error {
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
			sig = p.inject(t)
		}
		t.sendRest()
		if err == nil {
			err = ptrace(unix.PTRACE_DETACH, t.TID, 0, uintptr(sig))
		}
		if err != nil && err != unix.ESRCH && first == nil {
			first = fmt.Errorf("detach from thread %d: %w", t.TID, err)
		}
	}
	return first
}

// sendRest sends what is left of the queue; the placeholder that may be on
// its way stands for one of them. The kernel refuses codes of its own, which
// become plain signals.
func (t *Thread) sendRest() {
	for i := range t.queue {
		info := &t.queue[i].info
		if t.placed == info.signo() {
			t.placed = 0
			continue
		}
		if queueSignal(t.tg.pid, t.TID, info) != nil {
			_ = unix.Tgkill(t.tg.pid, t.TID, unix.Signal(info.signo())) // ESRCH: gone
		}
	}
	t.queue = nil
}

// finish ends the session with the processes.
func (p *Process) finish() {
	p.closed = true
	p.endGuard()
	p.mem.close()
	p.term.close()
	p.mods.forget()
}

// Kill ends the target with SIGKILL and waits for it.
func (p *Process) Kill() error {
	if err := p.alive(); err != nil {
		return err
	}
	return p.kill(p.cur)
}

func (p *Process) kill(tg *target) error {
	if err := unix.Kill(tg.pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill process %d: %w", tg.pid, err)
	}
	p.stopping = true
	for tg.exit == nil && (tg == p.cur || p.held[tg.pid] != nil) {
		if err := p.waitEvent(); err != nil {
			return fmt.Errorf("kill process %d: %w", tg.pid, err)
		}
	}
	return nil
}

// Close ends the session: a launched target that still exists is killed, an
// attached one detached, and so the held ones. The goroutine is no longer
// locked to its thread. A second call does nothing.
func (p *Process) Close() error {
	if p.owner == 0 {
		return nil
	}
	p.check()
	var err error
	switch {
	case p.closed || p.cur.exit != nil:
	case p.cur.launched:
		err = p.kill(p.cur)
	default:
		err = p.Detach()
	}
	for _, tg := range p.held {
		var e error
		if tg.launched {
			e = p.kill(tg)
		} else {
			e = p.letGo(tg)
		}
		if err == nil {
			err = e
		}
	}
	if !p.closed {
		p.finish()
	}
	p.owner = 0
	runtime.UnlockOSThread()
	return err
}
