package probe

import (
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// freedCode has the core told of code objects of Python that are freed: another may have the
// memory of one soon after, and be another function. The pointer to what frees them, in their
// type, leads to an entrance, as in pointers.go, which calls that and counts. So the core
// tells code objects apart by where they are and the counter of that place, and need not read
// them. Where there is no such pointer yet it reads them each time.
type freedCode struct {
	p *Probe
	exchanged
	patch *inferior.Patch
	// epoch is how often the pointer was exchanged: code objects that were freed in between
	// were not counted.
	epoch uint64
}

// follow has what a pointer leads to counted, and reports whether it is. No pointer is 0. It may
// not be there yet: the dynamic linker writes it.
func (fc *freedCode) follow(place addr.Run) (counted bool, err error) {
	if place != 0 && fc.place == place && fc.patch != nil && fc.patch.Intact() {
		return true, nil
	}
	if err := fc.lift(); err != nil || place == 0 {
		return false, err
	}
	to, err := fc.p.siteTable.word(place)
	if err != nil || !fc.executable(to) {
		return false, nil
	}
	if to == fc.entrance { // another process has put it back
		to = fc.to
		if err := fc.p.siteTable.restore(place, to); err != nil {
			return false, err
		}
	}
	if now := (pointed{place, to}); fc.pointed != now {
		if fc.entrance != 0 {
			return false, nil // another one would not be on the card
		}
		if built, err := fc.build(to); !built {
			return false, err
		}
		fc.pointed = now
		if err := fc.p.describe(fc.p.footprint()); err != nil {
			return false, err
		}
	}
	fc.epoch++
	fc.patch, err = fc.p.proc.PatchWord(place, uint64(fc.entrance))
	return err == nil, err
}

// executable tells an address of a module's code.
func (fc *freedCode) executable(a addr.Run) bool {
	maps, err := fc.p.proc.Maps()
	return err == nil && slices.ContainsFunc(maps, func(m inferior.Mapping) bool {
		return m.Low <= a && a < m.High && m.Perm[2] == 'x'
	})
}

// build writes the entrance to an island, if there is one with room. The memory of an object
// is another's when the function returns, not before.
func (fc *freedCode) build(to addr.Run) (built bool, err error) {
	at := slices.IndexFunc(fc.p.islands.list, (*island).hasRoom)
	if at < 0 {
		return false, nil
	}
	i := fc.p.islands.list[at]
	w, inside := freedThunk(i.next(), to, fc.p.remote.file+fileFrees)
	if _, err := i.take(len(w.code)); err != nil {
		return false, err
	}
	if _, err := fc.p.proc.WriteAt(w.code, int64(w.at)); err != nil {
		return false, err
	}
	rules := fc.p.tables.rules
	outside := rules.ID(frameRow{cfa: 8}.rule())
	i.note(w.at, outside)
	i.note(inside[0], rules.ID(frameRow{cfa: 16}.rule()))
	i.note(inside[1], outside)
	i.note(w.here(), cfi.NoCFIID)
	if err := fc.p.publish(false); err != nil {
		return false, err
	}
	fc.entrance = w.at
	return true, nil
}

// freedThunk calls a function that frees its argument, and counts by the argument's place, as
// PYNUMBERED in core_python_amd64.h reads it. The CFA is at rsp+16 inside, else at rsp+8.
func freedThunk(at, to, counters addr.Run) (w *writer, inside [2]addr.Run) {
	w = &writer{at: at}
	w.bytes(0x57) // push %rdi
	inside[0] = w.here()
	w.bytes(0x48, 0xb8) // mov $to,%rax
	w.imm64(uint64(to))
	w.bytes(0xff, 0xd0) // call *%rax
	w.bytes(0x5f)       // pop %rdi
	inside[1] = w.here()
	w.bytes(0x48, 0xb8) // mov $factor,%rax
	w.imm64(freeFactor)
	w.bytes(0x48, 0x0f, 0xaf, 0xc7)        // imul %rdi,%rax
	w.bytes(0x48, 0xc1, 0xe8, 64-freeBits) // shr
	w.movR11(uint64(counters))
	w.bytes(0xf0, 0x41, 0xff, 0x04, 0x83) // lock incl (%r11,%rax,4)
	w.bytes(0xc3)
	return w, inside
}

// freeFactor makes of the address of a code object the place of its counter: the upper bits of
// their product.
const freeFactor = 0x9e3779b97f4a7c15

// lift puts the pointer back. What the counters say is not to be believed any more.
func (fc *freedCode) lift() error {
	if fc.patch == nil {
		return nil
	}
	if err := fc.p.poke(stPyFrees, 0); err != nil {
		return err
	}
	_ = fc.patch.Remove() // its module may be gone
	fc.patch = nil
	return nil
}

// words are what the core finds the counters by.
func (fc *freedCode) words(counted bool) []stateWord {
	if !counted {
		return nil
	}
	return []stateWord{{stPyEpoch, fc.epoch << 32}, {stPyFrees, uint64(fc.p.remote.file) + fileFrees}}
}

// kept is the pointer for the card, if there is an entrance for it.
func (fc *freedCode) kept() []exchanged {
	if fc.entrance == 0 {
		return nil
	}
	return []exchanged{fc.exchanged}
}
