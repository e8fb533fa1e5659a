package inferior

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// lifted calls f while the int3 of s is out of the way. The other threads must be stopped, or they
// would run past it.
func (ts *traps) lifted(s *site, f func() error) error {
	if err := ts.p.memory.poke(s.addr, s.code[0]); err != nil {
		return err
	}
	err := f()
	if ts.sites[s.addr] == s { // else exec has replaced the image
		if e := ts.p.memory.poke(s.addr, int3); err == nil && ts.p.target.exit == nil {
			err = e
		}
	}
	return err
}

// passTrap gets t past the trap whose handlers have run. Mostly that is done
// by emulation; otherwise all threads are stopped and left so (p.halted).
// False: t is not to be resumed by the caller.
func (ts *traps) passTrap(t *Thread) bool {
	if t.at == 0 {
		return true
	}
	if t.load() != nil {
		return false // killed
	}
	s := ts.sites[t.at]
	if t.regs.PC() != t.at || s == nil || t.shown != 0 {
		t.at = 0 // moved away, or the trap has been removed, or it is in a copy
		return true
	}
	if s.emulate != nil && s.emulate(threadMemory{t}, &t.regs) {
		t.regsDirty, t.at = true, 0
		return true
	}
	return ts.stepOver(t, s)
}

// stepOver passes the trap with the processor's help.
func (ts *traps) stepOver(t *Thread, s *site) bool {
	if err := ts.p.stopThreads(); err != nil || ts.p.target.exit != nil {
		return false
	}
	ts.p.halted = true
	if t.state != stopped || !t.ours() || ts.sites[s.addr] != s {
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
	noBreak := ts.p.noBreak
	ts.p.noBreak = true
	defer func() { ts.p.noBreak = noBreak }()
	err := ts.lifted(s, func() error {
		for {
			if err := ts.p.runOne(t, request); err != nil {
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

// isSyscall reports whether code begins with syscall, sysenter or int 0x80.
func isSyscall(code []byte) bool {
	return len(code) >= 2 && (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34) || code[0] == 0xcd && code[1] == 0x80)
}

// isRepeated reports whether code begins with a rep-prefixed instruction.
func isRepeated(code []byte) bool {
	return len(code) >= 1 && (code[0] == 0xf2 || code[0] == 0xf3)
}

// putAside takes an int3 out until the threads run.
func (ts *traps) putAside(s *site) error {
	ts.aside = append(ts.aside, s)
	return ts.p.memory.poke(s.addr, s.code[0])
}

// putBack plants the int3s that were put aside.
func (ts *traps) putBack() error {
	ts.p.guard.table.forgetSignals()
	if len(ts.aside) > 0 {
		ts.p.guard.await()
	}
	for _, s := range ts.aside {
		if ts.sites[s.addr] != s {
			continue
		}
		if err := ts.p.memory.poke(s.addr, int3); err != nil {
			return fmt.Errorf("trap at %v: %w", s.addr, err)
		}
	}
	ts.aside = nil
	return nil
}
