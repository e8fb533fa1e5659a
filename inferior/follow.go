package inferior

import (
	"hdb/internal/procfs"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A SystemCall is one that a thread makes, as Hooks.SystemCall sees it.
type SystemCall struct {
	Number   uint64    // of the x86-64 table (arch/x86/entry/syscalls/syscall_64.tbl)
	Args     [6]uint64 // in the order of syscall(2)
	Returned bool      // otherwise the thread is about to enter the kernel
	Before   bool      // and is at the instruction: see CatchSystemCalls
	Result   int64     // if it has returned; -4095 to -1 are errors
}

// systemCalls has the hook see some of the target's system calls.
type systemCalls struct {
	p        *Process
	followed []uint64                 // numbers of those that the hook sees
	caught   func(number uint64) bool // those that it may stop before; nil: none
	confined bool                     // it was said that seccomp is in the way
	free     map[*Thread]bool         // threads that are not under seccomp, as long as no call has changed that
}

// followedCall is the system call that a thread is in, or has just left, if it
// is a followed one.
type followedCall struct {
	SystemCall
	under bool // there is one, and the hook has not been called for its return
	entry bool // nor for its entry

	// A caught call is taken back: the kernel is made to skip it, and the thread put back at the
	// instruction.
	back bool     // it is on its way to there
	site callSite // that instruction: the next call of it is let through
}

// A callSite is where a call is made.
type callSite struct{ number, pc, sp uint64 }

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
	sc.changed()
}

// CatchSystemCalls is FollowSystemCalls of calls that the hook may stop before they are made: with
// StopHere at a call that is Before, the thread is at the instruction that makes it, and may be
// asked, moved or let go like any other. Calls of threads under seccomp are seen only when they
// have returned: a filter might end the process.
func (sc *systemCalls) CatchSystemCalls(caught func(number uint64) bool) {
	sc.p.check()
	sc.caught = caught
	sc.changed()
}

// changed forgets the calls that threads are in when none is followed any more.
func (sc *systemCalls) changed() {
	if len(sc.followed) > 0 || sc.caught != nil {
		return
	}
	for _, t := range sc.p.target.order {
		t.call = followedCall{}
	}
}

// follows reports whether the thread's system calls are to be seen.
func (sc *systemCalls) follows(t *Thread) bool {
	return (len(sc.followed) > 0 || sc.caught != nil) && !t.guest && t.tg == sc.p.target
}

// catches reports whether the hook may stop before a call.
func (sc *systemCalls) catches(number uint64) bool { return sc.caught != nil && sc.caught(number) }

// What PTRACE_GET_SYSCALL_INFO says of a stop (linux/ptrace.h).
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
	if e == 0 {
		sc.noteConfining(t, &info)
	}
	if e == 0 && info.op == callExit { // unless a signal has it begun anew (ERESTARTSYS and its kin) its result is kept
		result := int64(info.words[0])
		t.inKernel = -516 <= result && result <= -512
	}
	switch {
	case e == unix.ESRCH:
		t.state = running // killed: its exit will be reported
		return
	case e != 0:
		sc.followed, sc.caught = nil, nil
		sc.p.message("system calls cannot be followed: PTRACE_GET_SYSCALL_INFO: %v", e)
	case info.op == callEntry && sc.catches(info.words[0]):
		if sc.onCaught(t, &info) {
			return
		}
	case info.op == callExit && t.call.back:
		if !sc.backAt(t) {
			return
		}
	case info.op == callEntry && slices.Contains(sc.followed, info.words[0]):
		made := t.call.site
		t.call = enteredCall(&info)
		t.call.site = made
	case info.op == callExit && t.call.under:
		t.call.Returned = true
		t.call.Result = int64(info.words[0])
	default:
		t.call = followedCall{site: t.call.site} // of a handler that runs before the call is made
	}
	sc.p.proceed(t)
}

// enteredCall is the call that a thread enters.
func enteredCall(info *syscallInfo) followedCall {
	c := followedCall{under: true, entry: true}
	c.Number = info.words[0]
	copy(c.Args[:], info.words[1:])
	return c
}

// onCaught handles the entry of a call that is caught. True: it is being taken back.
func (sc *systemCalls) onCaught(t *Thread, info *syscallInfo) bool {
	site := callSite{info.words[0], info.pc, info.sp}
	again := t.call.site == site
	t.call = enteredCall(info)
	if again { // the hook has seen it Before, which is no entry
		t.call.entry = slices.Contains(sc.followed, info.words[0])
		return false
	}
	if !sc.unconfined(t) {
		if !sc.confined {
			sc.confined = true
			sc.p.message("system calls of thread %d are caught when they return only: it is under seccomp", t.Num)
		}
		return false
	}
	var r Registers
	if getRegs(t.TID, &r) != nil {
		t.state = running // killed
		return true
	}
	r.OrigRax = ^uint64(0)
	if setRegs(t.TID, &r) != nil {
		t.state = running
		return true
	}
	t.call.back, t.call.site = true, site
	sc.p.resume(t, unix.PTRACE_SYSCALL)
	return true
}

// unconfined reports whether t is not under seccomp. That is asked anew when a thread has made a
// call that may have changed it, for itself or for all (SECCOMP_FILTER_FLAG_TSYNC).
func (sc *systemCalls) unconfined(t *Thread) bool {
	if sc.free[t] {
		return true
	}
	if mode, _ := procfs.Status(t.TID, "Seccomp"); mode != "0" && mode != "" {
		return false
	}
	if sc.free == nil {
		sc.free = map[*Thread]bool{}
	}
	sc.free[t] = true
	return true
}

// noteConfining forgets who is under seccomp at the end of calls by which that changes.
func (sc *systemCalls) noteConfining(t *Thread, info *syscallInfo) {
	if t.confines {
		clear(sc.free)
	}
	t.confines = info.op == callEntry && (info.words[0] == unix.SYS_PRCTL || info.words[0] == unix.SYS_SECCOMP)
}

// backAt handles the end of a call that was taken back: the thread is made to be before it. False:
// it was killed.
func (sc *systemCalls) backAt(t *Thread) bool {
	var r Registers
	if getRegs(t.TID, &r) != nil {
		t.state = running
		return false
	}
	r.Rip, r.Rax = t.call.site.pc-syscallSize, t.call.site.number
	// The kernel has kept the return address in rcx. A C function that wraps a call has copied its fourth argument from
	// there to r10 (System V ABI, section A.2.1), and debug information continues to find it in rcx.
	r.Rcx = r.R10
	if setRegs(t.TID, &r) != nil {
		t.state = running
		return false
	}
	t.inKernel = false
	t.call.back, t.call.under, t.call.Before = false, false, true
	return true
}

// report calls the hook for the system call that t is in, unless it has been for where t is now. It
// reports whether that is a stop.
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

// callHook calls the hook, and reports whether that is a stop.
func (sc *systemCalls) callHook(t *Thread, c SystemCall) bool {
	if sc.p.hooks.SystemCall == nil {
		return false
	}
	// At the entry all registers are as the program has set them but for rax, rcx and r11, and
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
