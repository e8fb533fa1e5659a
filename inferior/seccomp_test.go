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

// TestCatchConfined: the calls of a thread that enters seccomp between two of them are not taken
// back any more, which would end it.
func TestCatchConfined(t *testing.T) {
	p, _ := launch(t, build(t, "strict"))
	before, last := 0, SystemCall{}
	p.SetHooks(Hooks{SystemCall: func(_ *Thread, c SystemCall) Action {
		if c.Before {
			before++
		}
		last = c
		return Resume
	}})
	p.systemCalls.CatchSystemCalls(func(uint64) bool { return true })
	s := resume(t, p)
	if s.Exit.Signal != 0 || before == 0 || last.Before {
		t.Errorf("%v, %d calls caught, the last is %+v", s.Exit, before, last)
	}
}
