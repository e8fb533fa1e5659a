package symbols

import (
	delf "debug/elf"
	"encoding/binary"

	"hdb/symbols/elf"
)

const (
	phdrSize = 56 // Elf64_Phdr
	relaSize = 24 // Elf64_Rela
)

// placed is a copy of a relocatable image (ET_REL) as it would be if a linker had
// put its sections where their headers say: the DWARF in it refers to code by its
// addresses, and there is a segment for each section of code. Relocations that
// cannot be followed are left out. It is image itself when there is nothing to do.
func placed(image []byte, f *elf.File, syms *elf.Table) []byte {
	if f.Type != delf.ET_REL {
		return image
	}
	out := append([]byte(nil), image...)
	left := len(image) // of relocations: those of a made up image overlap
	for i := range f.Sections {
		rel := &f.Sections[i]
		if rel.Type != delf.SHT_RELA || int(rel.Info) >= len(f.Sections) {
			continue
		}
		target := &f.Sections[rel.Info]
		if target.Flags&(delf.SHF_ALLOC|delf.SHF_COMPRESSED) != 0 || target.Type == delf.SHT_NOBITS || !within(out, target) || !within(out, rel) {
			continue // code is in place already
		}
		if left -= int(rel.Size); left < 0 {
			break
		}
		to := out[target.Off:][:target.Size]
		for b := image[rel.Off:][:rel.Size]; len(b) >= relaSize; b = b[relaSize:] {
			relocate(to, b, f, syms)
		}
	}
	// A file with addresses has segments: they go to the end.
	binary.LittleEndian.PutUint16(out[16:], uint16(delf.ET_DYN))
	phoff := uint64(len(out))
	count := 0
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&delf.SHF_EXECINSTR == 0 || s.Addr == 0 || count == maxJITCode {
			continue
		}
		var p [phdrSize]byte
		binary.LittleEndian.PutUint32(p[0:], uint32(delf.PT_LOAD))
		binary.LittleEndian.PutUint32(p[4:], uint32(delf.PF_R|delf.PF_X))
		for k, v := range []uint64{s.Off, uint64(s.Addr), uint64(s.Addr), s.Size, s.Size, 1} {
			binary.LittleEndian.PutUint64(p[8+8*k:], v)
		}
		out = append(out, p[:]...)
		count++
	}
	binary.LittleEndian.PutUint64(out[32:], phoff)
	binary.LittleEndian.PutUint16(out[54:], phdrSize)
	binary.LittleEndian.PutUint16(out[56:], uint16(count))
	return out
}

func within(b []byte, s *elf.Section) bool {
	return s.Off <= uint64(len(b)) && s.Size <= uint64(len(b))-s.Off
}

// relocate applies one Elf64_Rela of x86-64: absolute addresses, of 8 and 4 bytes.
func relocate(to, rela []byte, f *elf.File, syms *elf.Table) {
	at := binary.LittleEndian.Uint64(rela)
	info := binary.LittleEndian.Uint64(rela[8:])
	v := binary.LittleEndian.Uint64(rela[16:])
	if n := info >> 32; n > 0 { // 0 is no symbol
		if n >= uint64(syms.Len()) {
			return
		}
		value, _, section := syms.Place(int(n))
		v += uint64(value)
		if section < len(f.Sections) {
			v += uint64(f.Sections[section].Addr) // 0 of sections that are not loaded
		}
	}
	switch delf.R_X86_64(info & 0xffffffff) {
	case delf.R_X86_64_64:
		if at <= uint64(len(to)) && uint64(len(to))-at >= 8 {
			binary.LittleEndian.PutUint64(to[at:], v)
		}
	case delf.R_X86_64_32, delf.R_X86_64_32S:
		if at <= uint64(len(to)) && uint64(len(to))-at >= 4 {
			binary.LittleEndian.PutUint32(to[at:], uint32(v))
		}
	}
}
