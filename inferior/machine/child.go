package machine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What takes a process to try is tried on one of hdb's own: this program again, traced, which is
// killed before it has run an instruction of itself.

// A childTrial is what was found out of a child.
type childTrial struct {
	err            error // it could not be tried
	execute, write bool  // the debug register stopped it: at an instruction, after a store
	refused        error // the kernel's, to set debug registers
	xsave          int   // how much state the kernel has handed out, bytes
	xsaveErr       error
}

var tried = sync.OnceValue(func() (c childTrial) {
	c.err = inChild(0, c.try)
	return c
})

func tryDebugRegisters() result {
	c := tried()
	switch {
	case c.err != nil:
		return result{how: "cannot be tried: " + c.err.Error()}
	case c.refused != nil:
		return result{how: "the kernel does not set them: " + c.refused.Error()}
	}
	fires := map[bool]string{true: "fires", false: "never fires"}
	return result{c.execute && c.write, fmt.Sprintf("in a process of hdb's own the one at an instruction %s, the one at a store %s", fires[c.execute], fires[c.write])}
}

func tryExtendedRegisters() result {
	c := tried()
	switch {
	case c.err != nil:
		return result{how: "cannot be tried: " + c.err.Error()}
	case c.xsaveErr != nil:
		return result{how: "PTRACE_GETREGSET, then PTRACE_SETREGSET, of NT_X86_XSTATE: " + c.xsaveErr.Error()}
	}
	return result{c.xsave >= xsaveSmallest, fmt.Sprintf("the kernel hands out %d bytes of XSAVE state of a process of hdb's own, and takes them", c.xsave)}
}

func tryUserNamespaces() result {
	if err := inChild(syscall.CLONE_NEWUSER, func(int) error { return nil }); err != nil {
		return result{how: "a process of hdb's own in a new one: " + err.Error()}
	}
	return result{true, "a process of hdb's own was started in a new one"}
}

// patience is how long a child may take, which needs milliseconds.
const patience = 10 * time.Second

// inChild starts this program as a tracee, has f look at it before its first instruction, and
// kills it. It has an OS thread of its own, which alone may trace and wait for it: tracees of other threads
// are not disturbed, and whoever waits for those does not see it.
func inChild(cloneFlags uintptr, f func(pid int) error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		done <- traceChild(cloneFlags, f)
	}()
	return <-done
}

func traceChild(cloneFlags uintptr, f func(pid int) error) (err error) {
	fd := -1
	attr := &syscall.ProcAttr{Env: []string{}, Sys: &syscall.SysProcAttr{Ptrace: true, Cloneflags: cloneFlags, PidFD: &fd}}
	if cloneFlags != 0 {
		attr.Sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"hdb-trial"}, attr)
	if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
		late := time.AfterFunc(patience, func() { _ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) }) // it may be gone
		defer late.Stop()
	}
	if err = waitTrap(pid); err == nil {
		err = f(pid)
	}
	if errors.Is(err, errEnded) {
		return err
	}
	if e := unix.Kill(pid, unix.SIGKILL); e != nil { // only we reap it, so it is the child
		return errors.Join(err, e)
	}
	for !errors.Is(waitTrap(pid), errEnded) { // a stop that came before, then its end
	}
	return err
}

// errEnded is the error where the child has ended, and was reaped.
var errEnded = errors.New("it has ended")

// A waitError is the error where there is no child to wait for any more.
type waitError struct{ cause error }

func (e *waitError) Error() string { return "wait: " + e.cause.Error() }
func (e *waitError) Unwrap() error { return errEnded }

// waitTrap waits until the child stops; another signal than SIGTRAP is an error.
func waitTrap(pid int) error {
	var ws unix.WaitStatus
	_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
	for err == unix.EINTR {
		_, err = unix.Wait4(pid, &ws, unix.WALL, nil)
	}
	switch {
	case err != nil:
		return &waitError{err}
	case !ws.Stopped():
		return errEnded
	case ws.StopSignal() != unix.SIGTRAP:
		return fmt.Errorf("stopped by %v", ws.StopSignal())
	}
	return nil
}

// XSAVE state: elf.h, and the parts that every processor with it has (Intel SDM volume 1, section 13.4).
const (
	NTX86XState   = 0x202    // of PTRACE_GETREGSET (elf.h)
	XSaveMax      = 16 << 10 // bytes; the kernel says how many there are
	xsaveSmallest = 512 + 64
)

// try tries the child that is before its first instruction.
func (c *childTrial) try(pid int) error {
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	c.xsave, c.xsaveErr = exchangeVectors(pid)
	return c.tryDebug(pid)
}

// exchangeVectors reads the state and writes it back.
func exchangeVectors(pid int) (int, error) {
	b := make([]byte, XSaveMax)
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	for _, request := range []uintptr{unix.PTRACE_GETREGSET, unix.PTRACE_SETREGSET} {
		_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, request, uintptr(pid), NTX86XState, uintptr(unsafe.Pointer(&iov)), 0, 0)
		if e != 0 {
			return 0, e
		}
	}
	return int(iov.Len), nil
}

// debugOffset is where DR0 is in the kernel's struct user (sys/user.h).
const debugOffset = 848

func pokeDebug(pid, i int, v uint64) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(pid), uintptr(debugOffset+8*i), uintptr(v), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// debugStatus is DR6: which have fired.
func debugStatus(pid int) (status uint64, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, uintptr(pid), debugOffset+8*6, uintptr(unsafe.Pointer(&status)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return status, nil
}

// tryDebug has the child run a store that one register watches, and a nop that another one does,
// up to an int3.
func (c *childTrial) tryDebug(pid int) error {
	code := []byte{
		0x48, 0x89, 0x44, 0x24, 0xc0, // mov %rax,-0x40(%rsp)
		0x90, // nop
		0x90, // nop: watched
		0x90, 0x90, 0xcc,
	}
	const watched, behind = 6, 10
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	if _, err := unix.PtracePokeText(pid, uintptr(regs.Rip), code); err != nil {
		return err
	}
	const execute0, write1 = 1, 1<<2 | 1<<20 | 2<<22 // DR7: 0 at an instruction; 1 at a store of 8 bytes
	for _, r := range []struct {
		i int
		v uint64
	}{{7, 0}, {0, regs.Rip + watched}, {1, (regs.Rsp - 0x40) &^ 7}, {7, execute0 | write1}} {
		if err := pokeDebug(pid, r.i, r.v); err != nil {
			c.refused = err
			return nil
		}
	}
	end := regs.Rip + behind
	for range 4 { // two fire at the most, then the int3 is reached
		if err := unix.PtraceCont(pid, 0); err != nil {
			return err
		}
		if err := waitTrap(pid); err != nil {
			return err
		}
		status, err := debugStatus(pid)
		if err != nil {
			return err
		}
		c.execute, c.write = c.execute || status&1 != 0, c.write || status&2 != 0
		_ = pokeDebug(pid, 6, 0)
		if err := unix.PtraceGetRegs(pid, &regs); err != nil || regs.Rip == end {
			return err
		}
	}
	return fmt.Errorf("stopped four times before %#x, at %#x", end, regs.Rip)
}
