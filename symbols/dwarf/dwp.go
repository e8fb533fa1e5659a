package dwarf

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A Package is a .dwp file: the .dwo files of a program in one, with indexes of
// where the parts of each unit lie (DWARF 5 section 7.3.5, and GNU's version 2 of
// it for DWARF 4).
type Package struct {
	s      Sections
	cu, tu unitIndex

	mu     sync.Mutex
	units  map[uint64]*Unit // compilation units that were asked for, nil for bad ones
	types  map[uint64]*Unit
	read   uint64 // bytes of the parts of .debug_info and .debug_types read so far
	abbrev *atomic.Int64
}

// NewPackage wraps the .debug_*.dwo sections and the indexes, .debug_cu_index and
// .debug_tu_index, of which the second may be absent.
func NewPackage(s Sections, cuIndex, tuIndex []byte) (*Package, error) {
	p := &Package{s: s, units: map[uint64]*Unit{}, types: map[uint64]*Unit{}, abbrev: new(atomic.Int64)}
	var errs [2]error
	p.cu, errs[0] = readIndex(cuIndex)
	if len(tuIndex) > 0 {
		p.tu, errs[1] = readIndex(tuIndex)
	}
	if errs[0] != nil {
		return nil, fmt.Errorf(".debug_cu_index: %w", errs[0])
	}
	if errs[1] != nil {
		return nil, fmt.Errorf(".debug_tu_index: %w", errs[1])
	}
	return p, nil
}

// Has reports whether the index lists a compilation unit of that id.
func (p *Package) Has(id uint64) bool {
	_, ok := p.cu.row(id)
	return ok
}

// Unit is the split unit of the skeleton, linked to it; nil when it is not in the
// package, is not what the index says, or is another skeleton's of the same id.
func (p *Package) Unit(skeleton *Unit) *Unit {
	root, err := skeleton.Load()
	if err != nil || !root.HasDwoID {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u, known := p.units[root.DwoID]
	if !known {
		p.units[root.DwoID] = nil // what stays when the file is cut meanwhile
		u = p.readUnit(root.DwoID, skeleton)
		p.units[root.DwoID] = u
	}
	if u == nil || u.skel != skeleton {
		return nil
	}
	return u
}

func (p *Package) readUnit(id uint64, skeleton *Unit) *Unit {
	row, ok := p.cu.row(id)
	if !ok {
		return nil
	}
	d := p.part(&p.cu, row)
	if d == nil {
		return nil
	}
	return d.LinkSplit(map[uint64]*Unit{id: skeleton})[id]
}

// typeUnit is the type unit of that signature, nil without.
func (p *Package) typeUnit(signature uint64) *Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u, known := p.types[signature]; known {
		return u
	}
	row, ok := p.tu.row(signature)
	if !ok {
		return nil
	}
	p.types[signature] = nil
	d := p.part(&p.tu, row)
	if d == nil {
		return nil
	}
	for _, part := range []*Data{d, d.types} {
		units, _ := part.Units()
		for _, u := range units {
			if (u.Type == UnitTypes || u.Type == UnitSplitTypes) && u.id == signature {
				p.types[signature] = u
				return u
			}
		}
	}
	return nil
}

// part is the Data of a row: each section cut to what the row says. The parts of
// a good package do not overlap, which bounds what is read of a hostile one.
func (p *Package) part(x *unitIndex, row uint64) *Data {
	s := Sections{Str: p.s.Str, LineStr: p.s.LineStr}
	good := true
	cut := func(section []byte, id int) []byte {
		off, size := x.contribution(row, id)
		if off+size > uint64(len(section)) {
			good = false
			return nil
		}
		return section[off:][:size:size]
	}
	s.Info, s.Abbrev = cut(p.s.Info, sectInfo), cut(p.s.Abbrev, sectAbbrev)
	s.Line, s.StrOffsets = cut(p.s.Line, sectLine), cut(p.s.StrOffsets, sectStrOffsets)
	if x.version == 5 {
		s.LocLists, s.RngLists = cut(p.s.LocLists, sectLoc), cut(p.s.RngLists, sectRngLists)
	} else {
		s.Types, s.Loc = cut(p.s.Types, sectTypes), cut(p.s.Loc, sectLoc)
	}
	p.read += uint64(len(s.Info) + len(s.Types))
	if !good || p.read > 2*uint64(len(p.s.Info)+len(p.s.Types)) {
		return nil
	}
	d := newData(s, nil, p.abbrev, maxAbbrevWork*int64(len(p.s.Abbrev))+16<<20)
	d.foreign = p.typeUnit
	return d
}

// Section identifiers of indexes. Types is of version 2, RngLists of version 5,
// where 8 is .debug_macro in version 2.
const (
	sectInfo       = 1
	sectTypes      = 2
	sectAbbrev     = 3
	sectLine       = 4
	sectLoc        = 5 // .debug_loclists in version 5
	sectStrOffsets = 6
	sectRngLists   = 8
	sectLast       = 8
)

// unitIndex is a .debug_cu_index or .debug_tu_index: a hash table from ids to rows,
// counted from 1, and a table of each row's offsets and sizes by section.
type unitIndex struct {
	version int
	slots   uint64 // a power of two, or 0
	units   uint64
	hashes  []byte // of 8 bytes
	rows    []byte // of 4 bytes
	offsets []byte // units rows of columns of 4 bytes
	sizes   []byte
	columns uint64
	column  [sectLast + 1]int // of a section, from 0; -1 without
}

var errIndex = errors.New("cut")

// readIndex parses the header and bounds the tables (section 7.3.5.3).
func readIndex(data []byte) (unitIndex, error) {
	x := unitIndex{}
	for i := range x.column {
		x.column[i] = -1
	}
	b := NewBuf(data, 0)
	// Version 2 is a number of four bytes, version 5 one of two with padding.
	if x.version = int(b.U32() & 0xffff); x.version != 2 && x.version != 5 {
		return x, fmt.Errorf("version %d is unknown", x.version)
	}
	x.columns, x.units, x.slots = uint64(b.U32()), uint64(b.U32()), uint64(b.U32())
	if x.slots&(x.slots-1) != 0 || x.slots < x.units {
		return x, fmt.Errorf("%d slots for %d units", x.slots, x.units)
	}
	if n := b.Len(); b.Bad() || x.slots > n/12 || x.columns > n/4 || x.units*x.columns > n/8 {
		return x, errIndex
	}
	x.hashes, x.rows = b.Bytes(8*x.slots), b.Bytes(4*x.slots)
	for i := range x.columns {
		if id := b.U32(); id <= sectLast && x.column[id] < 0 {
			x.column[id] = int(i)
		}
	}
	x.offsets, x.sizes = b.Bytes(4*x.units*x.columns), b.Bytes(4*x.units*x.columns)
	if b.Bad() {
		return x, errIndex
	}
	return x, nil
}

// row is the row of an id, from 0. Collisions are probed with a second hash
// (section 7.3.5.3); a table that is full ends the search after all slots.
func (x *unitIndex) row(id uint64) (uint64, bool) {
	if x.slots == 0 {
		return 0, false
	}
	mask := x.slots - 1
	slot, step := id&mask, (id>>32)&mask|1
	for range x.slots {
		h, r := NewBuf(x.hashes, 8*slot), NewBuf(x.rows, 4*slot)
		have, row := h.U64(), uint64(r.U32())
		if row == 0 && have == 0 {
			return 0, false
		}
		if have == id && row > 0 {
			return row - 1, row <= x.units
		}
		slot = (slot + step) & mask
	}
	return 0, false
}

// contribution is where a row's part of a section lies; nothing without.
func (x *unitIndex) contribution(row uint64, section int) (off, size uint64) {
	c := x.column[section]
	if c < 0 {
		return 0, 0
	}
	at := 4 * (row*x.columns + uint64(c))
	o, s := NewBuf(x.offsets, at), NewBuf(x.sizes, at)
	return uint64(o.U32()), uint64(s.U32())
}
