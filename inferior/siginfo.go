package inferior

import (
	"fmt"
	"os"
	"strings"

	"hdb/inferior/x86"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A Signal is a signal that arrived, with what the kernel said about it.
type Signal struct {
	Number      int
	Name        string
	Code        int      // si_code, sigaction(2)
	Addr        addr.Run // of a fault: the address that could not be accessed
	SenderPID   int      // of a signal sent by a process
	SenderUID   int
	Explanation string // "SIGSEGV reading 0x0: address not mapped"
	Fatal       bool   // by default it would end the process
	Policy      Policy // what happens to it; Hold: it would have suspended the process. The CatchSignal hook may change it
}

// IsFault tells signals that the processor raised for an access to Addr, or at it.
func (s *Signal) IsFault() bool {
	_, known := faultCodes[unix.Signal(s.Number)][s.Code]
	return known && s.Code != sigKernel && s.Number != int(unix.SIGTRAP)
}

// nonFatal are the signals whose default action is not to terminate, signal(7).
var nonFatal = map[unix.Signal]bool{
	unix.SIGCHLD: true, unix.SIGCONT: true, unix.SIGSTOP: true, unix.SIGTSTP: true,
	unix.SIGTTIN: true, unix.SIGTTOU: true, unix.SIGURG: true, unix.SIGWINCH: true,
}

// faultCodes are the codes of sigaction(2) for faults.
var faultCodes = map[unix.Signal]map[int]string{
	unix.SIGSEGV: {1: "address not mapped", 2: "access not permitted", 3: "bounds check failed",
		4: "protection key", sigKernel: "general protection (address not canonical, or a privileged instruction)"},
	unix.SIGBUS: {1: "unaligned access", 2: "beyond the end of the mapped file or no memory left",
		3: "hardware error", 4: "hardware memory error", 5: "hardware memory error"},
	unix.SIGFPE: {1: "integer division by zero", 2: "integer overflow", 3: "floating-point division by zero",
		4: "floating-point overflow", 5: "floating-point underflow", 6: "floating-point inexact result",
		7: "invalid floating-point operation", 8: "subscript out of range"},
	unix.SIGILL: {1: "illegal opcode", 2: "illegal operand", 3: "illegal addressing mode", 4: "illegal trap",
		5: "privileged opcode", 6: "privileged register", 7: "coprocessor error", 8: "internal stack error"},
	unix.SIGTRAP: {sigKernel: "an int3 of the program's own", trapBrkpt: "an int1 of the program's own",
		trapTrace: "the program single-steps itself"},
}

// explain reads a siginfo that has just arrived at t.
func explain(p *Process, t *Thread, info *siginfo) *Signal {
	n := unix.Signal(info.signo())
	s := &Signal{Number: int(n), Name: SignalName(int(n)), Code: info.code(), Fatal: !nonFatal[n]}
	s.Explanation = s.Name
	fault, isCode := faultCodes[n][s.Code]
	switch {
	case isCode && n == unix.SIGTRAP:
		s.Explanation += ": " + fault
	case isCode:
		s.Addr = addr.Run(info.addr())
		s.Explanation += explainFault(t, n, s, fault)
	case s.Code == sigUser || s.Code == sigTkill || s.Code == sigQueue:
		s.SenderPID, s.SenderUID = info.pid(), info.uid()
		s.Explanation += " sent by " + sender(p, s.SenderPID)
	case s.Code == sigKernel:
		s.Explanation += " sent by the kernel"
	case s.Code == -2:
		s.Explanation += " from a timer"
	}
	return s
}

func sender(p *Process, pid int) string {
	switch pid {
	case 0:
		return "the kernel or a process of another pid namespace"
	case p.target.pid:
		return "the process itself"
	case os.Getpid():
		return "hdb"
	}
	if p.target.core != nil {
		return fmt.Sprintf("process %d", pid) // another one may have that number by now
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(b)))
	}
	return fmt.Sprintf("process %d", pid)
}

// explainFault tells what the instruction tried to do. The page fault's error code is not handed to
// tracers, so the PC tells executing, and writing is known from the mapping or the instruction.
func explainFault(t *Thread, n unix.Signal, s *Signal, why string) string {
	if n != unix.SIGSEGV && n != unix.SIGBUS || s.Code == sigKernel {
		return ": " + why
	}
	verb := "accessing"
	if t.load() == nil {
		switch code := t.codeAt(); {
		case uint64(s.Addr) == t.regs.Rip:
			verb = "executing"
		default:
			verb = x86.AccessVerb(code, &t.regs, uint64(s.Addr))
		}
	}
	return fmt.Sprintf(" %s %v: %s", verb, s.Addr, why)
}
