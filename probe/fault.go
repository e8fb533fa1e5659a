package probe

import (
	"bytes"
	"math"

	"hdb/inferior"
)

// Fault handles a fault of the probe's own, in a thread that read what is not
// there: bad CFI has led it astray. It reports whether it was one.
func (p *Probe) Fault(t *inferior.Thread) bool {
	regs, err := t.Regs()
	if err != nil {
		return false
	}
	pc := regs.PC()
	if at := int(pc - p.remote.core); pc >= p.remote.core && at < len(p.core.code) {
		behind, ok := bytes.CutPrefix(p.core.code[at:], rdtsc)
		out, leaves := p.core.faultExit(at)
		switch {
		case ok && !(leaves && t.StrictSeccomp()):
			return p.readTSC(t, regs, bytes.HasPrefix(behind, getTID))
		case !leaves:
			return false
		}
		regs.Rip = uint64(p.remote.core) + uint64(out)
		return t.SetRegs(regs) == nil
	}
	// A thunk reads the thread's key at %fs:0, and the program has set no FS base for it, as the dynamic linker
	// at the start. The key is that base all the same, as rdfsbase would read it: the call is an event.
	for _, s := range p.siteTable.list {
		if s.keyLoad == pc && pc != 0 {
			regs.Rax = regs.FsBase
			regs.Rip += uint64(len(loadTCB))
			return t.SetRegs(regs) == nil
		}
	}
	return false
}

// readTSC does what t could not, because the program has disabled the time stamp counter
// for it (PR_SET_TSC in prctl(2)), by strict seccomp among others. In that the kernel also
// ends a thread for nearly every system call: it must not need to wake hdb, nor to wait
// for room in the ring, nor to ask for its TID, which it is about to.
func (p *Probe) readTSC(t *inferior.Thread, regs inferior.Registers, asksTID bool) bool {
	if !p.conditions.noTSC {
		p.conditions.noTSC = true
		if err := p.poke(stEnabled, p.conditions.enabled()); err != nil {
			return false // killed
		}
	}
	now := readTSC()
	regs.Rax, regs.Rdx = now&math.MaxUint32, now>>32
	regs.Rip += uint64(len(rdtsc))
	if t.StrictSeccomp() {
		p.reader.Drain()
		if err := p.confined(); err != nil {
			return false // killed
		}
		if asksTID {
			regs.Rax = uint64(t.TID)
			regs.Rip += uint64(len(getTID))
		}
	}
	return t.SetRegs(regs) == nil
}
