package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// Functions that programs call by pointers in a table, as CPython's allocators, are followed
// without a change of code: the pointer is exchanged by one to an entrance, a jump whose target is
// read from memory, to the present thunk. A program may keep the pointer that it finds, put another
// over it, which calls the kept one, and put it back later; so an entrance stays what it is as long
// as the probe is there, and the function that it represents, too. If another pointer is found in
// the place, that gets an entrance of its own.

// A pointed is a pointer that was found in a place.
type pointed struct{ place, to addr.Run }

// An exchanged is one for which an entrance was made.
type exchanged struct {
	pointed
	entrance addr.Run
}

// maxBehind bounds the entrances that are made for what is found in one place.
const maxBehind = 16

// addPointers makes ready what the places of pointers have now, the exchange being undone.
// Places that are not among the sites are left to the program.
func (st *siteTable) addPointers(c *caller, sites []*breakpoints.Site) error {
	for at, s := range st.byEntry {
		if s.entrance != 0 {
			delete(st.byEntry, at)
		}
	}
	var names []string
	for _, b := range sites {
		if !b.Pointer {
			continue
		}
		others, err := st.addPointer(c, b)
		if err != nil {
			return fmt.Errorf("%s in %s: %w", b.Function.Symbol, b.Module, err)
		}
		if others {
			names = append(names, b.Function.Symbol)
		}
	}
	if len(names) > 0 {
		st.p.message("probe: the program has replaced %s by other functions: these are followed from now on, and the calls they make are not events", strings.Join(names, ", "))
	}
	return nil
}

// addPointer makes ready what a place has now. others tells that it had something else.
func (st *siteTable) addPointer(c *caller, b *breakpoints.Site) (others bool, err error) {
	to, err := st.word(b.Addr)
	if err != nil {
		return false, err
	}
	to = st.origin(b.Addr, to)
	if s := st.behind[pointed{b.Addr, to}]; s != nil {
		st.byEntry[b.Addr] = s
		return false, nil
	}
	n := 0
	for at := range st.behind {
		if at.place == b.Addr {
			n++
		}
	}
	if n == maxBehind {
		return false, nil // the program continues replacing it
	}
	index, ok := st.freeIndex()
	if !ok {
		return false, fmt.Errorf("more than %d allocator functions", maxSites)
	}
	i, err := st.p.islands.near(c, b.In)
	if err != nil {
		return false, err
	}
	s := pointerSite(b)
	s.index, s.bit = index, st.nextBit(b.Function)
	s.patched = patched{module: b.In, entry: b.Addr, island: i, found: to}
	if err := st.build(s); err != nil {
		return false, err
	}
	st.enter(s)
	st.behind[pointed{b.Addr, to}] = s
	return n > 0, nil
}

// pointerSite is the site of a pointer. The core has short ways for a size or a block that is the
// first argument: if it is the second, the thunk swaps the two, and the function's own are swapped
// again.
func pointerSite(b *breakpoints.Site) *site {
	s := &site{Site: b}
	first := breakpoints.Operand{From: breakpoints.Argument}
	second := breakpoints.Operand{From: breakpoints.Argument, Index: 1}
	fn := b.Function
	switch {
	case fn.Kind == capture.Free && fn.Ptr == second && fn.Size.From == breakpoints.Nowhere:
		fn.Ptr = first
	case fn.Kind == capture.Alloc && fn.Size == second && !longRecords(fn):
		fn.Size = first
	default:
		return s
	}
	swapped := *b
	swapped.Function = fn
	return &site{Site: &swapped, swapped: true}
}

// code is the entry point of the site's function: its address is the pointer's, if it is called by
// one.
func (s *site) code() addr.Run {
	if s.entrance != 0 {
		return s.found
	}
	return s.Addr
}

// swapArguments is xchg %rsi,%rdi.
var swapArguments = []byte{0x48, 0x87, 0xf7}

// entranceSize is the size of jmp *2(%rip), the padding and the target.
const entranceSize = 16

// build writes the entrance of a site, which leads to the function itself for now, and what
// represents its moved instructions: a jump to the function.
func (st *siteTable) build(s *site) error {
	at := s.island.next()
	w := &writer{at: at}
	w.bytes(0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc)
	w.imm64(uint64(s.found))
	s.entrance, s.relocated = at, w.here()
	if s.swapped {
		w.bytes(swapArguments...)
	}
	w.far(s.found)
	if _, err := s.island.take(len(w.code)); err != nil {
		return err
	}
	if _, err := st.p.proc.WriteAt(w.code, int64(at)); err != nil {
		return err
	}
	entry := st.p.tables.rules.ID(frameRow{cfa: 8}.rule())
	s.island.note(at, entry)
	s.island.note(at+addr.Run(len(w.code)), cfi.NoCFIID)
	return nil
}

// admit has the entrance of a site lead to its thunk.
func (st *siteTable) admit(s *site, thunk addr.Run) error {
	s.thunk = thunk
	_, err := st.p.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(thunk)), int64(s.entrance)+entranceSize-8)
	return err
}

// word is a pointer of the inferior.
func (st *siteTable) word(at addr.Run) (addr.Run, error) {
	v, err := addr.ReadWord(st.p.proc, at)
	return addr.Run(v), err
}

// origin is what an entrance represents that a place has, or else the pointer itself.
func (st *siteTable) origin(place, to addr.Run) addr.Run {
	for at, s := range st.behind {
		if at.place == place && s.entrance == to {
			return at.to
		}
	}
	return to
}

// exchange has the places point to entrances. What is in one for which there is none is left alone.
func (st *siteTable) exchange() error {
	for _, s := range st.list {
		if s.entrance == 0 || s.dead || st.byEntry[s.Addr] != s || s.patch != nil && s.patch.Intact() {
			continue
		}
		if err := s.lift(); err != nil {
			return err
		}
		to, err := st.word(s.Addr)
		if err != nil {
			continue // its module is being unmapped
		}
		if st.origin(s.Addr, to) != s.found {
			continue
		}
		if to != s.found { // put back by who had kept it
			if err := st.restore(s.Addr, s.found); err != nil {
				return err
			}
		}
		if s.patch, err = st.p.proc.PatchWord(s.Addr, uint64(s.entrance)); err != nil {
			return fmt.Errorf("%s in %s: %w", s.Function.Symbol, s.Module, err)
		}
	}
	return nil
}

// putBack takes entrances out of places where the program has put them back itself.
func (st *siteTable) putBack() error {
	var errs []error
	for at := range st.behind {
		to, err := st.word(at.place)
		if err != nil {
			continue // its module is gone
		}
		if was := st.origin(at.place, to); was != to {
			errs = append(errs, st.restore(at.place, was))
		}
	}
	return errors.Join(errs...)
}

func (st *siteTable) restore(place, to addr.Run) error {
	_, err := st.p.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(to)), int64(place))
	return err
}

// Exchanged reports whether all pointers of the sites lead to entrances. The others have been
// replaced by the program, or were not asked for.
func (st *siteTable) Exchanged(sites []*breakpoints.Site) bool {
	return !slices.ContainsFunc(sites, func(b *breakpoints.Site) bool {
		s := st.byEntry[b.Addr]
		return b.Pointer && (s == nil || s.patch == nil || !s.patch.Intact())
	})
}

// maxKept bounds the memory that is searched for entrances which the program has kept, in
// bytes.
const maxKept = 64 << 20

// kept reports whether the program may have kept an entrance of pointers: one of the places has
// something that the probe has not found there, or there is a word of data that is an entrance. All
// threads must be stopped; their stacks are for MayReach.
func (l *leftover) kept(p *inferior.Process) bool {
	if len(l.pointers) == 0 {
		return false
	}
	for _, at := range l.pointers {
		now, err := addr.ReadWord(p, at.place)
		if err == nil && !slices.ContainsFunc(l.pointers, func(x exchanged) bool { return x.place == at.place && x.to == addr.Run(now) }) {
			return true
		}
	}
	maps, err := p.Maps()
	if err != nil {
		return true
	}
	left, file := maxKept, false
	var end addr.Run
	for _, m := range maps {
		// The variables of modules, those behind their files included, and the heap.
		file = strings.HasPrefix(m.Path, "/") && !strings.HasPrefix(m.Path, "/memfd:") || m.Path == "[heap]" || m.Path == "" && file && m.Low == end
		end = m.High
		if !file || m.Perm[1] != 'w' {
			continue
		}
		if left -= int(min(m.High-m.Low, maxKept+1)); left < 0 {
			return true
		}
		b := make([]byte, m.High-m.Low)
		n, _ := p.ReadAt(b, int64(m.Low)) // as much as is there
		for b = b[:n&^7]; len(b) > 0; b = b[8:] {
			at := addr.Run(binary.LittleEndian.Uint64(b))
			if at%16 == 0 && l.covers(at) && slices.ContainsFunc(l.pointers, func(x exchanged) bool { return x.entrance == at }) {
				return true
			}
		}
	}
	return false
}
