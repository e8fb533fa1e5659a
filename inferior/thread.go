package inferior

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// threadState is what the engine knows a tracee.
type threadState uint8

const (
	running  threadState = iota
	stopped              // in a ptrace-stop: registers can be read
	vforking             // in the kernel until its vfork child execs or exits; cannot stop
	exiting              // past PTRACE_EVENT_EXIT: runs no more user code
)

// A Thread of the inferior. Its methods belong to the owner goroutine and, except the fields and
// Name, need the thread to be stopped.
type Thread struct {
	Num int // counts from 1 in order of creation; never used again
	TID int

	p     *Process
	tg    *target
	state threadState
	guest bool    // not a thread of the target, but a vfork child in its memory
	host  *Thread // that made the guest
	out   bool    // the guest has left the memory
	waits bool    // the guest's parent waits for it
	leave bool    // of a guest: it is let go behind the trap where it is

	interrupted bool     // PTRACE_INTERRUPT is outstanding
	deliverable bool     // in a signal-delivery-stop: can be resumed with a signal
	foreseen    []*Watch // what the instruction accesses that it runs by a step,
	foreseenAt  uint64   // and where that is
	stepped     bool     // last resumed for one instruction: the kernel remembers
	group       bool     // of a process in group-stop, when last seen there
	atStop      bool     // in a PTRACE_EVENT_STOP: may be resumed with PTRACE_LISTEN
	inKernel    bool     // stopped inside a system call, whose result is not in the registers yet
	stepCut     bool     // a step of it was interrupted in a system call: the step's SIGTRAP may be pending
	optionsOld  bool     // its ptrace options are to be set
	vfork       bool     // its system call is vfork: resumed, it waits for the child

	named string // by the user; "" not

	core *corefile.Thread // what is left of it, nil of a thread that lives

	call     followedCall // the system call it is in, if that is followed
	confines bool         // it is in a call that may put threads under seccomp

	signalQueue

	regs      Registers
	regsValid bool
	regsDirty bool
	shown     addr.Run // the PC in regs when the thread really is at the copy of that instruction; 0 no
	real      addr.Run // where it is then

	at          addr.Run // the trap whose handlers have run for the arrival here
	changes     []Change // watchpoints that it has hit and that have not been reported
	away        bool     // in its turn it makes a system call, and does not hold the turn
	pushedFlags bool     // in its turn it pushes the flags
	debugOK     bool     // the debug registers hold the current watchpoints
	debugSet    bool     // they have ever been written
}

// Process is the process t belongs to.
func (t *Thread) Process() *Process { return t.p }

// Name is what the user has called the thread, else its name as prctl(PR_SET_NAME) set it, ""
// when it is gone.
func (t *Thread) Name() string {
	if t.named != "" {
		return t.named
	}
	if t.core != nil {
		return t.tg.coreName(t)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", t.tg.pid, t.TID))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// SetName gives the thread a name of the user's, which the program does not see; "" is its
// own again.
func (t *Thread) SetName(name string) { t.named = name }

// Regs reads the registers. At a trap, Rip is the address of the trap.
func (t *Thread) Regs() (Registers, error) {
	t.p.check()
	if err := t.settle(); err != nil {
		return Registers{}, err
	}
	return t.regs, nil
}

// SetRegs writes the registers; they take effect when the thread resumes. The
// kernel refuses values that no program can have, as a segment selector of its
// own: then nothing changes. Setting another Rip gives up an interrupted system
// call, which otherwise the kernel would restart relative to it.
func (t *Thread) SetRegs(r Registers) error {
	if t.core != nil {
		return t.p.Alive()
	}
	t.p.check()
	t.p.changes++
	if err := t.settle(); err != nil {
		return err
	}
	if r.Rip != t.regs.Rip && r.OrigRax == t.regs.OrigRax {
		r.OrigRax = ^uint64(0)
	}
	made := t.call.site
	if r.Rip != t.regs.Rip {
		t.call.site = callSite{} // a caught call that it comes back to is caught again
	}
	before, shown, real := t.regs, t.shown, t.real
	t.regs, t.regsDirty = r, true
	if err := t.moved(); err != nil {
		t.regs, t.shown, t.real, t.call.site = before, shown, real, made
		return fmt.Errorf("set registers of thread %d: %w", t.TID, err)
	}
	if err := t.flush(); err != nil {
		t.regs, t.shown, t.real, t.call.site, t.regsDirty = before, shown, real, made, true // the kernel may have taken some of them
		return errors.Join(fmt.Errorf("set registers of thread %d: %w", t.TID, err), t.flush())
	}
	return nil
}

// moved follows a change of the PC: a place inside patched code means its copy.
func (t *Thread) moved() error {
	pc := t.regs.PC()
	if pc == t.shown {
		return nil
	}
	t.shown = 0
	pt := t.p.memory.patchOver(pc)
	if pt == nil || pc == pt.at {
		return nil
	}
	to := pt.moves[pc]
	if to == 0 {
		return &PatchedError{pc, pt}
	}
	t.showAt(pc, to)
	return nil
}

// load fills the register cache.
func (t *Thread) load() error {
	if t.regsValid {
		return nil
	}
	if t.state != stopped {
		return fmt.Errorf("registers of thread %d: %s", t.TID, t.whyNot())
	}
	if err := getRegs(t.TID, &t.regs); err != nil {
		return fmt.Errorf("registers of thread %d: %w", t.TID, err)
	}
	t.regsValid, t.regsDirty, t.shown = true, false, 0
	if orig, ok := t.p.patches.copies[t.regs.PC()]; ok && t.ours() {
		t.shown, t.real = orig, t.regs.PC()
		t.regs.Rip = uint64(orig)
	}
	return nil
}

// whyNot says why a thread that should be stopped is not.
func (t *Thread) whyNot() string {
	switch t.state {
	case vforking:
		return "it waits in vfork for its child to exec or exit"
	case exiting:
		return "it has exited"
	}
	return "it is running"
}

// settle is load for a thread stopped at an awkward moment. One inside a
// system call is taken to its end, as the kernel is still to write the result
// over the registers. One between executing an int3 and the SIGTRAP that
// reports it takes the trap, and its PC is put back, as if not reached yet.
func (t *Thread) settle() error {
	if t.inKernel && t.state == stopped {
		if err := t.leaveKernel(); err != nil {
			return err
		}
	}
	if err := t.load(); err != nil {
		return err
	}
	if t.deliverable || t.guest || !t.p.traps.trapAt(t.pc()-1) {
		return nil
	}
	return t.drainTrap()
}

// leaveKernel lets the thread return from its system call and stops it there.
func (t *Thread) leaveKernel() error {
	clear(t.p.systemCalls.free) // the end of its call is not seen
	if t.vfork {
		return fmt.Errorf("registers of thread %d: it is about to wait in vfork for its child", t.TID)
	}
	// The request stays outstanding while the thread is stopped.
	if err := ptrace(unix.PTRACE_INTERRUPT, t.TID, 0, 0); err != nil {
		return fmt.Errorf("thread %d: %w", t.TID, err)
	}
	if t.call.under && t.p.systemCalls.follows(t) {
		return t.runToStop(unix.PTRACE_SYSCALL) // its return is to be seen
	}
	return t.runToStop(unix.PTRACE_CONT)
}

// runToStop resumes a thread that will stop before its next instruction.
func (t *Thread) runToStop(request int) error {
	p := t.p
	defer func(s bool) { p.stopping = s }(p.stopping)
	p.stopping = true
	if err := ptrace(request, t.TID, 0, 0); err != nil {
		return fmt.Errorf("thread %d: %w", t.TID, err)
	}
	t.left()
	for t.state == running {
		if err := p.waitEvent(); err != nil {
			return err
		}
	}
	return nil
}

// drainTrap takes a SIGTRAP that the thread has pending, if any.
func (t *Thread) drainTrap() error {
	if t.state != stopped || t.deliverable || !sigtrapPending(t.TID) {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.runToStop(unix.PTRACE_CONT); err != nil {
		return err
	}
	return t.load()
}

// sigtrapPending reads the thread's own pending set from /proc.
func sigtrapPending(tid int) bool {
	var mask uint64
	if s, ok := procfs.Status(tid, "SigPnd"); ok {
		if _, err := fmt.Sscanf(s, "%x", &mask); err != nil {
			return false
		}
	}
	return mask&(1<<(unix.SIGTRAP-1)) != 0
}

// flush writes changed registers back.
func (t *Thread) flush() error {
	if !t.regsDirty {
		return nil
	}
	if t.core != nil {
		return &CoreError{t.tg.core.Process.Signal}
	}
	r := t.regs
	if t.shown != 0 {
		r.Rip = uint64(t.real)
	}
	if err := setRegs(t.TID, &r); err != nil {
		return err
	}
	t.regsDirty = false
	return nil
}

// left notes that the kernel runs t again.
func (t *Thread) left() {
	t.state = running
	if t.vfork {
		t.state = vforking
	}
	t.regsValid, t.regsDirty, t.shown = false, false, 0
	t.deliverable = false
}

// codeAt is the code at the thread's PC.
func (t *Thread) codeAt() []byte {
	var code [16]byte
	n, _ := t.p.memory.readAt(code[:], int64(t.regs.Rip)) // what is not mapped is no instruction
	return code[:n]
}
