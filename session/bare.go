package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/unwind"
)

// bareCalls is what is known of the system calls by which a program maps memory
// without libc's functions.
type bareCalls struct {
	breakpoints.Bare
	sites []*breakpoints.Site // of allocator functions, nil: to be looked for
}

// followBare has the process tell of such calls, if they are wanted.
func (s *Session) followBare() {
	if s.proc == nil {
		return
	}
	if !s.Settings.SystemCalls || !s.wantsEvents() {
		s.proc.FollowSystemCalls(nil)
		s.bare = nil
		return
	}
	if s.bare == nil {
		s.bare = &bareCalls{}
		s.bare.Break(s.heapEnd())
		s.proc.FollowSystemCalls(s.bare.Numbers())
	}
	s.bare.sites = nil
}

// heapEnd is where sbrk's heap ends, 0 if there is none.
func (s *Session) heapEnd() uint64 {
	maps, err := s.proc.Maps()
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
func (s *Session) systemCall(t *inferior.Thread, c inferior.SystemCall) inferior.Action {
	if s.bare == nil {
		return inferior.Resume
	}
	call, ok := s.bare.Call(c)
	if !ok || !s.eventsArmed() {
		return inferior.Resume
	}
	done := s.ownWork()
	regs, err := t.Regs()
	if err != nil {
		done()
		return inferior.Resume // killed
	}
	// Behind the instruction, as a return address would be.
	call.Regs, call.Return, call.Now, call.SP = regs, regs.PC(), addr.Return(regs.PC()), regs.SP()
	raw, err := s.walker.raw(t, s.Settings.MaxDepth, call.Now)
	if err != nil {
		raw.Truncated = err.Error()
	}
	call.Kept = raw
	seen := s.allocatorMakes(raw.Frames)
	done()
	switch {
	case seen:
		return inferior.Resume
	case s.probe != nil && s.probe.Armed():
		return s.probe.Other(t, call)
	}
	return plainSink{sink{s}}.Alloc(t, call)
}

// allocatorMakes tells whether a system call with this stack is made by an
// allocator function: such a call is followed itself, and the memory it maps is
// what it has to give. The function may have called others of its module on the
// way.
func (s *Session) allocatorMakes(frames []unwind.Frame) bool {
	if s.bare.sites == nil {
		sites, err := s.allocatorSites(s.proc.Modules())
		if err != nil {
			s.notify("some modules cannot be searched for allocators: %s", oneLine(err))
		}
		s.bare.sites = append(sites, &breakpoints.Site{}) // not nil
	}
	var module inferior.Module
	for i, f := range frames {
		pc := f.PC.Lookup()
		if i == 0 {
			mod := s.names.Modules.At(pc)
			if mod == nil {
				return false
			}
			module = inferior.Module(mod.Mapping)
		}
		if pc < module.Low || module.High <= pc {
			return false
		}
		if slices.ContainsFunc(s.bare.sites, func(site *breakpoints.Site) bool { return pc-site.Addr < addr.Run(site.Size) }) {
			return true
		}
	}
	return false
}
