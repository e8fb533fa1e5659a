package probe

import (
	"errors"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// LockAll does what mlockall(2) does, for t, which is at the entry of that function and returns from it: to all memory but the
// probe's. The kernel would make all pages of the table of states. Where it makes none, or refuses the call, t is
// left there.
func (p *Probe) LockAll(t *inferior.Thread) error {
	regs, err := t.Regs()
	if err != nil {
		return err
	}
	flags := regs.Arg(0)
	if p.blocks.bytes == nil || flags != unix.MCL_CURRENT && flags != unix.MCL_CURRENT|unix.MCL_FUTURE {
		return nil
	}
	maps, err := p.proc.Maps()
	if err != nil {
		return err
	}
	if p.refusesLocks(maps) {
		return nil
	}
	back, err := addr.ReadWord(p.proc, regs.SP())
	if err != nil {
		return err
	}
	if err := p.lockOthers(t, flags&unix.MCL_FUTURE != 0, maps); err != nil {
		return err
	}
	regs.Rip, regs.Rax = back, 0
	regs.Rsp += 8
	return t.SetRegs(regs)
}

// refusesLocks reports whether the kernel refuses to lock all memory.
func (p *Probe) refusesLocks(maps []inferior.Mapping) bool {
	var limit unix.Rlimit
	if unix.Prlimit(p.proc.PID(), unix.RLIMIT_MEMLOCK, nil, &limit) != nil || procfs.MayLockAll(p.proc.PID()) {
		return false
	}
	own := uint64(0)
	for _, m := range maps {
		if !p.Owns(m.Low) {
			own += uint64(m.High - m.Low)
		}
	}
	return own > limit.Cur
}

// lockOthers locks what is mapped and not the probe's, and what will be or not.
func (p *Probe) lockOthers(t *inferior.Thread, future bool, maps []inferior.Mapping) error {
	b, err := t.Borrow()
	if err != nil {
		return err
	}
	if future {
		_, err = b.Syscall(unix.SYS_MLOCKALL, unix.MCL_FUTURE)
	} else {
		_, err = b.Syscall(unix.SYS_MUNLOCKALL)
	}
	if err != nil {
		return errors.Join(err, b.Return())
	}
	for _, m := range maps {
		if !p.Owns(m.Low) {
			_, _ = b.Syscall(unix.SYS_MLOCK, uint64(m.Low), uint64(m.High-m.Low)) // an error without access, which mlockall does not tell
		}
	}
	return errors.Join(err, b.Return())
}
