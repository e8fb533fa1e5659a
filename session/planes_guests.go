package session

import (
	"syscall"

	"hdb/inferior"
	"hdb/internal/modkind"
)

// A child that runs in the memory of the process, as after vfork, is traced by hdb, because the int3s
// there would kill it otherwise. It cannot be traced by another debugger then: PTRACE_TRACEME fails. So
// hdb lets it go where it asks for that by a function: ptrace of the C library, or RawSyscall of Go's. As
// a rule it executes another program next. Who makes the bare system call is refused.

// guest follows a child that begins to run in the memory, or ends that.
func (p *Planes) guest(t *inferior.Thread, child int, begins, vfork bool) {
	if vfork { // else what both do with one thread-local storage counts for the parent, in whose heap it is
		p.data.guest(t, child, begins)
	}
	if !begins {
		delete(p.guests, child)
		if len(p.guests) == 0 {
			for _, trap := range p.traceMe {
				_ = trap.Remove() // it has no errors
			}
			p.traceMe = nil
		}
		return
	}
	p.guests[child] = true
	if len(p.traceMe) == 0 {
		p.awaitTraceMe()
	}
}

// forgetGuests forgets those of a process or an image that is gone, and what was in its memory.
func (p *Planes) forgetGuests() {
	clear(p.guests)
	p.traceMe = nil
}

// awaitTraceMe has children come to traps where they ask to be traced.
func (p *Planes) awaitTraceMe() {
	for _, m := range p.target.Proc.Modules() {
		exe := m.Name == p.target.Proc.Exe()
		if !exe && !modkind.IsCLibrary(m.Name) {
			continue
		}
		found, err := p.symbols.Defined(m, []string{"ptrace", "syscall.RawSyscall"})
		if err != nil {
			continue // said when something else was looked for there
		}
		for _, sym := range found {
			asks := tracesMe
			if sym.Name != "ptrace" {
				asks = goTracesMe
			}
			trap, err := p.target.Proc.Plant(sym.Addr, func(t *inferior.Thread) inferior.Action {
				if regs, err := t.Regs(); err == nil && t.IsGuest() && asks(regs) {
					t.LetGuestGo()
				}
				return inferior.Resume
			})
			if err != nil {
				p.target.Notify("children made by vfork cannot be traced by others: %v", err)
				continue
			}
			trap.ForGuests()
			p.traceMe = append(p.traceMe, trap)
		}
	}
}

// tracesMe reports whether a call of ptrace asks for that, goTracesMe one of syscall.RawSyscall(trap, a1, ...) of
// Go, whose internal ABI has these in rax and rbx.
func tracesMe(r inferior.Registers) bool { return uint32(r.Rdi) == syscall.PTRACE_TRACEME }

func goTracesMe(r inferior.Registers) bool {
	return r.Rax == syscall.SYS_PTRACE && uint32(r.Rbx) == syscall.PTRACE_TRACEME
}
