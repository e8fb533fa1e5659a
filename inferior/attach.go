package inferior

import (
	"errors"
	"fmt"
	"hdb/internal/procfs"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Attach seizes all threads of a running process and stops them, and makes
// the calling goroutine the owner of the Process: it is locked to its OS
// thread until Close. The process outlives hdb. A refusal is an *AttachError.
func Attach(pid int) (*Process, error) { return AttachWith(pid, AttachOptions{}) }

// AttachOptions are what AttachWith can do that Attach does not.
type AttachOptions struct {
	// Guard is the command of a guard: its process is started before the target is stopped, and waits for
	// Process.Guard to be called with the same command.
	Guard []string
	// Begun is called with the Process before its threads stop: from then on, Interrupt ends the wait if it takes
	// long, with an *UnstoppedError. Message is then called, as Hooks.Message is.
	Begun   func(*Process)
	Message func(string)
}

// AttachWith is Attach with options.
func AttachWith(pid int, o AttachOptions) (*Process, error) {
	command := o.Guard
	if err := CheckAttach(pid); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	p := newProcess()
	p.target = newTarget(pid, false)
	p.hooks.Message = o.Message
	if o.Begun != nil {
		o.Begun(p)
	}
	if len(command) > 0 {
		_ = p.guard.startAhead(command) // Guard tries again, and tells
		p.guard.awaitAhead()
	}
	if err := p.seizeAll(); err != nil {
		// What has been seized is let go again, by the kernel when hdb ends if it does not stop.
		if _, hangs := err.(*UnstoppedError); !hangs {
			_ = p.stopThreads()
		}
		_ = p.target.detachAll()
		p.memory.close()
		p.guard.drop()
		runtime.UnlockOSThread()
		return nil, err
	}
	return p, nil
}

// seizeAll takes every thread, looking again until a look finds no new one:
// a thread made by one not seized yet is not traced from birth.
func (p *Process) seizeAll() error {
	pid := p.target.pid
	p.stopping = true
	for found := true; found; {
		found = false
		ids, err := procfs.Threads(pid)
		if err != nil {
			return &AttachError{pid, "no such process", ""}
		}
		for _, tid := range ids {
			if p.target.threads[tid] != nil || p.family.leaving[tid] {
				continue
			}
			if err := p.seize(tid); err != nil {
				return err
			}
			found = found || p.target.threads[tid] != nil
		}
	}
	if err := p.stopThreads(); err != nil {
		return err
	}
	if p.target.exit != nil {
		return &AttachError{pid, fmt.Sprintf("it has just %v", *p.target.exit), ""}
	}
	if err := p.prepare(); err != nil {
		return err
	}
	for _, s := range p.traps.sites { // the guard would not take them out yet if hdb were killed
		if err := p.traps.putAside(s); err != nil {
			return err
		}
	}
	return nil
}

// seize takes one thread. Zombies, among them a leader whose other threads continue, and threads
// traced by us from birth, need nothing.
func (p *Process) seize(tid int) error {
	pid := p.target.pid
	state, ok := procfs.Status(tid, "State")
	if !ok {
		return nil // gone
	}
	zombie := strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
	err := ptrace(unix.PTRACE_SEIZE, tid, 0, baseOptions)
	if err == unix.EPERM { // a guard has come since CheckAttach, perhaps
		if tracer, _ := procfs.Status(tid, "TracerPid"); tracer != strconv.Itoa(p.owner) {
			awaitGuard(pid)
			err = ptrace(unix.PTRACE_SEIZE, tid, 0, baseOptions)
		}
	}
	switch {
	case err == nil:
		t := p.addThread(p.target, tid, running)
		t.debugSet = true // by an hdb that was killed, perhaps
		if zombie {
			t.state = exiting // a leader: only the end of the process will be reported
		}
		return nil
	case zombie && tid != pid:
		return nil
	case errors.Is(err, unix.ESRCH):
		return nil
	case errors.Is(err, unix.EPERM):
		if tracer, _ := procfs.Status(tid, "TracerPid"); tracer == strconv.Itoa(p.owner) {
			if tid != pid {
				p.addThread(p.target, tid, running) // its clone event is on its way
			}
			return nil
		}
		if state, ok := procfs.Status(tid, "State"); !ok || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
			return nil // died meanwhile
		}
		if why := CheckAttach(pid); why != nil {
			return why
		}
		return &AttachError{pid, "the kernel does not permit it", "a security module or seccomp filter forbids ptrace; try root outside the container"}
	}
	return fmt.Errorf("attach to process %d: thread %d: %w", pid, tid, err)
}
