package inferior

import (
	"golang.org/x/sys/unix"
)

// StepInstruction runs one instruction of t while the other threads stand.
// A trap at the PC is passed; if its handlers have not run for this arrival
// they run first, and when one says StopHere that is the stop. Handlers of a
// trap at the new PC do not run (see Arrive). Reasons are Stepped, Trapped,
// Signaled (the instruction faulted or a signal with a stop policy came;
// others wait for Continue), Watched, Interrupted, and those of Continue.
func (p *Process) StepInstruction(t *Thread) (Stop, error) {
	if err := p.alive(); err != nil {
		return Stop{}, err
	}
	stops, err := p.Arrive(t)
	if err != nil {
		return Stop{}, err
	}
	if len(stops) > 0 {
		return *trapStop(t, stops), nil
	}
	if isSyscall(p.codeAt(t)) {
		p.term.give(p.cur.pid)
		defer p.term.take()
	}
	if err := p.putBack(); err != nil {
		return Stop{}, err
	}
	p.stop = nil
	if s := p.sites[t.regs.PC()]; s != nil && t.shown == 0 {
		if s.emulate != nil && s.emulate(t, &t.regs) {
			t.regsDirty, t.at = true, 0
		} else if err := p.lifted(s, func() error { return p.runOne(t, unix.PTRACE_SINGLESTEP) }); err != nil {
			return Stop{}, err
		}
	} else if err := p.runOne(t, unix.PTRACE_SINGLESTEP); err != nil {
		return Stop{}, err
	}
	if !p.ours(t) {
		t = p.cur.order[0] // it forked, and the child is followed
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
		p.stop = &Stop{Reason: Stepped, Thread: p.representative()}
	}
	return p.finishStop(), nil
}

// codeAt is the code at the thread's PC.
func (p *Process) codeAt(t *Thread) []byte {
	var code [16]byte
	n, _ := p.mem.readAt(code[:], int64(t.regs.Rip)) // what is not mapped is no instruction
	return code[:n]
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

// lifted calls f while the int3 of s is out of the way. The other threads
// must stand, as they would run past it.
func (p *Process) lifted(s *site, f func() error) error {
	if err := p.mem.poke(s.addr, s.code[0]); err != nil {
		return err
	}
	err := f()
	if p.sites[s.addr] == s { // else exec has replaced the image
		if e := p.mem.poke(s.addr, int3); err == nil && p.cur.exit == nil {
			err = e
		}
	}
	return err
}

// passTrap gets t past the trap whose handlers have run. Mostly that is done
// by emulation; otherwise all threads are stopped and left so (p.halted).
// False: t is not to be resumed by the caller.
func (p *Process) passTrap(t *Thread) bool {
	if t.at == 0 {
		return true
	}
	if t.load() != nil {
		return false // killed
	}
	s := p.sites[t.at]
	if t.regs.PC() != t.at || s == nil || t.shown != 0 {
		t.at = 0 // moved away, or the trap has been removed, or it stands in a copy
		return true
	}
	if s.emulate != nil && s.emulate(t, &t.regs) {
		t.regsDirty, t.at = true, 0
		return true
	}
	return p.stepOver(t, s)
}

// stepOver passes the trap with the processor's help.
func (p *Process) stepOver(t *Thread, s *site) bool {
	if err := p.stopThreads(); err != nil || p.cur.exit != nil {
		return false
	}
	p.halted = true
	if t.state != stopped || !p.ours(t) || p.sites[s.addr] != s {
		return false // gone, or of a target that has just been left
	}
	if len(s.code) == 0 {
		return true // nothing to run: let it fault
	}
	request := unix.PTRACE_SINGLESTEP
	if isSyscall(s.code) {
		// The call may block until another thread acts, so it is only
		// accompanied into the kernel.
		request = unix.PTRACE_SYSCALL
	}
	before := t.regs.Rip
	noBreak := p.noBreak
	p.noBreak = true
	defer func() { p.noBreak = noBreak }()
	err := p.lifted(s, func() error {
		for {
			if err := p.runOne(t, request); err != nil {
				return err
			}
			// A repeated string instruction traps once per element.
			if !isRepeated(s.code) || t.state != stopped || len(t.queue) > 0 || t.load() != nil || t.regs.Rip != before {
				return nil
			}
		}
	})
	return err == nil && t.state == stopped
}

// isSyscall tells whether code begins with syscall, sysenter or int 0x80.
func isSyscall(code []byte) bool {
	return len(code) >= 2 && (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34) || code[0] == 0xcd && code[1] == 0x80)
}

// isRepeated tells whether code begins with a rep-prefixed instruction.
func isRepeated(code []byte) bool {
	return len(code) >= 1 && (code[0] == 0xf2 || code[0] == 0xf3)
}
