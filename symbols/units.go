package symbols

import (
	"fmt"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// DWARF is the debugging information of a file, read when it is first asked for:
// units, scopes, types and call sites.
type DWARF struct {
	file   *File
	symtab *Symtab

	once sync.Once
	info *debugInfo
	err  error
}

// read reads the headers, once; nil without DWARF. An error goes with what could be
// read.
func (d *DWARF) read() (*debugInfo, error) {
	d.once.Do(func() { d.info, d.err = d.load() })
	return d.info, d.err
}

func (d *DWARF) load() (*debugInfo, error) {
	f := d.file.elf
	d.file.fetch()
	if debug := d.file.debugFile(); debug != nil {
		f = debug
	}
	sections, err := dwarfSections(f, d.file.cfg.Cache)
	if err != nil || len(sections.Info) == 0 {
		return nil, err
	}
	var alt *dwarf.Data
	if a := d.file.altFile(); a != nil {
		altSections, err := dwarfSections(a, d.file.cfg.Cache)
		if err != nil {
			return nil, err
		}
		alt = dwarf.New(altSections, nil)
	}
	info, err := newDebugInfo(dwarf.New(sections, alt), alt, d.file.elf.ExecRanges())
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Path, err)
	}
	info.linkage, info.exported = d.symtab.mangledAt, d.symtab.exportedAt
	info.split = newSplitFiles(d.file.elf, f, d.file.cfg)
	return info, err
}

// UnitAt is the unit with code at a, nil without.
func (d *DWARF) UnitAt(a addr.File) (u *dwarf.Unit) {
	elf.Guard(func() {
		if dw, unit := d.dwarfAt(a); dw != nil {
			u = dw.body(unit)
		}
	})
	return u
}

// dwarfAt is the object's DWARF and the number of the unit with code at a; nil where no
// unit has any. It is called in guard.
func (d *DWARF) dwarfAt(a addr.File) (*debugInfo, int) {
	dw, _ := d.read()
	if dw == nil {
		return nil, -1
	}
	unit := dw.unitAt(uint64(a))
	if unit < 0 {
		return nil, -1
	}
	return dw, unit
}

// Units lists the units of the object's DWARF.
func (d *DWARF) Units() (units []*dwarf.Unit) {
	elf.Guard(func() {
		if dw, _ := d.read(); dw != nil {
			units = dw.bodies()
		}
	})
	return units
}

// Qualified puts the names of the namespaces and types around e before name.
func (d *DWARF) Qualified(e dwarf.DIE, name string) string {
	elf.Guard(func() {
		if dw, _ := d.read(); dw != nil && e.Unit != nil {
			name = dw.enclosures(e.Unit).Qualify(e, name)
		}
	})
	return name
}

// LocSections are the location lists of the object's DWARF. Split units have their own.
func (d *DWARF) LocSections() dwarf.LocSections {
	var s dwarf.LocSections
	s.Loc, _, _ = d.file.Section(".debug_loc")
	s.LocLists, _, _ = d.file.Section(".debug_loclists")
	return s
}

// UnitInfo is what a unit of DWARF says of how its source was compiled.
type UnitInfo struct {
	Name     string // as the compiler was given it
	CompDir  string // where the compiler ran
	Producer string // the compiler and its flags
	Version  int    // of DWARF
	Language Language
}

// UnitInfoAt describes the unit with code at a.
func (d *DWARF) UnitInfoAt(a addr.File) (UnitInfo, bool) {
	u := d.UnitAt(a)
	if u == nil {
		return UnitInfo{}, false
	}
	info := UnitInfo{Version: u.Version}
	elf.Guard(func() {
		it := u.Root().Attrs()
		for it.Next() {
			switch it.At {
			case dwarf.AtName:
				info.Name = string(it.Value.Str())
			case dwarf.AtCompDir:
				info.CompDir = string(it.Value.Str())
			case dwarf.AtProducer:
				info.Producer = string(it.Value.Str())
			case dwarf.AtLanguage:
				info.Language = Language(it.Value.Uint())
			}
		}
	})
	return info, true
}

// Unit tells the addresses whose tables Forget drops apart: it is the number of the
// unit with the code at a, -1 without.
func (d *DWARF) Unit(a addr.File) int {
	unit := -1
	elf.Guard(func() {
		if dw, _ := d.read(); dw != nil {
			unit = dw.unitAt(uint64(a))
		}
	})
	return unit
}

// Forget drops the line tables, functions and names that were derived from DWARF, for
// those who read a large file once, from its beginning to its end: what is asked for
// again is derived again. No other method may run at the same time.
func (d *DWARF) Forget() { d.info.forget() }
