package inferior

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A SystemCall is one that a thread makes, as Hooks.SystemCall sees it.
type SystemCall struct {
	Number   uint64    // of the x86-64 table (arch/x86/entry/syscalls/syscall_64.tbl)
	Args     [6]uint64 // in the order of syscall(2)
	Returned bool      // otherwise the thread is about to enter the kernel
	Result   int64     // if it has returned; -4095 to -1 are errors
}

// systemCalls has the hook see some of the target's system calls.
type systemCalls struct {
	p        *Process
	followed []uint64 // numbers of those that the hook sees
}

// followedCall is the system call that a thread is in, or has just left, if it
// is a followed one.
type followedCall struct {
	SystemCall
	under bool // there is one, and the hook has not been called for its return
	entry bool // nor for its entry
}

// FollowSystemCalls has Hooks.SystemCall called for each system call of the
// target with one of these numbers: before it enters the kernel and when it has
// returned. It costs every other system call two stops of its thread as well.
// None: it ends. Calls that are stepped through instruction by instruction and
// those of vfork children in the target's memory are not seen. It needs
// PTRACE_GET_SYSCALL_INFO, which Linux has since 5.3; without it a message says
// so.
func (sc *systemCalls) FollowSystemCalls(numbers []uint64) {
	sc.p.check()
	sc.followed = slices.Clone(numbers)
	if len(numbers) == 0 {
		for _, t := range sc.p.target.order {
			t.call = followedCall{}
		}
	}
}

// follows tells whether the thread's system calls are to be seen.
func (sc *systemCalls) follows(t *Thread) bool {
	return len(sc.followed) > 0 && !t.guest && t.tg == sc.p.target
}

// What PTRACE_GET_SYSCALL_INFO tells of a stop (linux/ptrace.h).
const (
	getSyscallInfo = 0x420e
	callEntry      = 1 // PTRACE_SYSCALL_INFO_ENTRY
	callExit       = 2 // PTRACE_SYSCALL_INFO_EXIT
)

// syscallInfo is the beginning of struct ptrace_syscall_info, with its entry
// member: at an exit word 0 is the result.
type syscallInfo struct {
	op    uint8
	_     [7]uint8 // arch
	pc    uint64
	sp    uint64
	words [7]uint64 // number and arguments
}

// onStop handles a syscall-stop of a thread whose calls are followed.
func (sc *systemCalls) onStop(t *Thread) {
	var info syscallInfo
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(t.TID), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	switch {
	case e == unix.ESRCH:
		t.state = running // killed: its exit will be reported
		return
	case e != 0:
		sc.followed = nil
		sc.p.message("system calls cannot be followed: PTRACE_GET_SYSCALL_INFO: %v", e)
	case info.op == callEntry && slices.Contains(sc.followed, info.words[0]):
		t.call = followedCall{under: true, entry: true}
		t.call.Number = info.words[0]
		copy(t.call.Args[:], info.words[1:])
	case info.op == callExit && t.call.under:
		t.call.Returned = true
		t.call.Result = int64(info.words[0])
		// Unless a signal has it begun anew (ERESTARTSYS and its kin) its result stands.
		t.inKernel = -516 <= t.call.Result && t.call.Result <= -512
	default:
		t.call = followedCall{}
	}
	sc.p.proceed(t)
}

// report calls the hook for the system call that t is in, unless it has been
// for where t is now. It tells whether that is a stop.
func (sc *systemCalls) report(t *Thread) bool {
	c := &t.call
	if c.entry {
		c.entry = false
		before := c.SystemCall // it may have returned meanwhile
		before.Returned, before.Result = false, 0
		if sc.callHook(t, before) {
			return true
		}
	}
	if !c.under || !c.Returned {
		return false
	}
	c.under = false
	return sc.callHook(t, c.SystemCall)
}

// callHook calls the hook, and tells whether that is a stop.
func (sc *systemCalls) callHook(t *Thread, c SystemCall) bool {
	if sc.p.hooks.SystemCall == nil {
		return false
	}
	// At the entry all registers are as the program has set them but for rax, and
	// the hook may look at the stack. Otherwise they would be read behind the call.
	inKernel := t.inKernel
	t.inKernel = false
	action := sc.p.hooks.SystemCall(t, c)
	t.inKernel = inKernel
	if action == Resume {
		return false
	}
	if inKernel {
		t.regsValid = false
	}
	sc.p.stop = &Stop{Reason: Trapped, Thread: t}
	return true
}
