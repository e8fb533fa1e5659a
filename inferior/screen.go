package inferior

import (
	"bytes"
	"encoding/binary"
	"slices"

	"hdb/internal/addr"
	"hdb/internal/procfs"
)

// A Screen is code near a trap that asks, in the process, what the trap's handler would ask first:
// threads for which the answer is no continue without stopping. The caller has written it to memory
// that stays as long as the process does.
//
// A trap with a screen is an int3 as any other whenever the threads are stopped. During Continue a jump
// is in its place, and the int3 where the screen leads those that have to stop. Such a thread has
// arrived at the trap: its registers show the trap's address, and it continues behind the screen.
// Whoever changes code or plants traps in the jump's bytes meanwhile gets the screen out of the way.
type Screen struct {
	// Jump is what is written over the trap's address, to the first of Tests.
	Jump []byte
	// Code is all that the caller has written, at At. The screen is used only while it is there.
	At   addr.Run
	Code []byte
	// Tests are the instructions that ask. One that faults is taken for a yes. They change no memory, and of the
	// registers only flags that are not read: a thread that is at one has not begun the original instruction.
	Tests []addr.Run
	// Hit is where they lead a thread that may have to stop: a nop of one byte, and a
	// jump to Over.
	Hit addr.Run
	// Over and Moves are the copy of what Jump replaces, as for Patch, with the place
	// where the copy jumps back.
	Over  addr.Run
	Moves map[addr.Run]addr.Run
}

// A raised screen is one that threads run.
type raised struct {
	site   *site
	screen *Screen
	patch  *Patch
	hit    *Trap
}

// SetScreen has a screen serve the trap from the next Continue on; nil: none.
func (t *Trap) SetScreen(s *Screen) error {
	t.site.p.check()
	t.screen = s
	return t.site.p.traps.lowerFor(t.site.addr, t.site.addr+1)
}

// raise has threads run the screens of those traps that share their place with no other. All
// threads are stopped.
func (ts *traps) raise() {
	if ts.p.watchpoints.steps() || ts.p.family.forks.followChild {
		return // instructions run one by one, or another process becomes the target
	}
	var with []*site
	for _, s := range ts.sites {
		if len(s.traps) == 1 && s.traps[0].screen != nil && s.divert == nil {
			with = append(with, s)
		}
	}
	for _, s := range with {
		if sc := s.traps[0].screen; ts.mayRaise(s, sc) {
			_ = ts.raiseOne(s, sc) // a thread is in the way, for instance: the int3 stays
		}
	}
}

// mayRaise reports whether nothing is in the way of the jump, and the code is there: the process
// may have become another one.
func (ts *traps) mayRaise(s *site, sc *Screen) bool {
	now := make([]byte, len(sc.Code))
	if _, err := ts.p.memory.readAt(now, int64(sc.At)); err != nil || !bytes.Equal(now, sc.Code) {
		return false
	}
	behind, end := s.addr+1, s.addr+addr.Run(len(sc.Jump))
	return ts.p.memory.patchOver(s.addr) == nil && len(ts.p.memory.within(behind, int(end-behind))) == 0 &&
		!ts.p.watchpoints.breaksIn(s.addr, end) && !ts.interruptedIn(behind, end)
}

// scannedStack is how much of a stack is searched for the frame of a signal.
const scannedStack = 1 << 20

// interruptedIn reports whether a signal may have interrupted a thread in [low, high): when its
// handler returns, the thread continues there.
func (ts *traps) interruptedIn(low, high addr.Run) bool {
	if s, ok := procfs.Status(ts.p.target.pid, "SigCgt"); ok && len(s) > 0 && len(trimZeros(s)) == 0 {
		return false
	}
	stack := make([]byte, scannedStack)
	for _, t := range ts.p.family.inMemory() {
		if t.state != stopped || t.load() != nil {
			continue
		}
		n, _ := ts.p.memory.readAt(stack, int64(t.regs.Rsp&^7)) // up to the end of the mapping
		for at := 0; at+8 <= n; at += 8 {
			if w := addr.Run(binary.LittleEndian.Uint64(stack[at:])); w >= low && w < high {
				return true
			}
		}
	}
	return false
}

// trimZeros is a number of /proc without the digits 0.
func trimZeros(s string) []byte {
	return slices.DeleteFunc([]byte(s), func(b byte) bool { return b == '0' })
}

func (ts *traps) raiseOne(s *site, sc *Screen) error {
	hit, err := ts.plantInternal(sc.Hit, func(*Thread) Action { return Resume })
	if err != nil {
		return err
	}
	pt, err := ts.p.patches.Patch(s.addr, sc.Jump, sc.Over, sc.Moves)
	if err != nil {
		_ = hit.Remove() // it has no errors
		return err
	}
	r := &raised{s, sc, pt, hit}
	hit.site.front = r
	for _, a := range append(slices.Clip(sc.Tests), sc.Hit) {
		ts.p.patches.copies[a] = s.addr
	}
	for _, t := range ts.p.family.inMemory() {
		if t.state == stopped && t.at == s.addr && t.load() == nil && t.shown == 0 && t.regs.PC() == s.addr {
			t.showAt(s.addr, sc.Over) // it has been reported
		}
	}
	ts.raised = append(ts.raised, r)
	delete(ts.sites, s.addr)
	if orig, lifted := ts.p.memory.lift(s.addr); lifted {
		ts.retired[s.addr] = orig
	}
	return nil
}

// lower puts int3s where screens are. All threads are stopped.
func (ts *traps) lower() {
	for len(ts.raised) > 0 {
		ts.lowerOne(ts.raised[0])
	}
}

// lowerOne puts the int3 back. If the memory is gone, the trap is one that no thread reaches.
func (ts *traps) lowerOne(r *raised) {
	for _, t := range ts.p.family.inMemory() { // who has executed the int3, but not told of it
		if t.state == stopped && !t.guest && !t.deliverable && t.load() == nil && t.pc() == r.screen.Hit+1 {
			_ = t.drainTrap() // an error is of a thread that is being killed
		}
	}
	if !slices.Contains(ts.raised, r) {
		return // an exec came meanwhile
	}
	ts.raised = slices.DeleteFunc(ts.raised, func(x *raised) bool { return x == r })
	ts.sites[r.site.addr] = r.site
	_ = ts.p.family.withoutGuests(func() error { // an error is of a guest that is being killed
		ts.putBackTrap(r)
		return nil
	})
}

// putBackTrap has the int3 in place of the screen. Who is in the screen is in the original code
// from now on.
func (ts *traps) putBackTrap(r *raised) {
	a := r.site.addr
	delete(ts.retired, a)
	_ = ts.p.memory.plant(a)
	for _, t := range ts.p.family.inMemory() {
		switch {
		case t.state != stopped || t.load() != nil:
		case t.pc() == r.screen.Over:
			t.at = a // it has been let pass, or reported
		case t.pc() == r.screen.Hit || slices.Contains(r.screen.Tests, t.pc()):
			t.regs.Rip, t.regsDirty, t.shown = uint64(a), true, 0
		}
	}
	ts.p.patches.unpatch(r.patch)
	r.site.decode(ts.p)
	for _, test := range append(slices.Clip(r.screen.Tests), r.screen.Hit) {
		delete(ts.p.patches.copies, test)
	}
	_ = r.hit.Remove() // it has no errors
}

// lowerFor gets the screens out of the way whose jumps have bytes in [low, high), in a handler
// or hook, too.
func (ts *traps) lowerFor(low, high addr.Run) error {
	over := func(r *raised) bool {
		return r.site.addr < high && low < r.site.addr+addr.Run(len(r.screen.Jump))
	}
	if !slices.ContainsFunc(ts.raised, over) {
		return nil
	}
	return ts.p.StopAll(func() error {
		for {
			i := slices.IndexFunc(ts.raised, over)
			if i < 0 {
				return nil
			}
			ts.lowerOne(ts.raised[i])
		}
	})
}

// lowerAll is lower for whoever is called while threads run.
func (ts *traps) lowerAll() error { return ts.lowerFor(0, ^addr.Run(0)) }

// faulted has a thread whose test has met memory that it must not read come to the trap.
func (ts *traps) faulted(t *Thread) bool {
	if len(ts.raised) == 0 || t.load() != nil {
		return false
	}
	for _, r := range ts.raised {
		if slices.Contains(r.screen.Tests, t.pc()) {
			t.showAt(r.site.addr, r.screen.Hit)
			return true
		}
	}
	return false
}

// forgetScreens has no screen raised any more, the memory being gone.
func (ts *traps) forgetScreens() {
	for _, r := range ts.raised {
		ts.sites[r.site.addr] = r.site
	}
	ts.raised = nil
}
