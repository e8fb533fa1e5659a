package inferior

import (
	"slices"

	"golang.org/x/sys/unix"

	"hdb/inferior/x86"
	"hdb/internal/addr"
)

// StepInstruction runs one instruction of t while the other threads are stopped. A trap at the PC
// is passed; if its handlers have not run for this arrival they run first, and when one says
// StopHere that is the stop. Handlers of a trap at the new PC do not run (see Arrive). Reasons are
// Stepped, Trapped, Signaled (the instruction faulted or a signal with a stop policy came; others
// wait for StepSignal or Continue), Watched, Interrupted, and those of Continue.
func (p *Process) StepInstruction(t *Thread) (Stop, error) {
	if err := p.Alive(); err != nil {
		return Stop{}, err
	}
	stops, err := p.traps.Arrive(t)
	if err != nil {
		return Stop{}, err
	}
	if len(stops) > 0 {
		return *trapStop(t, stops), nil
	}
	if isSyscall(t.codeAt()) {
		p.terminal.lend(p.target.pid)
		defer p.terminal.take()
	}
	if err := p.traps.putBack(); err != nil {
		return Stop{}, err
	}
	p.stop = nil
	if err := p.watchpoints.refresh(); err != nil {
		return Stop{}, err
	}
	if s := p.traps.sites[t.regs.PC()]; s != nil && t.shown == 0 {
		if s.emulate != nil && s.emulate(threadMemory{t}, &t.regs) {
			t.regsDirty, t.at = true, 0
		} else if err := p.traps.lifted(s, func() error { return p.runOne(t, unix.PTRACE_SINGLESTEP) }); err != nil {
			return Stop{}, err
		}
	} else if err := p.runOne(t, unix.PTRACE_SINGLESTEP); err != nil {
		return Stop{}, err
	}
	return p.afterOne(t)
}

// StepWithin is for handlers: it runs instructions of t, while the other threads are stopped, as
// long as more says so. It passes the trap whose handlers are being called, or have been. It ends
// early before another int3, before a system call, and when a signal arrives or the thread is gone.
// Handlers of accessed memory run when t continues.
func (p *Process) StepWithin(t *Thread, more func() bool) error {
	return p.StopAll(func() error {
		for t.state == stopped && len(t.queue) == 0 && more() {
			if err := t.load(); err != nil {
				return err
			}
			s := p.traps.sites[t.regs.PC()]
			if s != nil && (t.at != s.addr || t.shown != 0) || isSyscall(t.codeAt()) {
				return nil
			}
			one := func() error { return p.runOne(t, unix.PTRACE_SINGLESTEP) }
			if s != nil {
				if s.emulate != nil && s.emulate(threadMemory{t}, &t.regs) {
					t.regsDirty, t.at = true, 0
					continue
				}
				step := one
				one = func() error { return p.traps.lifted(s, step) }
			}
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Touches reports whether the instruction at which t is accesses any of size bytes at a, or of
// writes only whether it may write there.
func (t *Thread) Touches(a addr.Run, size int, writes bool) bool {
	if t.load() != nil {
		return false
	}
	return slices.ContainsFunc(x86.Accesses(t.codeAt(), &t.regs), func(x x86.Access) bool { return x.Overlaps(a, size) && (x.Writes || !writes) })
}

// afterOne is the stop after a step of t.
func (p *Process) afterOne(t *Thread) (Stop, error) {
	if err := p.awaitExit(t); err != nil {
		return Stop{}, err
	}
	if p.target.exit == nil && !t.ours() {
		t = p.target.order[0] // it forked, and the child is followed
	}
	if p.stop == nil && t.state == stopped {
		p.report(t)
	}
	if p.stop == nil {
		p.stop = &Stop{Reason: Stepped, Thread: t}
	}
	if err := p.secure(); err != nil {
		return Stop{}, err
	}
	if p.stop == nil { // the thread has been killed meanwhile
		p.stop = &Stop{Reason: Stepped, Thread: p.target.representative()}
	}
	return p.finishStop(), nil
}

// runOne resumes t alone until its one instruction is over, or it is gone.
func (p *Process) runOne(t *Thread, request int) error {
	defer func(s bool) { p.stopping, p.stepping = s, nil }(p.stopping)
	p.stopping, p.stepping, p.request = true, t, request
	p.resume(t, request)
	for p.stepping == t {
		if err := p.waitEvent(); err != nil {
			return err
		}
	}
	return nil
}

// awaitExit waits for the end of the process when the step of t was its last one. Other threads
// that continue without t are left alone.
func (p *Process) awaitExit(t *Thread) error {
	if t.state != exiting || t.tg != p.target {
		return nil
	}
	defer func(s bool) { p.stopping = s }(p.stopping)
	p.stopping = true
	for p.target.exit == nil {
		for _, o := range p.target.order {
			if o.state == stopped && !o.dies() {
				return nil
			}
		}
		if err := p.waitEvent(); err != nil {
			return err
		}
	}
	return nil
}

// JumpsTo is where the jump leads at which t is, to an address in a register or in memory. ok is false of other
// instructions.
func (t *Thread) JumpsTo() (to addr.Run, ok bool) {
	if t.load() != nil {
		return 0, false
	}
	return x86.JumpTarget(t.codeAt(), &t.regs, func(b []byte, at addr.Run) error {
		_, err := t.p.memory.readAt(b, int64(at))
		return err
	})
}
