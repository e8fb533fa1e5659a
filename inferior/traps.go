package inferior

import (
	"fmt"
	"slices"

	"hdb/inferior/x86"
	"hdb/internal/addr"
)

// A Handler is called on the owner goroutine when a thread arrives at the
// trap, with only this thread stopped: its registers and the memory can be
// read and written, traps planted and removed. Rip is the trap's address.
type Handler func(*Thread) Action

// traps are the places where threads stop: int3s, which the memory keeps, and gates.
type traps struct {
	p *Process

	sites   map[addr.Run]*site
	retired map[addr.Run]byte // lifted while threads ran: a fork child may still have these int3s
	gates   []*gate
	aside   []*site // whose int3s are out of memory while all threads are stopped
	raised  []*raised
}

// A Trap is one handler at one address.
type Trap struct {
	site     *site
	handler  Handler
	removed  bool
	internal bool // the engine's own
	screen   *Screen
	guests   bool // children in the memory come to it, too
}

// ForGuests has the handler be called for children that run in the target's memory, too, as after vfork.
// They stop nowhere: what it returns for them means nothing.
func (t *Trap) ForGuests() { t.guests = true }

// Addr is where the trap is.
func (t *Trap) Addr() addr.Run { return t.site.addr }

// A site is an address with an int3 and the traps that share it.
type site struct {
	p       *Process
	addr    addr.Run
	traps   []*Trap     // never changed in place: handlers may plant and remove while it is ranged over
	code    []byte      // the instruction and what follows, up to 16 bytes, as run: a patch shows, int3s do not
	emulate x86.Stepper // nil: the instruction must be run by the processor
	gate    *gate       // instead of an int3
	divert  *Patch      // where threads continue, if not here
	front   *raised     // the screen whose Hit it is
}

// decode reads the instruction anew.
func (s *site) decode(p *Process) {
	s.code = s.code[:cap(s.code)]
	n, _ := p.memory.readCode(s.code, int64(s.addr)) // short at the end of a mapping
	s.code = s.code[:n]
	s.emulate = x86.Decode(s.code, uint64(s.addr))
	if s.divert != nil {
		s.emulate = s.divert.lead
	}
}

// Plant puts a trap at a and calls h at each arrival of a thread. Several at
// one address are called in planting order. In a handler, it takes effect
// for the next arrival. At the first byte of a patch the trap comes before it;
// inside one there is no place for a trap: a *PatchedError.
func (ts *traps) Plant(a addr.Run, h Handler) (*Trap, error) {
	ts.p.check()
	ts.p.changes++
	if err := ts.lowerFor(a, a+1); err != nil {
		return nil, fmt.Errorf("trap at %v: %w", a, err)
	}
	if pt := ts.p.memory.patchOver(a); pt != nil && pt.at != a {
		return nil, &PatchedError{a, pt}
	}
	s := ts.sites[a]
	if s == nil {
		ts.p.guard.await()
		ts.p.handler.planting()
		if err := ts.p.Alive(); err != nil {
			return nil, fmt.Errorf("trap at %v: %w", a, err)
		}
		if err := ts.p.memory.plant(a); err != nil {
			return nil, fmt.Errorf("trap at %v: %w", a, err)
		}
		s = &site{p: ts.p, addr: a, code: make([]byte, 16)}
		s.decode(ts.p)
		ts.sites[a] = s
		delete(ts.retired, a)
		if err := ts.p.watchpoints.toMemory(s); err != nil {
			return nil, fmt.Errorf("trap at %v: %w", a, err)
		}
	}
	t := &Trap{site: s, handler: h}
	s.traps = append(slices.Clip(s.traps), t)
	return t, nil
}

// Remove takes the trap away; a second call does nothing. A thread that has hit it already but was
// not yet handled continues as if it had not been there.
func (t *Trap) Remove() error {
	if t.removed {
		return nil // the process may be gone
	}
	s := t.site
	s.p.check()
	t.removed = true
	s.traps = slices.DeleteFunc(slices.Clone(s.traps), func(x *Trap) bool { return x == t })
	if len(s.traps) == 0 {
		err := s.p.traps.lowerFor(s.addr, s.addr+1)
		s.p.traps.unplant(s)
		return err
	}
	return nil
}

// unplant takes a site out of the memory. A child forked but not yet known
// may still have its int3: retired keeps what to write there.
func (ts *traps) unplant(s *site) {
	if s.gate != nil {
		ts.removeGate(s.gate)
		return
	}
	delete(ts.sites, s.addr)
	if orig, lifted := ts.p.memory.lift(s.addr); lifted {
		ts.retired[s.addr] = orig
	}
}

// liftAll takes all int3s out of the memory.
func (ts *traps) liftAll() {
	for a := range ts.sites {
		ts.p.memory.lift(a)
	}
}

// dropRetired forgets what was lifted: no child is left that may have it.
func (ts *traps) dropRetired() { clear(ts.retired) }

// forget drops all traps and patches without touching memory: the image
// is gone.
func (ts *traps) forget() {
	ts.forgetScreens()
	ts.p.patches.forget()
	for _, s := range ts.sites {
		for _, t := range s.traps {
			t.removed = true
		}
	}
	for _, g := range ts.gates {
		for _, t := range g.site.traps {
			t.removed = true
		}
	}
	ts.gates = nil
	clear(ts.sites)
	clear(ts.retired)
	ts.aside = nil
}

// HasTrap reports whether a trap is in [low, high), or a debug register stops threads there.
func (ts *traps) HasTrap(low, high addr.Run) bool {
	ts.p.check()
	return high > low && slices.ContainsFunc(ts.p.memory.within(low, int(high-low)), func(c cover) bool { return c.trap }) ||
		ts.p.watchpoints.breaksIn(low, high) ||
		slices.ContainsFunc(ts.raised, func(r *raised) bool { return low <= r.site.addr && r.site.addr < high })
}

// trapAt reports whether an int3 is at a, or was there when threads last ran.
func (ts *traps) trapAt(a addr.Run) bool {
	_, retired := ts.retired[a]
	return retired || ts.sites[a] != nil
}

// hit runs the handlers of the site that t has arrived at and returns those
// that want to stop.
func (ts *traps) hit(t *Thread, s *site) []*Trap {
	var stops []*Trap
	if r := s.front; r != nil {
		t.showAt(r.site.addr, r.screen.Over)
		s = r.site
	}
	t.at = s.addr
	for _, tr := range s.traps {
		if !tr.removed && tr.handler(t) == StopHere {
			stops = append(stops, tr)
		}
	}
	return stops
}

// guestHit runs the handlers of the site that are for children in the memory.
func (ts *traps) guestHit(t *Thread, s *site) {
	for _, tr := range s.traps {
		if tr.guests && !tr.removed {
			tr.handler(t)
		}
	}
}

// Arrive runs the handlers of a trap at which t is but which it has not hit, as after
// StepInstruction, and returns those that said StopHere. The arrival then counts as reported:
// resuming passes the trap.
func (ts *traps) Arrive(t *Thread) ([]*Trap, error) {
	ts.p.check()
	if err := t.settle(); err != nil {
		return nil, err
	}
	s := ts.sites[t.regs.PC()]
	if g := ts.gateAt(t.regs.PC()); g != nil {
		s = g.site
	}
	if s == nil || t.at == s.addr || t.shown != 0 {
		return nil, nil
	}
	return ts.hit(t, s), nil
}

// WriteAt writes the inferior's memory, read-only pages included. Traps stay
// planted; they show the bytes written when they are removed.
func (ts *traps) WriteAt(b []byte, off int64) (int, error) {
	ts.p.check()
	ts.p.changes++
	if err := ts.lowerFor(addr.Run(off), addr.Run(off)+addr.Run(len(b))); err != nil {
		return 0, err
	}
	n, err := ts.p.memory.writeAt(b, off)
	for _, s := range ts.sites {
		if uint64(s.addr)+uint64(len(s.code)) > uint64(off) && uint64(s.addr) < uint64(off)+uint64(len(b)) {
			s.decode(ts.p)
		}
	}
	return n, err
}

func (ts *traps) plantInternal(a addr.Run, h Handler) (*Trap, error) {
	t, err := ts.Plant(a, h)
	if t != nil {
		t.internal = true
	}
	return t, err
}
