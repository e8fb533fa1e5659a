package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/allocators"
	"hdb/session/target"
	"hdb/unwind"
)

// bareCalls is what is known of the system calls by which a program maps memory
// without libc's functions.
type bareCalls struct {
	breakpoints.Bare
	sites []*breakpoints.Site // of allocator functions, nil: to be looked for
}

// followBare has the process describe such calls, if they are wanted.
func (p *Planes) followBare() {
	if p.target.Proc == nil {
		return
	}
	if !p.target.Settings.SystemCalls || !p.demand.wantsEvents() {
		p.target.Proc.FollowSystemCalls(nil)
		p.bare = nil
		return
	}
	if p.bare == nil {
		p.bare = &bareCalls{}
		p.bare.Break(p.heapEnd())
		p.target.Proc.FollowSystemCalls(p.bare.Numbers())
	}
	p.bare.sites = nil
}

// heapEnd is where sbrk's heap ends, 0 if there is none.
func (p *Planes) heapEnd() uint64 {
	maps, err := p.target.Proc.Maps()
	if err != nil {
		return 0 // it has ended
	}
	i := slices.IndexFunc(maps, func(m inferior.Mapping) bool { return m.Path == "[heap]" })
	if i < 0 {
		return 0
	}
	return uint64(maps[i].High)
}

// systemCall handles a system call that maps or unmaps memory.
func (p *Planes) systemCall(t *inferior.Thread, c inferior.SystemCall) inferior.Action {
	if p.bare == nil || c.Before { // the user may have it not made
		return inferior.Resume
	}
	call, ok := p.bare.Call(c)
	if !ok || !p.eventsArmed() {
		return inferior.Resume
	}
	done := p.target.OwnWork()
	regs, err := t.Regs()
	if err != nil {
		done()
		return inferior.Resume // killed
	}
	// Behind the instruction, as a return address would be.
	call.Regs, call.Return, call.Now, call.SP = regs, regs.PC(), addr.Return(regs.PC()), regs.SP()
	raw, err := p.walker.Raw(t, p.target.Settings.MaxDepth, call.Now)
	if err != nil {
		raw.Truncated = err.Error()
	}
	call.Kept = raw
	seen := p.allocatorMakes(raw.Frames)
	done()
	switch {
	case seen:
		return inferior.Resume
	case p.target.Probe != nil && p.target.Probe.Armed():
		return p.target.Probe.Other(t, call)
	}
	return plainSink{sink{p}}.Alloc(t, call)
}

// allocatorMakes reports whether a system call with this stack is made by an allocator function:
// such a call is followed itself, and the memory it maps is what it has to give. The function may
// have called others of its module on the way.
func (p *Planes) allocatorMakes(frames []unwind.Frame) bool {
	if p.bare.sites == nil {
		sites, err := p.symbols.Sites(p.target.Proc.Modules(), p.tracer.Functions())
		if err != nil {
			p.target.Notify("some modules cannot be searched for allocators: %s", target.OneLine(err))
		}
		p.bare.sites = append(sites, &breakpoints.Site{}) // not nil
	}
	var module inferior.Module
	for i, f := range frames {
		pc := f.PC.Lookup()
		if i == 0 {
			mod := p.target.Names.Modules.At(pc)
			if mod == nil {
				return false
			}
			module = inferior.Module(mod.Mapping)
		}
		if pc < module.Low || module.High <= pc {
			return false
		}
		if allocators.SiteOf(p.bare.sites, pc) != nil {
			return true
		}
	}
	return false
}
