package inferior

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Detach lets the target and all held processes continue by themselves, as if they had never been
// traced: no int3 is left in memory, no thread is behind one, pending signals are delivered, and a
// stopped process stays stopped. Afterwards only Close is left to call.
func (p *Process) Detach() error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.family.waitVforks(); err != nil {
		return err
	}
	p.snapshots.end()
	if err := p.target.drain(); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	p.patches.removeAll()
	p.traps.liftAll()
	p.traps.forget()
	p.handler.drop()
	err := p.target.detachAll()
	if e := p.family.detachHeld(); err == nil {
		err = e
	}
	p.family.reapLeaving(p.target)
	p.finish()
	return err
}

// finish ends the session with the processes.
func (p *Process) finish() {
	p.closed = true
	p.guard.end()
	p.memory.close()
	p.terminal.close()
	p.modules.forget()
}

// Kill ends the target with SIGKILL and waits for it.
func (p *Process) Kill() error {
	if err := p.Alive(); err != nil {
		return err
	}
	return p.kill(p.target)
}

func (p *Process) kill(tg *target) error {
	if err := unix.Kill(tg.pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill process %d: %w", tg.pid, err)
	}
	p.stopping = true
	for tg.exit == nil && (tg == p.target || p.family.held[tg.pid] != nil) {
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
	case p.target.core != nil:
		err = p.target.core.Close()
	case p.closed || p.target.exit != nil:
	case p.target.launched:
		err = p.kill(p.target)
	default:
		err = p.Detach()
	}
	for _, tg := range p.family.held {
		var e error
		if tg.launched {
			e = p.kill(tg)
		} else {
			e = tg.detachAll()
		}
		if err == nil {
			err = e
		}
	}
	p.snapshots.end()
	if !p.closed {
		p.finish()
	}
	p.owner = 0
	runtime.UnlockOSThread()
	return err
}
