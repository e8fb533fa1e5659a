package inferior

import (
	"fmt"

	"hdb/internal/addr"
)

// Action is what a handler wants: continue, or stop everything here.
type Action uint8

const (
	Resume Action = iota
	StopHere
)

// StopReason says why Continue or StepInstruction returned.
type StopReason uint8

const (
	Trapped     StopReason = iota // a handler of a trap said StopHere; Traps
	Signaled                      // a signal arrived whose policy is stop, or that the CatchSignal hook stops; Signal
	Exited                        // the process ended; Exit
	Interrupted                   // Interrupt was called
	Watched                       // an access to watched memory; Changes
	Stepped                       // StepInstruction ran its one instruction
	Forked                        // fork, vfork or a clone of a process; Child (the CatchFork hook said StopHere)
	Execed                        // execve succeeded; Path (the CatchExec hook said StopHere)
	Loaded                        // the Modules hook said StopHere
	Gone                          // the process was killed with SIGKILL; Exit
)

var stopReasonNames = [...]string{"trapped", "signaled", "exited", "interrupted", "watched",
	"stepped", "forked", "execed", "loaded", "gone"}

// String is the reason in lower case, "trapped".
func (r StopReason) String() string {
	if int(r) < len(stopReasonNames) {
		return stopReasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Stop is one event that stopped all threads. Only the fields that the
// comment of its Reason names are set, and Thread, which is nil after the
// end of the process.
type Stop struct {
	Reason  StopReason
	Thread  *Thread
	Traps   []*Trap    // those whose handlers said StopHere, in planting order; none if the hook of a system call did
	Signal  *Signal    // what arrived; still to be delivered unless its policy is nopass
	Exit    ExitStatus // how the process ended
	Changes []Change   // of watched memory by one instruction, in no order
	Child   int        // pid of the new process
	Path    string     // what was executed
}

// Ended reports whether the process is no more.
func (s Stop) Ended() bool { return s.Reason == Exited || s.Reason == Gone }

// ExitStatus is how a process ended: by exit (Signal 0) or by a signal.
type ExitStatus struct {
	Code       int // exit(3)'s status & 0377
	Signal     int // the signal that killed it, or 0
	CoreDumped bool
}

// String says it in words: "exited with code 3", "killed by SIGSEGV (core dumped)".
func (e ExitStatus) String() string {
	if e.Signal == 0 {
		return fmt.Sprintf("exited with code %d", e.Code)
	}
	s := "killed by " + SignalName(e.Signal)
	if e.CoreDumped {
		s += " (core dumped)"
	}
	return s
}

// A Birth is a new process.
type Birth struct {
	Parent, Child int // process IDs
	VFork         bool
	// Followed: the child is the target from now on, with its traps planted and, unless it shares the parent's
	// memory, without patches (see Patch).
	Followed bool
}

// Hooks are called on the owner goroutine during Continue and StepInstruction.
// Any may be nil.
type Hooks struct {
	// Modules reports changes of the set of modules. by is the thread that loads or
	// unloads libraries, the only one that is stopped for sure; nil at the program's
	// entry, where those that it is linked with are there. Traps in removed modules
	// are to be removed by whoever planted them.
	Modules func(by *Thread, added, removed []Module) Action
	// Forked reports a new process.
	Forked func(Birth)
	// Guest reports that a child of t is about to run in the target's memory,
	// on t's stack or another, and that it does no more. It runs with t's thread-local
	// storage. vfork tells that t waits for it meanwhile: else both may run at once.
	Guest func(t *Thread, child int, begins, vfork bool)
	// Execed reports a new image. All traps and watchpoints are gone; the new
	// ones may be planted here, before its first instruction.
	Execed func(path string)
	// ThreadStarted and ThreadExited bracket each thread but the first.
	ThreadStarted, ThreadExited func(*Thread)
	// Exiting reports that the target's first thread runs no more user code, or none does, as the
	// process will soon be gone: its memory can still be read.
	Exiting func()
	// Signal reports a signal whose policy is print without stop.
	Signal func(*Thread, *Signal)
	// CatchFork is asked whether a fork, vfork or clone of a process is a stop: before
	// Forked, or after it if the child is followed, whose thread by is then.
	CatchFork func(by *Thread, child int, vfork bool) Action
	// CatchExec is asked whether an execve is a stop, when Execed has been called.
	CatchExec func(*Thread) Action
	// CatchSignal is asked first about each signal: if caught, its action takes the
	// place of the stop and print of the policy. It may change the policy of this one.
	CatchSignal func(*Thread, *Signal) (caught bool, a Action)
	// Fault sees each SIGSEGV and SIGBUS that an access has raised, before any policy. True: it was
	// not the program's own; it is dropped, and the thread continues with the registers that the
	// hook has set.
	Fault func(*Thread, *Signal) bool
	// SystemCall sees the calls that FollowSystemCalls and CatchSystemCalls name.
	// StopHere at the entry stops the process when the call is done, or Before it.
	SystemCall func(*Thread, SystemCall) Action
	// Refused reports a thread that ends by SIGSYS, where it is, and the system call that it has made last: a
	// seccomp filter has refused it, or one of another thread.
	Refused func(t *Thread, pc addr.Run, call string)
	// KnownTrapHandler reports whether the program's own handler of SIGTRAP is one that another may be put
	// before while hdb is there, which calls it: a runtime's, which asks for no trap itself.
	KnownTrapHandler func(handler addr.Run) bool
	// Message is for the user: something of interest that is not an error.
	Message func(string)
}

// A WatchKind is what access to the watched memory stops the program.
type WatchKind uint8

const (
	Write     WatchKind = iota // a store
	ReadWrite                  // a load or a store
	Read                       // a load; x86 cannot leave out stores, so they stop too
	Execute                    // the instruction, before it is executed: see BreakAt
)

// A Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Low, High addr.Run // [Low, High)
	Perm      string   // "r-xp"
	Offset    uint64   // into the file, bytes
	Device    string   // "fe:01"
	Inode     uint64
	Path      string // "[heap]", "" for anonymous memory; " (deleted)" is cut off
	Deleted   bool
}

// A Module is an ELF file mapped into the process.
type Module struct {
	Path      string // to open: the file itself, or a way through /proc when it is deleted or in another mount namespace; "" for the vDSO
	Name      string // as the process knows it
	Low, High addr.Run
	Bias      addr.Bias
	VDSO      bool
}
