package inferior

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A thread in strict seccomp is made to make no system call, which would end it.
func TestStrictSeccomp(t *testing.T) {
	p, _ := launch(t, build(t, "strict"))
	if th := p.target.Threads()[0]; th.StrictSeccomp() || th.Confined() {
		t.Error("confined at the beginning")
	}
	trap := plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	s := resume(t, p)
	if s.Reason != Trapped || !s.Thread.StrictSeccomp() || !s.Thread.Confined() {
		t.Fatalf("%v, in strict seccomp: %v", s.Reason, s.Thread.StrictSeccomp())
	}
	if pid, err := s.Thread.Syscall(unix.SYS_GETPID); err == nil {
		t.Errorf("getpid: %d", pid)
	}
	if err := trap.Remove(); err != nil {
		t.Error(err)
	}
	wantExit(t, p, 7)
}
