package inferior

import (
	"errors"
	"fmt"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// syscallSize is how long the instruction is, bytes.
const syscallSize = 2

// Syscall has t, which must be stopped, make a system call (up to six
// arguments) and returns its result; the thread is left as it was. The error
// of the call itself is a unix.Errno in the chain. Memory that the call is to
// use must be the caller's own: below the stack pointer that is more than the
// 128 bytes of the red zone (System V ABI, 3.2.2).
func (t *Thread) Syscall(nr uint64, args ...uint64) (uint64, error) {
	b, err := t.Borrow()
	if err != nil {
		return 0, err
	}
	v, err := b.Syscall(nr, args...)
	return v, errors.Join(err, b.Return())
}

// A Borrowed thread makes one system call after the other. It is in the stub until it is returned:
// its registers are not to be asked for. If hdb is killed meanwhile the thread continues where it
// was borrowed.
type Borrowed struct {
	t           *Thread
	at          addr.Run // the stub
	began       bool     // it has made a call, and is behind it
	saved       Registers
	shown, real addr.Run
	trap        addr.Run
}

// Borrow readies t, which must be stopped, for system calls.
func (t *Thread) Borrow() (*Borrowed, error) {
	if err := t.p.Alive(); err != nil {
		return nil, err
	}
	if err := t.settle(); err != nil {
		return nil, err
	}
	if t.StrictSeccomp() {
		return nil, fmt.Errorf("remote system call: thread %d is in strict seccomp, and may not make system calls", t.TID)
	}
	at, err := t.p.modules.stubPlace()
	if err != nil {
		return nil, err
	}
	b := &Borrowed{t: t, at: at, saved: t.regs, shown: t.shown, real: t.real, trap: t.at}
	r := b.saved
	if b.shown != 0 {
		r.Rip = uint64(b.real)
	}
	return b, b.write(0, appendBack(appendNops(stubMark[:], stubBack), r))
}

func (b *Borrowed) write(at addr.Run, code []byte) error {
	if _, err := b.t.p.memory.writeAt(code, int64(b.at+at)); err != nil {
		return fmt.Errorf("remote system call: %w", err)
	}
	return nil
}

// Syscall makes a call, as Thread.Syscall does.
func (b *Borrowed) Syscall(nr uint64, args ...uint64) (uint64, error) {
	if len(args) > 6 {
		return 0, fmt.Errorf("remote system call %d: %d arguments, there are at most 6", nr, len(args))
	}
	return b.call(nr, appendCall(nil, nr, args...), nil)
}

// Open makes a call whose result is a descriptor, which has at most four
// arguments. If hdb is killed before Close the thread closes it. After an error
// nothing but Return may follow.
func (b *Borrowed) Open(nr uint64, args ...uint64) (uint64, error) {
	if len(args) > 4 {
		return 0, fmt.Errorf("remote system call %d: %d arguments, there is room for 4 before what closes its result", nr, len(args))
	}
	ifDead := appendCall([]byte{0x48, 0x89, 0xc7}, unix.SYS_CLOSE) // mov %rax,%rdi
	fd, err := b.call(nr, appendCall(nil, nr, args...), ifDead)
	if err != nil {
		return 0, err
	}
	// The same at the end of the stub, in one stroke.
	last := appendNops(appendCall(nil, unix.SYS_CLOSE, fd), callSize)
	behind := stubLast - addr.Run(len(ifDead))
	if err := b.write(behind, append(appendNops(nil, len(ifDead)), last...)); err != nil {
		return 0, err
	}
	b.t.regs.Rip, b.t.regsDirty = uint64(b.at+stubLast), true
	return fd, b.t.flush()
}

// Close closes what Open has opened.
func (b *Borrowed) Close() error {
	// It is before the call that it would make without hdb.
	if _, err := b.pass(unix.SYS_CLOSE, stubLast+2*movSize+syscallSize); err != nil {
		return err
	}
	return b.write(stubLast, appendNops(nil, callSize))
}

// call has the thread make a call. It then is before what it is to do if hdb is dead, behind which
// is the last call.
func (b *Borrowed) call(nr uint64, code, ifDead []byte) (uint64, error) {
	end := stubLast - addr.Run(len(ifDead))
	begin := end - addr.Run(len(code))
	if err := b.write(begin, append(code, ifDead...)); err != nil {
		return 0, err
	}
	r := b.saved
	r.OrigRax, r.Rip = ^uint64(0), uint64(b.at+begin)
	t := b.t
	t.regs, t.regsValid, t.regsDirty, t.shown = r, true, true, 0
	b.began = true
	return b.pass(nr, end)
}

// pass has the thread make the call that it comes to, which ends at the offset.
func (b *Borrowed) pass(nr uint64, end addr.Run) (uint64, error) {
	result, err := b.run(end)
	switch {
	case err != nil:
		return 0, fmt.Errorf("remote system call %d: %w", nr, err)
	case int64(result) < 0 && int64(result) > -4096:
		return 0, fmt.Errorf("remote system call %d: %w", nr, unix.Errno(-int64(result)))
	}
	return result, nil
}

func (b *Borrowed) run(end addr.Run) (uint64, error) {
	t, p := b.t, b.t.p
	noBreak := p.noBreak
	p.noBreak = true
	defer func() { p.noBreak = noBreak }()
	// Not a single-step, in which a killed hdb would leave the thread without end: into the call,
	// and out of it.
	for range 2 {
		if err := p.runOne(t, unix.PTRACE_SYSCALL); err != nil {
			return 0, err
		}
		if t.state != stopped || !t.inKernel {
			return 0, fmt.Errorf("thread %d: %s", t.TID, t.whyNot())
		}
	}
	if err := t.load(); err != nil {
		return 0, err
	}
	if pc := t.regs.PC(); pc != b.at+end {
		return 0, fmt.Errorf("the thread is at %v", pc)
	}
	return t.regs.Rax, nil
}

// Return makes the thread be where it was borrowed, with the registers that it had.
func (b *Borrowed) Return() error {
	t := b.t
	if b.began {
		// To where the kernel looks for interrupted calls to begin anew.
		if t.inKernel && t.state == stopped {
			if err := t.leaveKernel(); err != nil {
				return fmt.Errorf("remote system call: %w", err)
			}
		}
		if t.state != stopped {
			return fmt.Errorf("remote system call: thread %d: %s", t.TID, t.whyNot())
		}
		t.regs, t.regsValid, t.regsDirty = b.saved, true, true
		t.shown, t.real, t.at = b.shown, b.real, b.trap
		if err := t.flush(); err != nil {
			return fmt.Errorf("remote system call: %w", err)
		}
	}
	return b.write(0, make([]byte, stubSize))
}
