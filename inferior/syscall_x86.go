package inferior

import (
	"bytes"
	"errors"
	"fmt"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// syscallSize is how long the instruction is, bytes.
const syscallSize = 2

// restarts tells a thread interrupted in a system call that the kernel will
// make it begin anew, at the instruction before its PC: the results are
// ERESTARTSYS to ERESTARTNOHAND and ERESTART_RESTARTBLOCK (linux/errno.h).
func (r *Registers) restarts() bool {
	e := -int64(r.Rax)
	return int64(r.OrigRax) >= 0 && (e >= 512 && e <= 514 || e == 516)
}

// Syscall has t, which must be stopped, make a system call (up to six
// arguments) and returns its result; the thread is left as it was. The error
// of the call itself is a unix.Errno in the chain. Memory that the call is to
// use must be the caller's own: below the stack pointer that is more than the
// 128 bytes of the red zone (System V ABI, 3.2.2).
func (t *Thread) Syscall(nr uint64, args ...uint64) (uint64, error) {
	p := t.p
	if err := p.alive(); err != nil {
		return 0, err
	}
	if len(args) > 6 {
		return 0, fmt.Errorf("remote system call %d: %d arguments, there are at most 6", nr, len(args))
	}
	if err := t.settle(); err != nil {
		return 0, err
	}
	at, err := p.syscallInstruction()
	if err != nil {
		return 0, err
	}
	saved, shown, real, reported := t.regs, t.shown, t.real, t.at
	r := saved
	r.Rax, r.OrigRax, r.Rip = nr, ^uint64(0), uint64(at)
	for i, where := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		if i < len(args) {
			*where = args[i]
		}
	}
	t.regs, t.regsDirty, t.shown = r, true, 0
	noBreak := p.noBreak
	p.noBreak = true
	defer func() { p.noBreak = noBreak }()
	if err := p.runOne(t, unix.PTRACE_SINGLESTEP); err != nil {
		return 0, err
	}
	if err := t.load(); err != nil {
		return 0, fmt.Errorf("remote system call %d: %w", nr, err)
	}
	result, pc := t.regs.Rax, t.regs.Rip
	t.regs, t.shown, t.real, t.regsDirty, t.at = saved, shown, real, true, reported
	if err := t.flush(); err != nil {
		return 0, fmt.Errorf("remote system call %d: %w", nr, err)
	}
	if err := p.unstep(t); err != nil {
		return 0, fmt.Errorf("remote system call %d: %w", nr, err)
	}
	if pc != uint64(at)+syscallSize {
		return 0, fmt.Errorf("remote system call %d: interrupted by a signal", nr)
	}
	if int64(result) < 0 && int64(result) > -4096 {
		return 0, fmt.Errorf("remote system call %d: %w", nr, unix.Errno(-int64(result)))
	}
	return result, nil
}

// syscallInstruction finds a syscall instruction in the target: in the vDSO,
// which has them to fall back on, or in any code.
func (p *Process) syscallInstruction() (addr.Run, error) {
	code := []byte{0x0f, 0x05}
	var b [2]byte
	if a := p.mods.syscall; a != 0 {
		if _, err := p.mem.readAt(b[:], int64(a)); err == nil && bytes.Equal(b[:], code) && p.sites[a] == nil {
			return a, nil
		}
	}
	maps, err := p.Maps()
	if err != nil {
		return 0, err
	}
	for _, vdso := range []bool{true, false} {
		for _, m := range maps {
			if m.Perm[2] != 'x' || (m.Path == "[vdso]") != vdso || m.Path == "[vsyscall]" || m.High-m.Low > 64<<20 {
				continue
			}
			text := make([]byte, m.High-m.Low)
			n, _ := p.mem.readAt(text, int64(m.Low)) // what can be read will do
			for i := bytes.Index(text[:n], code); i >= 0 && i < n; {
				a := m.Low + addr.Run(i)
				if p.sites[a] == nil {
					p.mods.syscall = a
					return a, nil
				}
				k := bytes.Index(text[i+1:n], code)
				if k < 0 {
					break
				}
				i += 1 + k
			}
		}
	}
	return 0, errors.New("remote system call: the program has no syscall instruction")
}
