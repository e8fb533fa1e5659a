package inferior

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what the guard waits: until hdb, which dies, has let all threads go, and for each until
// it has stopped.
const (
	guardSeize = 500 * time.Millisecond
	guardStop  = 100 * time.Millisecond
	guardPoll  = 200 * time.Microsecond
)

// clearWatches clears the debug registers of all threads of a process that no debugger traces any
// more. The kernel keeps them when a tracer dies; each access then is a SIGTRAP. Threads
// that are made meanwhile have none. What cannot be traced, for Yama or another debugger,
// keeps its own.
func clearWatches(pid int) {
	runtime.LockOSThread() // it is the thread that traces
	defer runtime.UnlockOSThread()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return // it has ended
	}
	end := time.Now().Add(guardSeize)
	for _, e := range tasks {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			clearWatch(tid, end)
		}
	}
}

// clearWatch stops a thread, clears its debug registers and lets it go, with the signal that it was
// about to get. What another process traces by end, or the guard may not trace, is left alone.
func clearWatch(tid int, end time.Time) {
	err := ptrace(unix.PTRACE_SEIZE, tid, 0, 0)
	for err == unix.EPERM && time.Now().Before(end) {
		time.Sleep(guardPoll)
		err = ptrace(unix.PTRACE_SEIZE, tid, 0, 0)
	}
	if err != nil {
		return
	}
	_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) // it has ended
	for end := time.Now().Add(guardStop); time.Now().Before(end); time.Sleep(guardPoll) {
		n, status, err := wait4(tid, unix.WNOHANG)
		switch {
		case err == unix.EINTR || err == nil && n == 0:
			continue
		case err != nil || !status.Stopped():
			return // it has ended
		}
		_ = pokeDebug(tid, 7, 0) // fails only when it is killed
		sig := 0
		if int(status)>>16 == 0 && !isWatch(tid) {
			sig = int(status.StopSignal())
		}
		_ = ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig))
		return
	}
	// It waits in the kernel for what no signal interrupts, and is let go when the guard ends.
}

// isWatch reports whether the signal that a thread has stopped with comes from a debug register.
func isWatch(tid int) bool {
	var info siginfo
	err := getSiginfo(tid, &info)
	return err == nil && info.signo() == int(unix.SIGTRAP) && info.code() == trapHW
}
