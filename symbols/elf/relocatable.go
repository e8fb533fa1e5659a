package elf

import (
	delf "debug/elf"
	"encoding/binary"

	"hdb/internal/addr"
)

// Sizes of what a linked copy has (System V gABI, "Object Files").
const (
	phdrSize = 56 // Elf64_Phdr
	shdrSize = 64 // Elf64_Shdr
)

// RelaSize is the size of an Elf64_Rela.
const RelaSize = 24

const (
	// relocatableBase is where the first section of a relocatable file is put: not
	// at 0, which is the address of functions that a linker left out.
	relocatableBase = 1 << 16
	// maxLinked bounds the segments of a linked copy, whose count has 16 bits.
	maxLinked = 1<<16 - 2
)

// Linked returns a relocatable file (ET_REL) as it would be if a linker had put each
// section that is loaded at an address of its own: symbols and debug information have
// addresses, and there is a segment for each section of code. Sections lie where
// their headers say, as in images of JIT compilers, or else in their order from
// relocatableBase on, so that a file and its debug file agree. Relocations of unknown
// types are left out. A file of another type is returned as it is; a copy has no ID, and
// ends with its own Close.
func (f *File) Linked() (*File, error) {
	if f.Type != delf.ET_REL {
		return f, nil
	}
	l := linker{f: f, out: append([]byte(nil), f.data...)}
	l.place()
	l.inflate()
	l.symbols()
	l.relocations()
	l.segments()
	linked, err := parse(f.Path, l.out)
	if err != nil {
		return nil, err
	}
	linked.Type, linked.Owner = delf.ET_REL, f.Owner
	linked.close = func() error { return nil }
	return linked, nil
}

// linker makes the copy.
type linker struct {
	f     *File
	out   []byte
	addrs []addr.File // of the sections
	fixed bool        // they are the headers'
}

// header is the section header i in the copy, nil when it does not are in the file.
func (l *linker) header(i int) []byte {
	le := binary.LittleEndian
	off, size := le.Uint64(l.out[40:]), uint64(le.Uint16(l.out[58:]))
	at := off + uint64(i)*size
	if size < shdrSize || at < off || at > uint64(len(l.out)) || uint64(len(l.out))-at < shdrSize {
		return nil
	}
	return l.out[at:][:shdrSize]
}

// place gives each section that is loaded an address.
func (l *linker) place() {
	l.addrs = make([]addr.File, len(l.f.Sections))
	for i := range l.f.Sections {
		s := &l.f.Sections[i]
		l.addrs[i] = s.Addr
		l.fixed = l.fixed || s.Alloc() && s.Addr != 0
	}
	if l.fixed {
		return
	}
	next := addr.File(relocatableBase)
	for i := range l.f.Sections {
		s, h := &l.f.Sections[i], l.header(i)
		if !s.Alloc() || s.Flags&delf.SHF_TLS != 0 || h == nil || s.Size > maxImage {
			continue
		}
		align := addr.File(binary.LittleEndian.Uint64(h[48:]))
		if align == 0 || align&(align-1) != 0 || align > 1<<16 {
			align = 1
		}
		next = (next + align - 1) &^ (align - 1)
		l.addrs[i] = next
		binary.LittleEndian.PutUint64(h[16:], uint64(next))
		next += addr.File(s.Size) + 16 // the address behind a section is no other's
	}
}

// inflate puts sections that are compressed and have relocations at the end, as they
// are without.
func (l *linker) inflate() {
	le := binary.LittleEndian
	for i := range l.f.Sections {
		rel := &l.f.Sections[i]
		if rel.Type != delf.SHT_RELA || int(rel.Info) >= len(l.f.Sections) {
			continue
		}
		target, h := &l.f.Sections[rel.Info], l.header(int(rel.Info))
		if target.Flags&delf.SHF_COMPRESSED == 0 || h == nil || le.Uint64(h[8:])&uint64(delf.SHF_COMPRESSED) == 0 {
			continue
		}
		data, err := l.f.Contents(int(rel.Info))
		if err != nil || len(l.out)+len(data) > maxImage {
			continue // it stays unreadable, or as it was
		}
		le.PutUint64(h[8:], uint64(target.Flags&^delf.SHF_COMPRESSED))
		le.PutUint64(h[24:], uint64(len(l.out)))
		le.PutUint64(h[32:], uint64(len(data)))
		l.out = append(l.out, data...)
	}
}

// symbols adds the addresses of their sections to symbols, whose values in a
// relocatable file are offsets in these.
func (l *linker) symbols() {
	le := binary.LittleEndian
	for i := range l.f.Sections {
		s := &l.f.Sections[i]
		if s.Type != delf.SHT_SYMTAB || !within(l.out, s.Off, s.Size) {
			continue
		}
		for b := l.out[s.Off:][:s.Size]; len(b) >= symSize; b = b[symSize:] {
			if n := int(le.Uint16(b[6:])); n < len(l.addrs) {
				le.PutUint64(b[8:], le.Uint64(b[8:])+uint64(l.addrs[n]))
			}
		}
	}
}

// relocations applies those of debug information and of CFI.
func (l *linker) relocations() {
	le := binary.LittleEndian
	syms, err := l.f.Symtab()
	if err != nil {
		return
	}
	left := len(l.f.data) // of relocations: those of a made up file overlap
	for i := range l.f.Sections {
		rel := &l.f.Sections[i]
		if rel.Type != delf.SHT_RELA || int(rel.Info) >= len(l.f.Sections) || !within(l.f.data, rel.Off, rel.Size) {
			continue
		}
		target, h := &l.f.Sections[rel.Info], l.header(int(rel.Info))
		if target.Alloc() && (l.fixed || target.Name != ".eh_frame") || target.Type == delf.SHT_NOBITS || h == nil {
			continue // in place already, or code, which only disassembly reads
		}
		off, size := le.Uint64(h[24:]), le.Uint64(h[32:]) // of what inflate moved, too
		if !within(l.out, off, size) || le.Uint64(h[8:])&uint64(delf.SHF_COMPRESSED) != 0 {
			continue
		}
		if left -= int(rel.Size); left < 0 {
			return
		}
		to := l.out[off:][:size]
		for b := l.f.data[rel.Off:][:rel.Size]; len(b) >= RelaSize; b = b[RelaSize:] {
			l.relocate(to, l.addrs[rel.Info], b, syms)
		}
	}
}

// relocate applies one Elf64_Rela (System V ABI for x86-64, section 4.4) to a section that is at
// base.
func (l *linker) relocate(to []byte, base addr.File, rela []byte, syms *Table) {
	le := binary.LittleEndian
	at, info, v := le.Uint64(rela), le.Uint64(rela[8:]), le.Uint64(rela[16:])
	if n := info >> 32; n > 0 { // 0 is no symbol
		if n >= uint64(syms.Len()) {
			return
		}
		value, _, section := syms.Place(int(n))
		v += uint64(value)
		if section < len(l.addrs) {
			v += uint64(l.addrs[section]) // 0 of sections that are not loaded
		}
	}
	kind := delf.R_X86_64(info & 0xffffffff)
	switch kind {
	case delf.R_X86_64_PC32, delf.R_X86_64_PC64:
		v -= uint64(base) + at
	}
	switch kind {
	case delf.R_X86_64_64, delf.R_X86_64_PC64:
		if within(to, at, 8) {
			le.PutUint64(to[at:], v)
		}
	case delf.R_X86_64_32, delf.R_X86_64_32S, delf.R_X86_64_PC32:
		if within(to, at, 4) {
			le.PutUint32(to[at:], uint32(v))
		}
	}
}

// segments appends a program header for each section of code, as what is mapped is
// found by these.
func (l *linker) segments() {
	le := binary.LittleEndian
	phoff, count := uint64(len(l.out)), 0
	for i := range l.f.Sections {
		s := &l.f.Sections[i]
		if s.Flags&delf.SHF_EXECINSTR == 0 || l.addrs[i] == 0 || s.Size == 0 || count == maxLinked {
			continue
		}
		var p [phdrSize]byte
		le.PutUint32(p[0:], uint32(delf.PT_LOAD))
		le.PutUint32(p[4:], uint32(delf.PF_R|delf.PF_X))
		for k, v := range []uint64{s.Off, uint64(l.addrs[i]), uint64(l.addrs[i]), s.Size, s.Size, 1} {
			le.PutUint64(p[8+8*k:], v)
		}
		l.out = append(l.out, p[:]...)
		count++
	}
	le.PutUint64(l.out[32:], phoff)
	le.PutUint16(l.out[54:], phdrSize)
	le.PutUint16(l.out[56:], uint16(count))
}

// within reports whether size bytes at off are in b.
func within(b []byte, off, size uint64) bool {
	return off <= uint64(len(b)) && size <= uint64(len(b))-off
}
