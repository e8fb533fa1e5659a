package desk

import (
	"os"
	"runtime"
	"syscall"

	"hdb/session"
)

// Suspend suspends hdb as SIGTSTP would have suspended the program, and gives that the SIGCONT of the shell's `fg`:
// it may be of another process group. In an orphaned one the kernel drops SIGTSTP.
func Suspend(s *session.Session) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// To this thread: so it is delivered before the call returns.
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGTSTP)
	if pid, _, _, live := s.Process(); live {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it has just been killed, if this fails
	}
}
