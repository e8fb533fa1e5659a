package session

import (
	"hdb/inferior"
	"hdb/internal/modkind"
)

// traceClones has the kernel report each child that the C library's clone makes. A child
// made with CLONE_UNTRACED has a copy of the int3s in its parent's memory, and would die
// of the first one that it reaches. While no int3 is planted, nothing is done.
func (p *Planes) traceClones() {
	if p.target.Proc == nil || !p.tracer.Armed() && !p.demand.hasTraps() {
		return
	}
	for _, m := range p.target.Proc.Modules() {
		if p.clones[m.Low] || m.Name != p.target.Proc.Exe() && !modkind.IsCLibrary(m.Name) {
			continue
		}
		p.clones[m.Low] = true
		found, err := p.symbols.Defined(m, []string{"clone"})
		if err != nil {
			continue // said when something else was looked for there
		}
		for _, sym := range found {
			if _, err := p.target.Proc.Plant(sym.Addr, traceClone); err != nil {
				p.target.Notify("children made by clone with CLONE_UNTRACED may be killed by breakpoints: %v", err)
			}
		}
	}
}

// traceClone is the handler at the entry of clone.
func traceClone(t *inferior.Thread) inferior.Action {
	_ = t.TraceClone() // fails only when the thread is gone
	return inferior.Resume
}
