package probe

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/probe/reloc"
)

// move writes a function's first instructions to an island. The function itself
// stays as it is.
func (is *islands) move(c *caller, m inferior.Module, entry addr.Run, size uint64) (*patched, error) {
	i, err := is.near(c, m)
	if err != nil {
		return nil, err
	}
	f := &patched{module: m, entry: entry, size: size, island: i}
	f.whole, err = is.relocate(f, jumpSize)
	var no noRoomError
	if errors.As(err, &no) {
		f.noRoom = no.cause
		f.single, err = is.relocate(f, trapSize)
	}
	if errors.As(err, &no) {
		return nil, no.cause
	}
	if err != nil {
		return nil, err
	}
	f.moved = *f.widest()
	return f, nil
}

// A noRoomError says why first instructions cannot be replaced.
type noRoomError struct{ cause error }

func (e noRoomError) Error() string { return e.cause.Error() }

// relocate writes to the island the first instructions that cover this number of bytes.
func (is *islands) relocate(f *patched, need int) (*moved, error) {
	body, err := is.body(f.entry, f.size)
	if err != nil {
		return nil, err
	}
	to := f.island.next()
	pro, err := reloc.Relocate(body, int(f.size), f.entry, to, need)
	if err == nil && need == jumpSize {
		err = branchesInto(body, f.entry, f.size, pro.Covered)
	}
	if err != nil {
		return nil, noRoomError{err}
	}
	if to, err = f.island.take(reloc.MaxCode + turnSize); err != nil {
		return nil, err
	}
	if need == trapSize {
		pro.Moves = nil // behind the trap the function is as it was
	}
	code, back := pro.Code, addr.Run(0)
	if need == trapSize && f.whole != nil {
		code, back = turnable(to, code, f.entry+addr.Run(pro.Covered))
	}
	if _, err := is.p.proc.WriteAt(code, int64(to)); err != nil {
		return nil, err
	}
	m := &moved{back: back, relocated: to, moves: map[addr.Run]addr.Run{}, first: bytes.Clone(body[:pro.Covered]), trap: need == trapSize}
	f.island.note(to, is.p.tables.rule(f.entry))
	for _, mv := range pro.Moves {
		m.moves[f.entry+addr.Run(mv.From)] = to + addr.Run(mv.To)
		f.island.note(to+addr.Run(mv.To), is.p.tables.rule(f.entry+addr.Run(mv.From)))
	}
	if back != 0 {
		f.island.note(to+addr.Run(len(pro.Code)-jumpSize), is.p.tables.rule(f.entry+addr.Run(pro.Covered)))
	}
	f.island.note(to+addr.Run(len(code)), cfi.NoCFIID)
	return m, nil
}

// turnSize is what turnable adds to code at most, in bytes.
const turnSize = 24

// turnable replaces the jump behind the first instruction by one to an address that is read
// at back: threads may be on their way there, in the thunk or the core, when the instruction
// that it leads to becomes part of a jump. Without such a jump back is 0.
func turnable(at addr.Run, code []byte, to addr.Run) (turned []byte, back addr.Run) {
	w := &writer{at: at + addr.Run(len(code)-jumpSize)}
	w.jmp(to)
	body, ok := bytes.CutSuffix(code, w.code)
	if !ok || w.errs != nil {
		return code, 0
	}
	const jmp = 6 // of ff 25 and the distance
	n := (len(body) + jmp + 7) &^ 7
	turned = append(slices.Clone(body), 0xff, 0x25)
	turned = binary.LittleEndian.AppendUint32(turned, uint32(n-len(body)-jmp))
	turned = append(turned, make([]byte, n-len(turned))...)
	return binary.LittleEndian.AppendUint64(turned, uint64(to)), at + addr.Run(n)
}

// widest is what is moved of the function when no breakpoint is in the way.
func (f *patched) widest() *moved {
	if f.whole != nil {
		return f.whole
	}
	return f.single
}

// original is where a moved instruction came from: of both ways, as a thread may have been
// there before they changed.
func (f *patched) original(a addr.Run) (from addr.Run, ok bool) {
	for _, m := range []*moved{&f.moved, f.whole, f.single} {
		if m == nil {
			continue
		}
		if a == m.relocated {
			return cmp.Or(f.found, f.entry), true
		}
		for from, to := range m.moves {
			if a == to {
				return from, true
			}
		}
	}
	return 0, false
}

// Moved is where the first instruction of a followed function was moved.
func (st *siteTable) Moved(entry addr.Run) (to addr.Run, ok bool) {
	for _, f := range st.planted() {
		if f.entry == entry {
			return f.relocated, true
		}
	}
	return 0, false
}

// InMoved tells an address among moved instructions, which are the program's.
func (st *siteTable) InMoved(a addr.Run) bool {
	return st.p.islands.Covers(a) && slices.ContainsFunc(st.planted(), func(f *patched) bool { return f.relocated <= a && a < f.relocated+reloc.MaxCode+turnSize })
}

// crowded reports whether a jump would go over a breakpoint behind the function's entry.
func (is *islands) crowded(f *patched) bool {
	return f.whole != nil && is.p.proc.HasTrap(f.entry+1, f.entry+addr.Run(len(f.whole.first)))
}

// settle chooses between jump and trap: a trap where there is no room for a jump, or
// where a breakpoint is in it.
func (is *islands) settle(f *patched) (err error) {
	use := f.widest()
	if is.crowded(f) {
		if f.single == nil {
			if f.single, err = is.relocate(f, trapSize); err != nil {
				return err
			}
		}
		use = f.single
	}
	if err := is.turn(f, use); err != nil {
		return err
	}
	is.p.reader.mu.Lock()
	f.moved = *use
	is.p.reader.mu.Unlock()
	return nil
}

// turn sets where threads continue after a first instruction that was moved alone: in the
// function if a trap is at its entry, else in the copy that the jump uses.
func (is *islands) turn(f *patched, use *moved) error {
	if f.single == nil || f.single.back == 0 {
		return nil
	}
	to := f.entry + addr.Run(len(f.single.first))
	if use == f.whole && f.whole.moves[to] != 0 {
		to = f.whole.moves[to]
	}
	_, err := is.p.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(to)), int64(f.single.back))
	return err
}

// Crowded is the function that a breakpoint at a keeps the probe from putting a jump over.
func (st *siteTable) Crowded(a addr.Run) (name string, ok bool) {
	for _, s := range st.list {
		for _, f := range s.patches() {
			if f.patch != nil && f.trap && f.whole != nil && f.entry < a && a < f.entry+addr.Run(len(f.whole.first)) {
				return s.Function.Symbol, true
			}
		}
	}
	return "", false
}

// MakeRoom takes the jump away that is over a, if any, so that a breakpoint can be put
// there. Reshape is to be called then. All threads must be stopped.
func (st *siteTable) MakeRoom(a addr.Run) error {
	for _, f := range st.planted() {
		if !f.trap && f.entry < a && a < f.entry+addr.Run(len(f.first)) {
			return st.passed.lift(f)
		}
	}
	return nil
}

// shaped reports whether a function is followed by what breakpoints leave room for.
func (is *islands) shaped(f *patched) bool {
	return f.patch != nil && is.crowded(f) == (f.trap && f.whole != nil)
}

// shaped is islands.shaped; no breakpoint is in the way of a pointer.
func (st *siteTable) shaped(s *site) bool {
	return s.entrance != 0 || !slices.ContainsFunc(s.patches(), func(f *patched) bool { return !st.p.islands.shaped(f) })
}

// Shaped reports whether Reshape has nothing to do.
func (st *siteTable) Shaped() bool {
	return !slices.ContainsFunc(st.list, func(s *site) bool { return !s.dead && !st.shaped(s) }) &&
		!slices.ContainsFunc(st.p.finders.list, func(f *patched) bool { return !st.p.islands.shaped(f) })
}

// Reshape has a trap lead to the thunks of functions whose first instructions now have a
// breakpoint, and a jump where it is gone. All threads must be stopped. entered is as in
// Request.
func (p *Probe) Reshape(t *inferior.Thread, entered map[*inferior.Thread]addr.Run) error {
	if !p.armed {
		return nil
	}
	c := &caller{t: t}
	for _, s := range p.siteTable.list {
		if s.dead || p.siteTable.shaped(s) {
			continue
		}
		if err := errors.Join(p.siteTable.passed.lift(s.patches()...), p.siteTable.aim(c, s)); err != nil {
			return err
		}
	}
	p.finders.reshape()
	p.conditions.enter(entered)
	return p.finish()
}

// passed has the stopped threads that have run a patch and are at the function's first instruction, in its
// copy. If the patch is lifted and planted anew they would run the new one, too, and their calls be counted twice.
// They are known until a thread runs.
type passed map[*inferior.Thread]*patched

// lift takes patches away; place must follow, or disarm.
func (ps passed) lift(fs ...*patched) error {
	var errs []error
	for _, f := range fs {
		if f.patch != nil {
			for _, t := range f.patch.Passed() {
				ps[t] = f
			}
		}
		errs = append(errs, f.lift())
	}
	return errors.Join(errs...)
}

// place moves the threads behind the new patches, where there are any.
func (ps passed) place() error {
	defer clear(ps)
	for t, f := range ps {
		if regs, err := t.Regs(); f.patch == nil || err != nil || regs.PC() != f.entry { // or the user has moved it away
			continue
		}
		if err := t.PlaceAt(f.entry); err != nil {
			return err
		}
	}
	return nil
}

// place has threads be at the entries of functions without calling them again.
func (st *siteTable) place(entered map[*inferior.Thread]addr.Run) error {
	for t, at := range entered {
		s := st.byEntry[at]
		if s == nil {
			continue
		}
		if err := st.p.slots.entered(t, s); err != nil {
			return err
		}
		if s.patch == nil {
			continue
		}
		if err := t.PlaceAt(at); err != nil {
			return err
		}
	}
	return nil
}

// planted are the functions that are followed.
func (st *siteTable) planted() (all []*patched) {
	for _, s := range st.list {
		for _, f := range s.patches() {
			if f.patch != nil {
				all = append(all, f)
			}
		}
	}
	for _, f := range st.p.finders.list {
		if f.patch != nil {
			all = append(all, f)
		}
	}
	return all
}

// lead makes the jump over the function's first instructions lead to a thunk, or the trap.
func (f *patched) lead(to addr.Run) error {
	f.thunk = to
	w := &writer{at: f.entry}
	w.jmp(to)
	for len(w.code) < len(f.first) {
		w.bytes(0xcc) // not reached
	}
	f.jump = w.code
	return w.errs
}

// plant has the function's calls come to its thunk.
func (f *patched) plant(proc *inferior.Process) (err error) {
	if f.trap {
		f.patch, err = proc.Divert(f.entry, f.thunk, f.relocated)
		return err
	}
	f.patch, err = proc.Patch(f.entry, f.jump, f.relocated, f.moves)
	return err
}

// lift takes away all that is patched for the function.
func (s *site) lift() error {
	var errs []error
	for _, f := range s.patches() {
		errs = append(errs, f.lift())
	}
	return errors.Join(errs...)
}

func (f *patched) lift() error {
	if f.patch == nil {
		return nil
	}
	err := f.patch.Remove()
	f.patch = nil
	return err
}
