// Package dwarf reads DWARF 2 to 5 debugging entries: unit headers,
// abbreviations, attributes, ranges. It is lazy and walks entries without
// allocating. References to "section" are to the DWARF 5 standard.
//
// A Data is safe for concurrent use. Byte slices that it returns are in the sections it was given.
// Malformed input ends a walk early or gives zero values; it never panics, and every loop consumes
// input or is bounded.
//
// A dwz or supplementary file is another Data, reached through Alt. A split unit is in the Data of
// its .dwo file, or of its part of a Package, and is linked to its skeleton, through which it finds
// addresses and lines.
package dwarf

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
)

// Sections are the contents of a file's .debug_* sections, or of the .debug_*.dwo
// ones of a file of split units; nil when absent.
type Sections struct {
	Info, Abbrev, Str, LineStr, StrOffsets, Addr, Ranges, RngLists, Line, Aranges []byte
	// Types has the type units of DWARF 4; Loc and LocLists are read for split units.
	Types, Loc, LocLists []byte
}

// Data is the DWARF of one file.
type Data struct {
	Sections
	alt   *Data
	types *Data // of .debug_types: Info is that section, the others are shared
	owner *Data // of a Data that is such types: what it belongs to

	sigsOnce sync.Once
	sigs     map[uint64]*Unit   // type units by signature
	foreign  func(uint64) *Unit // finds type units elsewhere in a Package; nil without

	unitsOnce sync.Once
	units     []*Unit
	unitsErr  error

	mu      sync.Mutex
	abbrevs map[abbrevKey]*Abbrevs

	abbrevWork *atomic.Int64 // bytes of abbreviations parsed so far, of all parts of a Package
	abbrevMax  int64
}

// maxAbbrevWork bounds how often .debug_abbrev is read: the tables of a hostile
// file overlap, so that each of its many small units reads the whole section.
// Units of real files share whole tables, and their roots come first in them.
const maxAbbrevWork = 256

// parseAbbrevs is readAbbrevs within the bound.
func (d *Data) parseAbbrevs(off uint64, f format, only uint64) (*Abbrevs, error) {
	if d.abbrevWork.Load() > d.abbrevMax {
		return nil, errors.New("abbreviation tables overlap too often")
	}
	t, n, err := readAbbrevs(d.Abbrev, off, f, only)
	d.abbrevWork.Add(int64(n))
	return t, err
}

type abbrevKey struct {
	off uint64
	f   format
}

// New wraps the sections. alt is the dwz file that they refer to, or nil.
func New(s Sections, alt *Data) *Data {
	return newData(s, alt, new(atomic.Int64), maxAbbrevWork*int64(len(s.Abbrev))+16<<20)
}

// Alt is the dwz file that the sections refer to, nil without.
func (d *Data) Alt() *Data { return d.alt }

func newData(s Sections, alt *Data, work *atomic.Int64, most int64) *Data {
	d := &Data{Sections: s, alt: alt, abbrevs: map[abbrevKey]*Abbrevs{}, abbrevWork: work, abbrevMax: most}
	if len(s.Types) > 0 {
		s.Info, s.Types, s.Aranges = s.Types, nil, nil
		d.types = newData(s, alt, work, most)
		d.types.owner = d
	}
	return d
}

// A Unit is a unit of .debug_info with its header.
type Unit struct {
	Data    *Data
	Index   int    // in Units
	Off     uint64 // of the header in .debug_info
	First   uint64 // of the first entry
	End     uint64 // of the byte after the unit
	Version int
	Type    UnitType

	f         format
	abbrevOff uint64
	id        uint64 // of a skeleton or split unit of DWARF 5; the signature of a type unit
	typeOff   uint64 // of a type unit: its type's entry, from the header
	skel      *Unit  // of a split unit, nil until Link

	err error // why nothing of the unit can be read

	rootOnce sync.Once
	root     Root
	rootDIE  DIE

	abbrevsOnce sync.Once
	abbrevs     *Abbrevs
}

// Root is what a unit says about itself in its first entry.
type Root struct {
	Tag      Tag
	Name     string
	CompDir  string
	Producer string
	Language Language
	StmtList uint64 // offset of the line program
	HasLines bool
	LowPC    uint64
	Dwo      string // DW_AT_dwo_name: the unit's entries are in that file
	DwoID    uint64 // of a skeleton and its split unit: both have the same
	HasDwoID bool

	strOffsets, addrBase, rnglists, rangesBase uint64
}

// Units lists the units in file order. Headers that do not parse end the list
// with an error; the units before them are good.
func (d *Data) Units() ([]*Unit, error) {
	if d == nil {
		return nil, nil
	}
	d.unitsOnce.Do(d.readUnits)
	return d.units, d.unitsErr
}

func (d *Data) readUnits() {
	for off := uint64(0); off < uint64(len(d.Info)); {
		u, err := d.readHeader(off)
		if err != nil {
			d.unitsErr = fmt.Errorf("unit at %#x of .debug_info: %w", off, err)
			return
		}
		u.Index = len(d.units)
		d.units = append(d.units, u)
		off = u.End
	}
}

// readHeader parses a unit header (section 7.5.1).
func (d *Data) readHeader(off uint64) (*Unit, error) {
	b := NewBuf(d.Info, off)
	length, offSize := b.InitialLength()
	if b.Bad() || length > b.Len() {
		return nil, fmt.Errorf("length %d exceeds the %d bytes left", length, b.Len())
	}
	u := &Unit{Data: d, Off: off, End: b.Off() + length, Type: UnitCompile}
	u.Version = int(b.U16())
	u.f.offSize, u.f.version = offSize, u.Version
	switch {
	case u.Version >= 2 && u.Version <= 4:
		u.abbrevOff = b.Uint(offSize)
		u.f.addrSize = int(b.U8())
		if d.owner != nil {
			u.Type, u.id, u.typeOff = UnitTypes, b.U64(), b.Uint(offSize)
		}
	case u.Version == 5:
		u.Type = UnitType(b.U8())
		u.f.addrSize = int(b.U8())
		u.abbrevOff = b.Uint(offSize)
		switch u.Type {
		case UnitSkeleton, UnitSplitCompile:
			u.id = b.U64()
		case UnitTypes, UnitSplitTypes:
			u.id, u.typeOff = b.U64(), b.Uint(offSize)
		}
	default:
		u.First = u.End // its length is known, so the next unit is found: nothing of this one is read
		u.err = fmt.Errorf("DWARF version %d is unknown", u.Version)
		return u, nil
	}
	u.First = b.Off()
	if b.Bad() || u.First > u.End {
		return nil, fmt.Errorf("header runs past the unit's %d bytes", length)
	}
	if u.f.addrSize != 8 && u.f.addrSize != 4 {
		u.err = fmt.Errorf("addresses of %d bytes", u.f.addrSize)
	}
	return u, nil
}

// UnitAt is the unit that contains the entry at off.
func (d *Data) UnitAt(off uint64) *Unit {
	units, _ := d.Units()
	i := sort.Search(len(units), func(i int) bool { return units[i].End > off })
	if i < len(units) && units[i].First <= off {
		return units[i]
	}
	return nil
}

var errUnread = errors.New("unit could not be read")

// Load reads the root entry; later calls are free.
func (u *Unit) Load() (*Root, error) {
	u.rootOnce.Do(func() {
		if u.err == nil {
			u.err = errUnread // what stays when the file is cut meanwhile
			u.err = u.load()
		}
	})
	return &u.root, u.err
}

// Abbrevs are the unit's abbreviations; nil when they or the root are malformed.
func (u *Unit) Abbrevs() *Abbrevs {
	u.abbrevsOnce.Do(func() {
		if _, err := u.Load(); err == nil {
			u.abbrevs, _ = u.Data.abbrevTable(u.abbrevOff, u.f)
		}
	})
	return u.abbrevs
}

// load reads the root entry with its abbreviation alone: an index over all units
// needs no more, and the tables are long.
func (u *Unit) load() error {
	b := NewBuf(u.Data.Info[:u.End], u.First)
	code := b.Uleb()
	if code == 0 || b.Bad() {
		return fmt.Errorf("unit at %#x has no entries", u.Off)
	}
	table, err := u.Data.parseAbbrevs(u.abbrevOff, u.f, code)
	if err != nil {
		return err
	}
	ab := table.get(code)
	if ab == nil {
		return fmt.Errorf("unit at %#x: abbreviation %d of its root is missing", u.Off, code)
	}
	die := DIE{Unit: u, Off: u.First, ab: ab, data: b.Off()}
	u.rootDIE = die
	r := &u.root
	r.Tag = die.Tag()
	r.strOffsets, r.addrBase, r.rnglists = u.defaultBases()
	// The bases come first: they may be behind the attributes that need them.
	it := die.Attrs()
	for it.Next() {
		switch it.At {
		case AtStrOffsetsBase:
			r.strOffsets = it.Value.Uint()
		case AtAddrBase, AtGNUAddrBase:
			r.addrBase = it.Value.Uint()
		case AtRnglistsBase:
			r.rnglists = it.Value.Uint()
		case AtGNURangesBase:
			r.rangesBase = it.Value.Uint()
		}
	}
	if u.Type == UnitSkeleton || u.Type == UnitSplitCompile {
		r.DwoID, r.HasDwoID = u.id, true
	}
	it = die.Attrs()
	for it.Next() {
		switch it.At {
		case AtName:
			r.Name = string(it.Value.Str())
		case AtCompDir:
			r.CompDir = string(it.Value.Str())
		case AtProducer:
			r.Producer = string(it.Value.Str())
		case AtLanguage:
			r.Language = Language(it.Value.Uint())
		case AtStmtList:
			r.StmtList, r.HasLines = it.Value.Uint(), true
		case AtLowPC:
			r.LowPC, _ = it.Value.Addr()
		case AtDwoName, AtGNUDwoName:
			r.Dwo = string(it.Value.Str())
		case AtGNUDwoID:
			r.DwoID, r.HasDwoID = it.Value.Uint(), true
		}
	}
	return nil
}

// defaultBases are where the tables of a unit begin when it does not say: after
// the header of the first table (split units, and producers that omit the base).
func (u *Unit) defaultBases() (strOffsets, addr, rnglists uint64) {
	if u.Version < 5 {
		return 0, 0, 0
	}
	if u.f.offSize == 8 {
		return 16, 16, 20
	}
	return 8, 8, 12
}

func (d *Data) abbrevTable(off uint64, f format) (*Abbrevs, error) {
	key := abbrevKey{off, f}
	d.mu.Lock()
	t, ok := d.abbrevs[key]
	d.mu.Unlock()
	if ok {
		return t, nil
	}
	t, err := d.parseAbbrevs(off, f, 0)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.abbrevs[key] = t
	return t, nil
}

// maxString bounds names and paths: entries of a hostile file can share one huge
// string. The longest names of real programs, of C++ templates, stay below it.
const maxString = 1 << 16

// cstringAt is the zero-terminated string at off, not copied; nil when it is too
// long to be one.
func cstringAt(section []byte, off uint64) []byte {
	if off >= uint64(len(section)) {
		return nil
	}
	s := section[off:min(off+maxString, uint64(len(section)))]
	if end := bytes.IndexByte(s, 0); end >= 0 {
		return s[:end]
	}
	return nil
}
