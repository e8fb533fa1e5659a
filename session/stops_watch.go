package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
)

// Watch sets a hardware watchpoint on size bytes at the address; 0 is the size of
// the variable there.
func (s *Stops) Watch(expr string, size int, kind inferior.WatchKind) (*breakpoints.Stop, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	a, err := s.loc.mem.Address(strings.TrimPrefix(strings.TrimSpace(expr), "*"))
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
	if err := s.live(); err != nil {
		return nil, err
	}
	b := &binding{size: size, access: kind, typed: s.values.watched(expr, a, size)}
	f, err := s.sel.liveFrame()
	if err == nil {
		b.home = frameID{s.sel.thread, f.CFA, f.Function}
	}
	if local {
		if err != nil {
			return nil, err
		}
		b.local = true
		if b.returns, err = returnAddress(s.loc.mem, f.CFA); err != nil {
			return nil, fmt.Errorf("watch %s: %w", expr, err)
		}
	}
	w, err := s.proc.Watch(a, size, kind)
	if err != nil {
		return nil, s.demand.registersHeld(err)
	}
	st := s.demand.stops.Add(breakpoints.NewStop(breakpoints.Spec{Kind: breakpoints.StopWatch, Location: expr, Addr: a}))
	st.Places = []breakpoints.Place{{Addr: a}}
	b.watch = w
	s.demand.binds[st.ID] = b
	s.awaitEnd(st, b)
	return st, nil
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
	if st == nil || s.demand.binds[st.ID] == nil {
		return ""
	}
	text := fmt.Sprintf("watchpoint %d is disabled: the function that %s belonged to has returned", st.ID, st.Location)
	if err := s.Enable(st.ID, false); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// watchSize is how much to watch when nobody says: the variable that begins at
// the address, or as much as its alignment allows.
func (s *Stops) watchSize(a addr.Run) int {
	if sym, err := s.names.Symbols.At(a); err == nil && sym.Offset == 0 {
		switch sym.Size {
		case 1, 2, 4, 8:
			return int(sym.Size)
		}
	}
	size := 8
	for a%addr.Run(size) != 0 {
		size /= 2
	}
	return size
}

// bindWatch sets the watchpoint again that unbind has taken away.
func (s *Stops) bindWatch(st *breakpoints.Stop) (err error) {
	b := s.demand.binds[st.ID]
	if b.watch == nil {
		if b.watch, err = s.proc.Watch(st.Addr, b.size, b.access); err == nil {
			s.awaitEnd(st, b)
		}
	}
	return s.demand.registersHeld(err)
}

// bindHardware gives each further place of a stop a debug register, or none of them.
func (s *Stops) bindHardware(st *breakpoints.Stop) error {
	b := s.demand.binds[st.ID]
	before := len(b.hard)
	for _, p := range st.Places {
		if slices.ContainsFunc(b.hard, func(w *inferior.Watch) bool { return w.Addr == p.Addr }) {
			continue
		}
		w, err := s.planes.breakAt(p.Addr, func(t *inferior.Thread) inferior.Action { return s.atStop(st, t) })
		if err != nil {
			err = fmt.Errorf("hardware breakpoint %d at %v: %w", st.ID, p.Addr, s.demand.registersHeld(err))
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

// registersHeld says which stops have the debug registers, where there is none left.
func (d *demand) registersHeld(err error) error {
	if !errors.Is(err, inferior.ErrNoDebugRegister) {
		return err
	}
	var held []string
	for _, st := range d.stops.All() {
		switch b := d.binds[st.ID]; {
		case b.watch != nil:
			held = append(held, fmt.Sprintf("watchpoint %d", st.ID))
		case len(b.hard) == 1:
			held = append(held, fmt.Sprintf("hardware breakpoint %d", st.ID))
		case len(b.hard) > 1:
			held = append(held, fmt.Sprintf("hardware breakpoint %d (%d places)", st.ID, len(b.hard)))
		}
	}
	return fmt.Errorf("all 4 debug registers are in use, by %s: delete or disable one", strings.Join(held, ", "))
}

// Watched is how many bytes a watchpoint watches, and for what.
func (s *Stops) Watched(st *breakpoints.Stop) (size int, kind inferior.WatchKind) {
	b := s.demand.binds[st.ID]
	return b.size, b.access
}

// watched counts the hits of the watchpoints at which the engine stopped, and
// tells whether to stop there.
func (s *Stops) watched(stop inferior.Stop) bool {
	for _, st := range s.demand.stops.All() {
		b := s.demand.binds[st.ID]
		if !slices.ContainsFunc(stop.Changes, func(c inferior.Change) bool { return c.Watch == b.watch }) {
			continue
		}
		if b.outlived(stop.Thread, s.loc.mem) {
			if err := s.Enable(st.ID, false); err == nil {
				s.notify("watchpoint %d is disabled: the function that %s belonged to has returned", st.ID, st.Location)
				continue
			}
		}
		if s.stops(st, stop.Thread) {
			s.demand.hits = append(s.demand.hits, hit{stop: st, thread: stop.Thread})
		}
	}
	return len(s.demand.hits) > 0 // or of another stop, at the same time
}

// outlived reports whether the frame of a watched variable has returned: the stack
// pointer stands above it, or what the frame was to return to is not there any more.
// Only another call from the very same place and depth is taken for the frame itself.
func (b *binding) outlived(t *inferior.Thread, mem *Memory) bool {
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
func returnAddress(mem *Memory, cfa addr.Run) (uint64, error) {
	b, err := mem.Read(cfa-8, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// forgetBindings follows the end of a process or of its program: all traps are
// gone with the memory. A watchpoint is disabled, because what stands at its
// address next is something else.
func (s *Stops) forgetBindings() {
	clear(s.planes.clones)
	s.demand.expired = nil
	for _, st := range s.demand.stops.All() {
		b := s.demand.binds[st.ID]
		b.traps, b.hard, b.watch, b.home, b.local = nil, nil, nil, frameID{}, false
		if st.Kind == breakpoints.StopWatch && st.Enabled {
			st.Enabled = false
			s.notify("watchpoint %d is disabled: the program that it watched is gone", st.ID)
		}
	}
}
