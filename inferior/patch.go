package inferior

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/inferior/x86"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// maxPatch is the longest code that a patch may have, bytes: an absolute jump
// takes 14.
const maxPatch = 16

// patches are the places where the target runs other code than it had.
type patches struct {
	p *Process

	planted []*Patch
	copies  map[addr.Run]addr.Run // instructions of relocated copies, and what they are copies of
	retired []retiredPatch        // taken out while threads ran: a fork child may still have the patches
}

// A Patch is code of the inferior that was replaced: readers of memory see
// the original bytes, the processor runs the new ones.
//
// Patches live as traps do. Fork children that are let go or held have the patches taken out,
// children that share the target's memory run them. A child that is followed, and one that SwitchTo
// changes to, has none, and all Patches of the process left are removed: whoever planted them
// plants anew (Hooks.Forked is called after that). exec forgets them, Detach takes them out.
type Patch struct {
	p       *Process
	at      addr.Run
	code    []byte
	over    addr.Run
	moves   map[addr.Run]addr.Run
	trap    *Trap    // instead of code,
	to      addr.Run // and where it leads
	word    bool     // code is a word of data, which the program may write anew
	removed bool
}

// A retiredPatch is one that a fork child not announced yet may still have.
type retiredPatch struct {
	at         addr.Run
	code, orig []byte
}

// Removed reports whether the patch has been taken out, by whatever event.
func (pt *Patch) Removed() bool { return pt.removed }

// A PatchedError says that a trap and a patch, or two patches, cannot share an address: only at the
// first byte of a patch can a trap be.
type PatchedError struct {
	Addr  addr.Run
	Patch *Patch // what is there already; nil when that is a trap
}

func (e *PatchedError) Error() string {
	if e.Patch == nil {
		return fmt.Sprintf("patch over %v: a trap is there", e.Addr)
	}
	return fmt.Sprintf("%v: inside the code patched at %v", e.Addr, e.Patch.at)
}

// Patch replaces the bytes at a with code, at most 16 bytes. Wherever code
// jumps to must be there already.
//
// over is where a thread continues that is to run the original code from a: the relocated copy.
// moves tells for each instruction boundary inside (a, a+len(code)) where its copy is; it may also
// tell so for the boundary at which the copy jumps back. A thread that is at a boundary continues
// in the copy; one that is elsewhere in the range makes Patch fail. Wherever a thread stops at an
// instruction that the copy begins with, over, or that is a value of moves, its registers show the
// PC in the original code.
//
// All threads of the target must be stopped, or the code not yet be reachable by any but the one
// that is (a library just loaded). Children that run in the target's memory after a vfork are held
// for the moment. What hdb cannot see is a PC kept in memory, in the frame of a signal that
// interrupted the first instructions of the function.
func (ps *patches) Patch(a addr.Run, code []byte, over addr.Run, moves map[addr.Run]addr.Run) (*Patch, error) {
	return ps.put(&Patch{p: ps.p, at: a, code: slices.Clone(code), over: over, moves: moves})
}

// PatchWord is Patch of a pointer to a function, in data at a, which must be aligned. The
// program may write another over it: from then on readers see that one, and it stays.
func (ps *patches) PatchWord(a addr.Run, word uint64) (*Patch, error) {
	if a%8 != 0 {
		return nil, fmt.Errorf("patch at %v: a word is aligned to 8 bytes", a)
	}
	return ps.put(&Patch{p: ps.p, at: a, code: binary.LittleEndian.AppendUint64(nil, word), word: true})
}

// Intact reports whether what the patch has written is still there.
func (pt *Patch) Intact() bool { return !pt.removed && pt.p.memory.standing(pt) }

// put plants a patch.
func (ps *patches) put(pt *Patch) (*Patch, error) {
	a, code := pt.at, pt.code
	if err := ps.p.Alive(); err != nil {
		return nil, err
	}
	if len(code) == 0 || len(code) > maxPatch {
		return nil, fmt.Errorf("patch at %v: %d bytes, want 1 to %d", a, len(code), maxPatch)
	}
	if err := ps.p.traps.lowerFor(a, a+addr.Run(len(code))); err != nil {
		return nil, fmt.Errorf("patch at %v: %w", a, err)
	}
	ps.p.guard.await()
	err := ps.p.family.withoutGuests(func() error {
		movers, err := ps.standing(pt)
		if err != nil {
			return err
		}
		if err := ps.p.memory.patch(pt); err != nil {
			return err
		}
		for _, t := range movers {
			t.showAt(t.regs.PC(), pt.moves[t.regs.PC()])
			if err := t.flush(); err != nil && err != unix.ESRCH {
				return fmt.Errorf("thread %d: %w", t.TID, err)
			}
		}
		return nil
	})
	if err != nil {
		ps.p.memory.unpatch(pt)
		return nil, fmt.Errorf("patch at %v: %w", a, err)
	}
	ps.planted = append(ps.planted, pt)
	pt.eachCopy(func(copied, orig addr.Run) { ps.copies[copied] = orig })
	if s := ps.p.traps.sites[a]; s != nil {
		s.decode(ps.p)
	}
	return pt, nil
}

// Divert is Patch for a function that has no room for a jump: a trap at a, of one byte, has threads
// continue at to. It costs each of them what a trap does. over is the copy of the first
// instruction.
func (ps *patches) Divert(a, to, over addr.Run) (*Patch, error) {
	if err := ps.p.Alive(); err != nil {
		return nil, err
	}
	if ps.patchAt(a) != nil {
		return nil, fmt.Errorf("divert at %v: %w", a, &PatchedError{a, ps.patchAt(a)})
	}
	trap, err := ps.p.traps.Plant(a, func(*Thread) Action { return Resume })
	if err != nil {
		return nil, fmt.Errorf("divert at %v: %w", a, err)
	}
	pt := &Patch{p: ps.p, at: a, over: over, trap: trap, to: to}
	ps.planted = append(ps.planted, pt)
	ps.copies[over] = a
	trap.site.divert = pt
	trap.site.decode(ps.p)
	return pt, nil
}

// lead is the stepper of a trap that diverts.
func (pt *Patch) lead(_ x86.Memory, r *Registers) bool {
	r.Rip = uint64(pt.to)
	return true
}

// patchAt is the patch that begins at a, or nil.
func (ps *patches) patchAt(a addr.Run) *Patch {
	if s := ps.p.traps.sites[a]; s != nil && s.divert != nil {
		return s.divert
	}
	if pt := ps.p.memory.patchOver(a); pt != nil && pt.at == a {
		return pt
	}
	return nil
}

// eachCopy calls f for each instruction that is known in the copy.
func (pt *Patch) eachCopy(f func(copied, orig addr.Run)) {
	if pt.word {
		return
	}
	f(pt.over, pt.at)
	for orig, copied := range pt.moves {
		f(copied, orig)
	}
}

// inside tells an address that only the original code has as an instruction.
func (pt *Patch) inside(a addr.Run) bool { return a > pt.at && a < pt.at+addr.Run(len(pt.code)) }

// standing finds the stopped threads that must be moved out of the way of a
// patch. It is an error when one cannot be.
func (ps *patches) standing(pt *Patch) ([]*Thread, error) {
	var movers []*Thread
	for _, t := range ps.p.family.inMemory() {
		if t.state != stopped || t.load() != nil {
			continue // it runs elsewhere, or has been killed
		}
		// One that has just executed an int3 is there, also if it was removed since.
		if pc := t.pc(); (pc == pt.at+1 || pt.inside(pc-1)) && ps.p.traps.trapAt(pc-1) && !t.deliverable {
			if t.guest && sigtrapPending(t.TID) {
				continue
			}
			if err := t.drainTrap(); err != nil && t.state == stopped {
				return nil, err
			}
			if t.state != stopped {
				continue
			}
		}
		pc := t.pc()
		if !pt.inside(pc) && !(t.regs.Restarts() && (pc-syscallSize == pt.at || pt.inside(pc-syscallSize))) {
			continue
		}
		if pt.moves[pc] == 0 {
			return nil, fmt.Errorf("thread %d is stopped at %v, from where it cannot be moved", t.TID, pc)
		}
		movers = append(movers, t)
	}
	return movers, nil
}

// Passed are the stopped threads that have run the patch and are at the function's first instruction, in
// the copy. After Remove they are at the original one, as if they had not.
func (pt *Patch) Passed() (threads []*Thread) {
	for _, t := range pt.p.target.order {
		if t.state == stopped && t.load() == nil && t.shown == pt.at && t.real == pt.over {
			threads = append(threads, t)
		}
	}
	return threads
}

// Remove puts the original bytes back, if the patch still is there: memory that is unmapped, or
// mapped anew, is left alone. Who may run meanwhile is as for Process.Patch. Threads that are seen
// in the copy go back to the original code. A second call does nothing.
func (pt *Patch) Remove() error {
	p := pt.p
	p.check()
	if pt.removed {
		return nil
	}
	if err := p.Alive(); err != nil {
		pt.removed = true
		return nil
	}
	return p.family.withoutGuests(func() error {
		p.patches.unpatch(pt)
		return nil
	})
}

// unpatch is Remove with the guests stopped.
func (ps *patches) unpatch(pt *Patch) {
	if pt.removed {
		return // by what was waited for
	}
	pt.removed = true
	ps.planted = slices.DeleteFunc(ps.planted, func(x *Patch) bool { return x == pt })
	orig, restored := []byte(nil), true
	if pt.trap != nil {
		pt.trap.site.divert = nil
		_ = pt.trap.Remove() // it has no errors
	} else {
		orig, restored = ps.p.memory.unpatch(pt)
	}
	if restored {
		for _, t := range ps.p.family.inMemory() {
			if t.state == stopped && t.load() == nil && t.shown != 0 && ps.copies[t.real] == t.shown && pt.copied(t.real) {
				t.shown, t.regsDirty = 0, true
			}
		}
	}
	pt.eachCopy(func(copied, _ addr.Run) { delete(ps.copies, copied) })
	if orig != nil {
		ps.retired = append(ps.retired, retiredPatch{pt.at, pt.code, orig})
	}
	if s := ps.p.traps.sites[pt.at]; s != nil {
		s.decode(ps.p)
	}
}

// copied reports whether a is an instruction of the copy.
func (pt *Patch) copied(a addr.Run) (found bool) {
	pt.eachCopy(func(copied, _ addr.Run) { found = found || copied == a })
	return found
}

// removeAll takes all patches out, the guests being gone.
func (ps *patches) removeAll() {
	for len(ps.planted) > 0 {
		ps.unpatch(ps.planted[0])
	}
}

// dropRetired forgets what was taken out: no child is left that may have it.
func (ps *patches) dropRetired() { ps.retired = nil }

// forget drops all patches without touching memory.
func (ps *patches) forget() {
	for _, pt := range ps.planted {
		pt.removed = true
	}
	ps.planted = nil
	clear(ps.copies)
	ps.retired = nil
}

// restorePatchIn takes a patch out of a fork child's copy of the memory, if
// all of it is there. Its traps have been lifted already.
func restorePatchIn(fd int, pt retiredPatch) {
	now := make([]byte, len(pt.code))
	if n, err := unix.Pread(fd, now, int64(pt.at)); n != len(now) || err != nil {
		return
	}
	for i := range now {
		if now[i] != pt.code[i] && !(i == 0 && now[0] == pt.orig[0]) {
			return
		}
	}
	_, _ = unix.Pwrite(fd, pt.orig, int64(pt.at)) // fails only when the child is gone
}

// pc is where the thread really is. Its registers must be loaded.
func (t *Thread) pc() addr.Run {
	if t.shown != 0 {
		return t.real
	}
	return t.regs.PC()
}

// showAt makes the registers show one place while the thread is at another, the copy of it. Its
// registers must be loaded.
func (t *Thread) showAt(shown, real addr.Run) {
	t.regs.Rip = uint64(shown)
	t.shown, t.real, t.regsDirty = shown, real, true
}

// PassTraps has the traps at a count as passed for a stopped thread that is there.
func (t *Thread) PassTraps(a addr.Run) { t.at = a }

// PassedTraps is where a stopped thread is if it has passed the traps there, else 0.
func (t *Thread) PassedTraps() addr.Run {
	if t.at == 0 || t.load() != nil || t.shown != 0 || t.regs.PC() != t.at {
		return 0
	}
	return t.at
}

// PlaceAt makes a stopped thread be at the entry a of a patched function without having it run the
// patch again: its registers show PC a, and it continues in the relocated copy, single-stepping
// too. Traps at a count as passed. If the PC is changed meanwhile the placement is void.
func (t *Thread) PlaceAt(a addr.Run) error {
	t.p.check()
	pt := t.p.patches.patchAt(a)
	if pt == nil {
		return fmt.Errorf("place thread %d at %v: no patch begins there", t.TID, a)
	}
	if pt.word {
		return fmt.Errorf("place thread %d at %v: a pointer is there, not code", t.TID, a)
	}
	if err := t.settle(); err != nil {
		return err
	}
	t.regs.OrigRax = ^uint64(0) // as in SetRegs
	t.showAt(a, pt.over)
	if err := t.flush(); err != nil {
		return fmt.Errorf("place thread %d at %v: %w", t.TID, a, err)
	}
	t.at = a
	return nil
}
