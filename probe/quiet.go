package probe

import (
	"errors"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A process may have seccomp(2) kill it for system calls, at any time. So the core makes none in a
// process that dies with hdb: where it would make one it comes to an int3, which only hdb will ever
// have to answer; it waits for room in the ring by spinning, and the consumer is not woken. A
// process that is to outlive hdb must not come to an int3 when hdb has been killed: it changes over
// only when it calls what it would confine itself by.

// Quieten has the core make system calls in a process that outlives hdb, or is about to, and none in
// another, or in one that has confined itself.
func (p *Probe) Quieten(outlives bool) error {
	if outlives && slices.ContainsFunc(p.proc.Threads(), (*inferior.Thread).Confined) {
		p.itself = true // while nothing had to see it
	}
	quiet := uint64(0)
	if !outlives || p.itself {
		quiet = quietCalls | quietWaits
	}
	return p.quieten(quiet)
}

// quieten writes stQuiet.
func (p *Probe) quieten(quiet uint64) error {
	if err := p.poke(stQuiet, quiet); err != nil {
		return err
	}
	p.reader.poll(quiet&quietWaits != 0)
	return nil
}

// confined has threads wait without system calls: one of them may make none.
func (p *Probe) confined() error {
	if p.reader.polls() {
		return nil
	}
	return p.quieten(quietWaits)
}

// confiners are the functions of the C library by which programs confine themselves, and what their
// first argument is then.
var confiners = map[string]uint32{"prctl": unix.PR_SET_SECCOMP, "syscall": unix.SYS_SECCOMP}

// addConfining prepares these functions in a process that outlives hdb. One that cannot be followed is
// left alone.
func (p *Probe) addConfining(c *caller, modules []inferior.Module) error {
	if !p.proc.Outlives() {
		return nil
	}
	for _, m := range modules {
		for name, first := range confiners {
			for _, sym := range p.cfg.Functions(m, name) {
				if p.finders.knows(sym.Addr) {
					continue
				}
				f, err := p.islands.move(c, m, sym.Addr, sym.Size)
				switch {
				case errors.Is(err, errUnmapped):
					continue
				case err != nil:
					return err
				case f.noRoom != nil:
					continue // a trap at its entry would cost each of its calls
				}
				f.confines = first
				p.finders.list = append(p.finders.list, f)
			}
		}
	}
	return nil
}

// confiningThunk reports to hdb a call with that first argument before it runs the function. It
// returns where a trap is to be.
func confiningThunk(w *writer, f *patched) (trap addr.Run) {
	w.bytes(0x81, 0xff) // cmp $confines,%edi
	w.imm32(f.confines)
	confines := w.jcc(ccE)
	w.jmp(f.relocated)
	w.land(confines)
	trap = w.here()
	w.bytes(0x90) // nop
	w.jmp(f.relocated)
	return trap
}

// confining has the core make no system calls from now on: the program is about to forbid itself some.
func (p *Probe) confining(*inferior.Thread) inferior.Action {
	if !p.itself {
		p.itself = true
		if err := p.Quieten(true); err != nil {
			p.message("probe: %v", err)
		}
		p.message("the program confines itself by seccomp: the probe makes no system calls in it from now on; if hdb is killed while a thread comes to a stop at an allocation, the program may die of it")
	}
	return inferior.Resume
}
