package elf

import (
	delf "debug/elf"
	"encoding/binary"
)

// readVersions reads the names of version indexes from .gnu.version_d and
// .gnu.version_r (Linux Standard Base, "Symbol Versioning").
func (t *Table) readVersions() {
	for i := range t.file.Sections {
		s := &t.file.Sections[i]
		data := t.file.bytes(s.Off, s.Size)
		switch s.Type {
		case delf.SHT_GNU_VERSYM:
			t.versym = data
		case delf.SHT_GNU_VERDEF:
			t.readVerdef(data)
		case delf.SHT_GNU_VERNEED:
			t.readVerneed(data)
		}
	}
}

func (t *Table) setVersion(index uint16, nameOff uint32) {
	index &= 0x7fff
	for len(t.vers) <= int(index) {
		t.vers = append(t.vers, version{})
	}
	if uint64(nameOff) < uint64(len(t.strs)) {
		rest := t.strs[nameOff:]
		t.vers[index].name = cstring(rest[:min(len(rest), 256)])
	}
}

func (t *Table) readVerdef(b []byte) {
	le := binary.LittleEndian
	for off := uint64(0); off+20 <= uint64(len(b)); {
		aux := off + uint64(le.Uint32(b[off+12:]))
		if aux+8 <= uint64(len(b)) && le.Uint16(b[off+2:])&1 == 0 { // not VER_FLG_BASE, the file's own name
			t.setVersion(le.Uint16(b[off+4:]), le.Uint32(b[aux:]))
		}
		next := uint64(le.Uint32(b[off+16:]))
		if next == 0 {
			return
		}
		off += next
	}
}

func (t *Table) readVerneed(b []byte) {
	le := binary.LittleEndian
	budget := len(b) / 16 // entries that fit: chains of a hostile file may run in circles over each other
	for off := uint64(0); off+16 <= uint64(len(b)); {
		aux := off + uint64(le.Uint32(b[off+8:]))
		for n := le.Uint16(b[off+2:]); n > 0 && aux+16 <= uint64(len(b)) && budget > 0; n-- {
			budget--
			t.setVersion(le.Uint16(b[aux+6:]), le.Uint32(b[aux+8:]))
			step := uint64(le.Uint32(b[aux+12:]))
			if step == 0 {
				break
			}
			aux += step
		}
		next := uint64(le.Uint32(b[off+12:]))
		if next == 0 {
			return
		}
		off += next
	}
}

// version is the version of entry i. Index 0 is local, 1 unversioned.
func (t *Table) version(i int) version {
	if i*2+2 > len(t.versym) {
		return version{}
	}
	v := binary.LittleEndian.Uint16(t.versym[i*2:])
	index := int(v & 0x7fff)
	if index < 2 || index >= len(t.vers) {
		return version{}
	}
	return version{name: t.vers[index].name, hidden: v&0x8000 != 0}
}
