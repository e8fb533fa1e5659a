package session

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/codeflow"
	"hdb/session/view"
)

// Watch sets a watchpoint on size bytes at the address; 0 is the size of
// the variable there.
func (s *Stops) Watch(expr string, size int, kind inferior.WatchKind) (*breakpoints.Stop, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	a, err := s.loc.Mem.Address(strings.TrimPrefix(strings.TrimSpace(expr), "*"))
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = s.watchSize(a)
	}
	return s.WatchAt(expr, a, size, kind, false)
}

// WatchAt is Watch of size bytes at an address that is known. A local one belongs to
// the selected frame: the program stops when that returns, and the watchpoint is disabled.
func (s *Stops) WatchAt(expr string, a addr.Run, size int, kind inferior.WatchKind, local bool) (*breakpoints.Stop, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	b := &binding{size: size, access: kind, typed: watched(s.values, expr, a, size)}
	f, err := s.sel.LiveFrame()
	if err == nil {
		b.home = frameID{s.sel.Cur.Thread, f.CFA, f.Function}
	}
	if local {
		if err != nil {
			return nil, err
		}
		b.local = true
		if b.returns, err = returnAddress(s.loc.Mem, f.CFA); err != nil {
			return nil, fmt.Errorf("watch %s: %w", expr, err)
		}
	}
	if err := s.watchMemory(b, a); err != nil {
		return nil, err
	}
	st := s.demand.stops.Add(breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopWatch, Location: expr, Addr: a}))
	st.Places = []breakpoints.Place{{Addr: a}}
	s.keep(st.ID, b)
	s.awaitEnd(st, b)
	return st, nil
}

// watchMemory watches the memory of a watchpoint by debug registers, or where they do not do it, or shall not, by
// single steps.
func (s *Stops) watchMemory(b *binding, a addr.Run) (err error) {
	why := s.whyStepping(b) // who has the registers now
	if s.target.Settings.NoWatchRegisters {
		b.watch, err = s.target.Proc.WatchStepping(a, b.size, b.access)
	} else {
		b.watch, err = s.target.Proc.Watch(a, b.size, b.access)
	}
	b.short = why
	return err
}

// StepsTaken tells how many instructions the process has run one at a time for watchpoints; nil without one. Any
// goroutine may call what it returns.
func (x *Execution) StepsTaken() func() uint64 {
	if x.target.Proc == nil {
		return nil
	}
	return x.target.Proc.StepsTaken
}

// widestRegister is how much one debug register watches, bytes.
const widestRegister = 8

// Cost says by what a stop is found if that is not a trap, or one debug register, and what it
// costs; "" otherwise.
func (s *Stops) Cost(st *breakpoints.Stop) string {
	b := s.binds[st.ID]
	switch {
	case s.target.Proc == nil || b == nil:
	case b.watch != nil && b.watch.Stepping:
		return b.short + ": " + inferior.StepCost
	case b.watch != nil && b.watch.Registers() > 1:
		return fmt.Sprintf("%d bytes: it takes %d of the 4 debug registers", b.size, b.watch.Registers())
	case slices.ContainsFunc(b.hard, (*inferior.Watch).InMemory):
		return cmp.Or(b.short, "another breakpoint is there") + ": a trap in the code takes its place"
	}
	return s.python.Cost(st)
}

// whyStepping says why memory is watched by single steps.
func (s *Stops) whyStepping(b *binding) string {
	switch {
	case !inferior.RegistersStop():
		return deadRegisters
	case s.target.Settings.NoWatchRegisters:
		return "can-use-hw-watchpoints is 0"
	}
	text := fmt.Sprintf("%d bytes, more than the free debug registers could watch", b.size)
	if held := s.registersHeld(nil); len(held) > 0 {
		text += ", as others were in use by " + strings.Join(held, ", ")
	}
	return text
}

// deadRegisters is said where debug registers stop nothing.
const deadRegisters = "the debug registers of this machine do not stop threads (hdb doctor)"

// whyNoRegister says why a stop has no debug register: what has taken them.
func (s *Stops) whyNoRegister(st *breakpoints.Stop) string {
	if !inferior.RegistersStop() {
		return deadRegisters
	}
	if held := s.registersHeld(st); len(held) > 0 {
		return "too few of the 4 debug registers were free, others were in use by " + strings.Join(held, ", ")
	}
	return "no debug register was free"
}

// awaitEnd has the program stop when the frame of a watched local variable has returned.
// Where no trap can be planted, as at a return into no code, the next hit finds that out.
func (s *Stops) awaitEnd(st *breakpoints.Stop, b *binding) {
	if !b.local {
		return
	}
	tr, err := s.planes.plant(addr.Run(b.returns), func(t *inferior.Thread) inferior.Action {
		if regs, err := t.Regs(); err != nil || t != b.home.thread || addr.Run(regs.Rsp) < b.home.cfa {
			return inferior.Resume
		}
		s.demand.expired = st
		return inferior.StopHere
	})
	if err == nil {
		b.traps = append(b.traps, tr)
	}
}

// expire disables the watchpoint whose variable is no more, if there is one, and says so.
func (s *Stops) expire() string {
	st := s.demand.expired
	s.demand.expired = nil
	if st == nil || s.binds[st.ID] == nil {
		return ""
	}
	text := fmt.Sprintf("watchpoint %d is disabled: the function that %s belonged to has returned", st.ID, st.Location)
	if err := s.Enable(st.ID, false); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// watchSize is how much to watch when it is not given: the variable that begins at the address, or
// as much as its alignment allows.
func (s *Stops) watchSize(a addr.Run) int {
	if sym, err := s.target.Names.Symbols.At(a); err == nil && sym.Offset == 0 && sym.Size > 0 && sym.Size < 1<<31 {
		return int(sym.Size)
	}
	size := widestRegister
	for a%addr.Run(size) != 0 {
		size /= 2
	}
	return size
}

// bindWatch sets the watchpoint again that unbind has taken away.
func (s *Stops) bindWatch(st *breakpoints.Stop) (err error) {
	b := s.binds[st.ID]
	if b.watch == nil {
		if err = s.watchMemory(b, st.Addr); err == nil {
			s.awaitEnd(st, b)
		}
	}
	return err
}

// bindHardware gives each further place of a stop a debug register, or where there is none, a
// trap; or none of the places.
func (s *Stops) bindHardware(st *breakpoints.Stop) error {
	b := s.binds[st.ID]
	before := len(b.hard)
	for _, p := range st.Places {
		if slices.ContainsFunc(b.hard, func(w *inferior.Watch) bool { return w.Addr == p.Addr }) {
			continue
		}
		w, err := s.breakByRegister(st, p.Addr)
		if err != nil {
			err = fmt.Errorf("hardware breakpoint %d at %v: %w", st.ID, p.Addr, err)
			for _, w := range b.hard[before:] {
				err = errors.Join(err, w.Remove())
			}
			b.hard = b.hard[:before]
			return err
		}
		b.hard = append(b.hard, w)
	}
	return nil
}

// breakByRegister gives one place a debug register. A trap instead must not change the middle of an
// instruction.
func (s *Stops) breakByRegister(st *breakpoints.Stop, a addr.Run) (*inferior.Watch, error) {
	if s.target.Proc.FreeRegisters() == 0 {
		why := s.whyNoRegister(st)
		if err := codeflow.Inside(s.target, a); err != nil {
			return nil, fmt.Errorf("%s, and %w", why, err)
		}
		s.binds[st.ID].short = why
	}
	return s.planes.breakAt(a, func(t *inferior.Thread) inferior.Action { return s.atStop(st, t) })
}

// registersHeld are the stops that have debug registers, but for one.
func (s *Stops) registersHeld(but *breakpoints.Stop) (held []string) {
	for _, st := range s.demand.stops.All() {
		b := s.binds[st.ID]
		hard := 0
		for _, w := range b.hard {
			hard += w.Registers()
		}
		lines := s.python.Watches(st)
		switch {
		case st == but:
		case b.watch != nil && b.watch.Registers() > 1:
			held = append(held, fmt.Sprintf("watchpoint %d (%d of them)", st.ID, b.watch.Registers()))
		case b.watch != nil && b.watch.Registers() == 1:
			held = append(held, fmt.Sprintf("watchpoint %d", st.ID))
		case lines == 1:
			held = append(held, fmt.Sprintf("breakpoint %d", st.ID))
		case lines > 1:
			held = append(held, fmt.Sprintf("breakpoint %d (%d places)", st.ID, lines))
		case hard == 1:
			held = append(held, fmt.Sprintf("hardware breakpoint %d", st.ID))
		case hard > 1:
			held = append(held, fmt.Sprintf("hardware breakpoint %d (%d places)", st.ID, hard))
		}
	}
	return held
}

// Watched is how many bytes a watchpoint watches, and for what.
func (s *Stops) Watched(st *breakpoints.Stop) (size int, kind inferior.WatchKind) {
	b := s.binds[st.ID]
	return b.size, b.access
}

// watched counts the hits of the watchpoints at which the engine stopped, and reports whether to
// stop there.
func (s *Stops) watched(stop inferior.Stop) bool {
	for _, st := range s.demand.stops.All() {
		b := s.binds[st.ID]
		at := slices.IndexFunc(stop.Changes, func(c inferior.Change) bool { return c.Watch == b.watch })
		if at < 0 || neighbour(s.values, b, stop.Changes[at]) {
			continue
		}
		if b.outlived(stop.Thread, s.loc.Mem) {
			if err := s.Enable(st.ID, false); err == nil {
				s.target.Notify("watchpoint %d is disabled: the function that %s belonged to has returned", st.ID, st.Location)
				continue
			}
		}
		if s.stops(st, stop.Thread) {
			s.demand.hits = append(s.demand.hits, hit{stop: st, thread: stop.Thread})
		}
	}
	return len(s.demand.hits) > 0 // or of another stop, at the same time
}

// outlived reports whether the frame of a watched variable has returned: the stack pointer is above
// it, or what the frame was to return to is not there any more. Only another call from the very
// same place and depth is taken for the frame itself.
func (b *binding) outlived(t *inferior.Thread, mem *view.Memory) bool {
	if !b.local || t != b.home.thread {
		return false
	}
	r, err := t.Regs()
	if err != nil {
		return false
	}
	to, err := returnAddress(mem, b.home.cfa)
	return addr.Run(r.Rsp) >= b.home.cfa || err != nil || to != b.returns
}

// returnAddress is that below a CFA.
func returnAddress(mem *view.Memory, cfa addr.Run) (uint64, error) {
	b, err := mem.Read(cfa-8, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// programGone is the fate of a program that has ended, or has executed another.
const programGone = "gone"

// forgetBindings follows the end of a process or of its program, or a detach: no traps are in its
// memory any more. A watchpoint is disabled, because what is at its address next is something else.
// fate is what has become of the program.
func (s *Stops) forgetBindings(fate string) {
	clear(s.planes.clones)
	clear(s.planes.data.locks)
	s.demand.expired = nil
	s.screens = nil
	s.python.Forget()
	for _, st := range s.demand.stops.All() {
		b := s.binds[st.ID]
		b.traps, b.hard, b.watch, b.screened, b.home, b.local = nil, nil, nil, nil, frameID{}, false
		if st.Kind == breakpoints.StopPython {
			st.Places, st.Pending = nil, true
		}
		b.traced.forget()
		if st.Kind == breakpoints.StopWatch && st.Enabled {
			st.Enabled = false
			s.target.Notify("watchpoint %d is disabled: the program that it watched is %s", st.ID, fate)
		}
	}
}
