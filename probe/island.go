package probe

import (
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/unwind"

	"golang.org/x/sys/unix"
)

// islands are the pieces of memory near modules that hold code of ours: thunks, and the
// first instructions of functions that were moved there.
type islands struct {
	p      *Probe
	list   []*island
	framed []framed // pieces of code whose frames exceptions may pass
}

// An island is memory for code near the modules that it serves: a jump over an allocator's first
// instructions reaches 2 GiB. Its code is never changed or freed, because a thread may be in it or
// return there; the target of a moved instruction's jump may change, see turnable.
type island struct {
	base addr.Run
	used uint64
	rows []islandRow // ascending

	// What unwinding did with the number of first rows given.
	cfi     *unwind.Table
	cfiRows int
}

// An islandRow says how to unwind from an address on.
type islandRow struct {
	at addr.Run
	id uint16
}

const (
	islandSize = 1 << 20
	reach      = 1<<31 - islandSize - 1<<12
	aside      = 1 << 30
)

// next is where take would set bytes aside.
func (i *island) next() addr.Run { return i.base + addr.Run((i.used+15)&^15) }

// hasRoom reports whether the code of one more function fits, whatever it is.
func (i *island) hasRoom() bool { return i.used < islandSize-4*maxThunk }

var errFull = errors.New("the probe's code area is full")

var errNoGap = errors.New("no free addresses within 2 GiB of it")

// near reports whether code at a can jump anywhere into the island and back.
func (i *island) near(low, high addr.Run) bool {
	return i.base+islandSize < low+reach && high < i.base+reach
}

func (i *island) covers(a addr.Run) bool { return i.base <= a && a < i.base+islandSize }

// take sets n bytes aside, aligned to 16.
func (i *island) take(n int) (addr.Run, error) {
	at := (i.used + 15) &^ 15
	if at+uint64(n) > islandSize {
		return 0, errFull
	}
	i.used = at + uint64(n)
	return i.base + addr.Run(at), nil
}

// note adds a row; addresses ascend.
func (i *island) note(at addr.Run, id uint16) {
	if n := len(i.rows); n > 0 && i.rows[n-1].id == id {
		return
	}
	i.rows = append(i.rows, islandRow{at, id})
}

// table is the walker's table of the island.
func (i *island) table() *cfi.Table {
	t := &cfi.Table{Low: addr.File(i.base), Offs: []uint32{0}, IDs: []uint16{cfi.NoCFIID}}
	for _, r := range i.rows {
		off := uint32(r.at - i.base)
		if off == 0 {
			t.IDs[0] = r.id
			continue
		}
		t.Offs, t.IDs = append(t.Offs, off), append(t.IDs, r.id)
	}
	return t
}

// newIsland maps one where both ends of [low, high) are near.
func newIsland(p *inferior.Process, c *caller, low, high addr.Run) (*island, error) {
	if c.t.Confined() { // since Inject
		return nil, errConfined
	}
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	places := gaps(maps, low, high)
	if p.IsGo() {
		places = append(apart(maps, high), places...)
	}
	for _, at := range places {
		const fixedNoReplace = 0x100000 // MAP_FIXED_NOREPLACE; older kernels take the address for a hint
		got, err := c.mmap("code", uint64(at), islandSize, unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|fixedNoReplace, noFD, 0)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if i := (&island{base: got}); i.near(low, high) {
			return i, nil
		}
	}
	return nil, fmt.Errorf("code near %v: %w", low, errNoGap)
}

// apart is a place a GiB above a Go program that is not position independent. It begins at
// 4 MiB: the addresses below look like numbers, of which stacks are full. It has no break that
// grows.
func apart(maps []inferior.Mapping, high addr.Run) []addr.Run {
	at := (high + aside) &^ 0xfff
	taken := func(m inferior.Mapping) bool { return m.Low < at+islandSize && at < m.High }
	if high > reach-aside || slices.ContainsFunc(maps, taken) {
		return nil
	}
	return []addr.Run{at}
}

// gaps are places for an island that reach all of [low, high), nearest first:
// below it, then above.
func gaps(maps []inferior.Mapping, low, high addr.Run) []addr.Run {
	const lowest, highest = 1 << 16, 1<<47 - 1<<20
	fits := func(at addr.Run) bool { return (&island{base: at}).near(low, high) }
	var below, above []addr.Run
	free := addr.Run(lowest)
	for _, m := range append(maps, inferior.Mapping{Low: highest, High: highest}) {
		if m.Low > highest {
			break
		}
		if m.Low >= free+islandSize {
			if at := (m.Low - islandSize) &^ 0xfff; m.Low <= low && fits(at) {
				below = append([]addr.Run{at}, below...)
				// A GiB further down, if it is free: the kernel puts the next
				// library where it would without the probe.
				if far := at - aside; at > aside && far >= free && fits(far) {
					below = append([]addr.Run{far}, below...)
				}
			}
			if free >= high && fits(free) {
				above = append(above, free)
			}
		}
		free = max(free, m.High)
	}
	return append(below, above...)
}

// island is one near the module; it is made if there is none.
func (is *islands) near(c *caller, m inferior.Module) (*island, error) {
	for _, i := range is.list {
		if i.near(m.Low, m.High) && i.hasRoom() {
			return i, nil
		}
	}
	i, err := newIsland(is.p.proc, c, m.Low, m.High)
	if err != nil {
		return nil, err
	}
	// For the inferior's unwinder: it meets the return addresses of quick
	// thunks only, where the CFA is always at rsp+16.
	section, fde := frameMap{0: {cfa: 16}}.ehFrame(i.base, islandSize)
	at, err := i.take(len(section))
	if err != nil {
		return nil, err
	}
	if _, err := is.p.proc.WriteAt(section, int64(at)); err != nil {
		return nil, err
	}
	is.p.reader.mu.Lock()
	is.list, is.p.reader.stacks.noIslands = append(is.list, i), span{}
	is.p.reader.mu.Unlock()
	if err := is.p.describe(is.p.footprint()); err != nil {
		return nil, err
	}
	is.framed = append(is.framed, framed{i.base, i.base + islandSize, at + addr.Run(fde)})
	for _, f := range is.p.finders.list {
		f.jump = nil // their answers have changed
	}
	return i, nil
}

// ModuleAt is how hdb's own unwinder finds its way through the probe's code.
func (is *islands) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	if pc >= is.p.remote.core && pc < is.p.remote.core+maxCore {
		return is.p.coreCFI, 0, true
	}
	for _, i := range is.list {
		if !i.covers(pc) {
			continue
		}
		if i.cfiRows != len(i.rows) {
			t, err := i.unwinding(is.p.tables.rules.List())
			if err != nil {
				is.p.message("probe: unwinding of its own code: %v", err)
			}
			i.cfi, i.cfiRows = t, len(i.rows)
		}
		return i.cfi, 0, i.cfi != nil
	}
	return nil, 0, false
}

// Owns reports whether the mapping that begins at low is the probe's.
func (is *islands) Owns(low addr.Run) bool {
	place := is.p.remote.state
	return place <= low && low < place+placeSize || is.p.blocks.owns(low) || slices.ContainsFunc(is.list, func(i *island) bool { return i.covers(low) })
}

// Covers reports whether an address is the probe's own.
func (is *islands) Covers(a addr.Run) bool {
	if a >= is.p.remote.core && a < is.p.remote.core+maxCore {
		return true
	}
	return slices.ContainsFunc(is.list, func(i *island) bool { return i.covers(a) })
}
