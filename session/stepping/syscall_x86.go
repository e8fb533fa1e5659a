package stepping

import (
	"hdb/inferior"
	"hdb/internal/addr"
)

// Linux system calls that do not return behind themselves, or not at all.
const (
	sysRtSigreturn = 15
	sysExecve      = 59
	sysExit        = 60
	sysExitGroup   = 231
	sysExecveat    = 322
)

// behindSyscall is where the system call returns to that the thread is about to make, or to make
// again: interrupted in one, it is behind it with an error that only the kernel sees (ERESTARTSYS
// and its kin, 512 to 516).
func (s *Steps) behindSyscall(t *inferior.Thread) (addr.Run, bool) {
	regs, err := t.Regs()
	if err != nil {
		return 0, false
	}
	pc := regs.PC()
	if s.isSyscall(pc) {
		switch regs.Rax {
		case sysRtSigreturn, sysExecve, sysExit, sysExitGroup, sysExecveat:
			return 0, false
		}
		return pc + 2, true
	}
	restarts := int64(regs.OrigRax) >= 0 && int64(regs.Rax) >= -516 && int64(regs.Rax) <= -512
	return pc, restarts && s.isSyscall(pc-2)
}

func (s *Steps) isSyscall(a addr.Run) bool {
	var code [2]byte
	_, err := s.target.Proc.ReadAt(code[:], int64(a))
	return err == nil && code == [2]byte{0x0f, 0x05}
}

// overSyscall makes the thread's system call with all threads running: it may
// wait for what another one does.
func (s *Steps) overSyscall(t *inferior.Thread, behind addr.Run) (inferior.Stop, error) {
	reached, stop, err := s.exec.RunToTargets([]RunTarget{{At: behind, When: func(now *inferior.Thread) bool { return now == t }}})
	if reached {
		stop = inferior.Stop{Reason: inferior.Stepped, Thread: t}
	}
	return stop, err
}
