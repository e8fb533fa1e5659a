package inferior

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Values of ptrace(2) and sigaction(2) that x/sys/unix does not name.
const (
	sysgood   = 0x80 // PTRACE_O_TRACESYSGOOD's mark on SIGTRAP
	sigUser   = 0    // SI_USER
	sigQueue  = -1   // SI_QUEUE
	sigTkill  = -6   // SI_TKILL
	sigKernel = 0x80 // SI_KERNEL: an int3 on x86
	trapBrkpt = 1    // TRAP_BRKPT: int1 on x86
	trapTrace = 2    // TRAP_TRACE: a single-step
	trapHW    = 4    // TRAP_HWBKPT: a debug register
)

// baseOptions are set on every tracee; launched ones die with their tracer.
const baseOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEVFORKDONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACESYSGOOD

// ptrace makes a request that returns at once. It does not tell the Go
// scheduler, which would cost more than the call.
func ptrace(request, tid int, address, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// ptraceData is ptrace with a pointer. The conversion has to be in the call itself, or the stack
// may move from under it.
func ptraceData(request, tid int, address uintptr, data unsafe.Pointer) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, uintptr(data), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func getRegs(tid int, r *Registers) error {
	return ptraceData(unix.PTRACE_GETREGS, tid, 0, unsafe.Pointer(r))
}

func setRegs(tid int, r *Registers) error {
	return ptraceData(unix.PTRACE_SETREGS, tid, 0, unsafe.Pointer(r))
}

// eventMessage is the number that comes with a PTRACE_EVENT: a pid mostly.
func eventMessage(tid int) (int, error) {
	var n uint64
	err := ptraceData(unix.PTRACE_GETEVENTMSG, tid, 0, unsafe.Pointer(&n))
	return int(n), err
}

// siginfo is the kernel's siginfo_t, 128 bytes (asm-generic/siginfo.h).
type siginfo [128]byte

func (s *siginfo) signo() int    { return int(int32(binary.LittleEndian.Uint32(s[0:]))) }
func (s *siginfo) code() int     { return int(int32(binary.LittleEndian.Uint32(s[8:]))) }
func (s *siginfo) pid() int      { return int(int32(binary.LittleEndian.Uint32(s[16:]))) }
func (s *siginfo) uid() int      { return int(int32(binary.LittleEndian.Uint32(s[20:]))) }
func (s *siginfo) addr() uint64  { return binary.LittleEndian.Uint64(s[16:]) }
func (s *siginfo) value() uint64 { return binary.LittleEndian.Uint64(s[24:]) }

// makeSiginfo is the siginfo_t of a signal sent by process pid.
func makeSiginfo(signo, code, pid int, value uint64) siginfo {
	var s siginfo
	binary.LittleEndian.PutUint32(s[0:], uint32(signo))
	binary.LittleEndian.PutUint32(s[8:], uint32(int32(code)))
	binary.LittleEndian.PutUint32(s[16:], uint32(pid))
	binary.LittleEndian.PutUint32(s[20:], uint32(os.Getuid()))
	binary.LittleEndian.PutUint64(s[24:], value)
	return s
}

func getSiginfo(tid int, s *siginfo) error {
	return ptraceData(unix.PTRACE_GETSIGINFO, tid, 0, unsafe.Pointer(s))
}

func setSiginfo(tid int, s *siginfo) error {
	return ptraceData(unix.PTRACE_SETSIGINFO, tid, 0, unsafe.Pointer(s))
}

// queueSignal sends s to one thread as it is. The kernel refuses codes that
// are its own (not negative) or SI_TKILL: EPERM.
func queueSignal(pid, tid int, s *siginfo) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(tid),
		uintptr(s.signo()), uintptr(unsafe.Pointer(s)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// waitAny waits for a tracee of this OS thread. EINTR is returned, as that
// is how Interrupt wakes the owner.
func waitAny(options int) (int, unix.WaitStatus, error) {
	return wait4(-1, options|unix.WNOTHREAD)
}

// peekAny reports the next event of a tracee of this OS thread, which remains to be taken: the
// tracee and, if it has stopped, the stop's status (wait4's, shifted), else -1.
func peekAny(options int) (tid, status int, err error) {
	var info siginfo
	_, _, e := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)),
		uintptr(options|unix.WEXITED|unix.WNOWAIT|unix.WNOTHREAD|unix.WALL), 0, 0)
	if e != 0 {
		return 0, 0, e
	}
	const cldTrapped = 4
	if info.code() != cldTrapped {
		return info.pid(), -1, nil
	}
	return info.pid(), int(int32(info.value())), nil
}

// waitFor waits for one process or thread, which is about to report. Interrupt, which continues
// signalling while an event is handled, waits for it.
func waitFor(tid int) (int, unix.WaitStatus, error) {
	for {
		if n, ws, err := wait4(tid, 0); err != unix.EINTR {
			return n, ws, err
		}
	}
}

func wait4(pid, options int) (int, unix.WaitStatus, error) {
	var status uint32
	n, _, e := unix.Syscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&status)),
		uintptr(options|unix.WALL), 0, 0, 0)
	if e != 0 {
		return 0, 0, e
	}
	return int(n), unix.WaitStatus(status), nil
}

// event is the PTRACE_EVENT of a stop, 0 when it is a signal's.
func event(ws unix.WaitStatus) int { return int(ws) >> 16 }
