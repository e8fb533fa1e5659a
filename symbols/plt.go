package symbols

import (
	delf "debug/elf"
	"encoding/binary"
	"sort"
	"strings"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// pltStubs are the stubs of the procedure linkage table, found on first use.
type pltStubs struct {
	once  sync.Once
	stubs []pltStub // by address
}

// A pltStub is [at, at+size), which jumps through the slot of a relocation. Its name is
// made when it is asked for: those of a made up file would be long, and the same.
type pltStub struct {
	at   addr.File
	size uint64
	slot relocation
}

// A relocation is what an Elf64_Rela says in addition to its place.
type relocation struct{ info, addend uint64 }

// stubAt is the stub that contains a, named malloc@plt as objdump does.
func (st *Symtab) stubAt(a addr.File) (Sym, bool) {
	if !inPLT(st.file.elf, a) {
		return Sym{}, false
	}
	p := &st.stubs
	p.once.Do(func() { p.stubs = findStubs(st.file.elf) })
	i := sort.Search(len(p.stubs), func(i int) bool { return p.stubs[i].at > a }) - 1
	if i < 0 || uint64(a-p.stubs[i].at) >= p.stubs[i].size {
		return Sym{}, false
	}
	stub := &p.stubs[i]
	name := slotName(st.file.elf, stub.slot)
	if name == "" {
		return Sym{}, false
	}
	return Sym{Name: name + "@plt", Addr: stub.at, Size: stub.size, Type: elf.TypeFunc, Defined: true, Dynamic: true}, true
}

func isPLT(s *elf.Section) bool { return s.Name == ".plt" || strings.HasPrefix(s.Name, ".plt.") }

// inPLT reports whether a lies where stubs are: all others are spared finding them.
func inPLT(f *elf.File, a addr.File) bool {
	for i := range f.Sections {
		if s := &f.Sections[i]; a >= s.Addr && uint64(a-s.Addr) < s.Size && isPLT(s) {
			return true
		}
	}
	return false
}

// findStubs decodes the sections .plt, .plt.sec and .plt.got: the slot of the
// global offset table that a stub jumps through has a relocation, and that names
// the function. Stubs without a jump (the lazy halves of -z ibtplt) have no name.
// Sections of a hostile file overlap: together they are not longer than the file.
func findStubs(f *elf.File) []pltStub {
	slots := readSlots(f)
	if len(slots) == 0 {
		return nil
	}
	var stubs []pltStub
	left := f.Size()
	for i := range f.Sections {
		s := &f.Sections[i]
		if !isPLT(s) {
			continue
		}
		code, err := f.Contents(i)
		if left -= int64(len(code)); err != nil || left < 0 {
			continue
		}
		size := s.Entsize
		if size != 8 && size != 16 {
			size = 16
		}
		for off := uint64(0); off+size <= uint64(len(code)); off += size {
			at := s.Addr + addr.File(off)
			place, ok := jumpSlot(code[off:off+size], at)
			if slot, known := slots[place]; ok && known {
				stubs = append(stubs, pltStub{at, size, slot})
			}
		}
	}
	sort.Slice(stubs, func(i, j int) bool { return stubs[i].at < stubs[j].at })
	return stubs
}

// jumpSlot finds jmp *disp(%rip) at the front of a stub, after an endbr64 or a
// bnd prefix.
func jumpSlot(code []byte, at addr.File) (addr.File, bool) {
	for i := 0; i+6 <= len(code) && i <= 5; i++ {
		if code[i] == 0xff && code[i+1] == 0x25 {
			disp := int32(binary.LittleEndian.Uint32(code[i+2:]))
			return at + addr.File(i+6) + addr.File(int64(disp)), true
		}
	}
	return 0, false
}

// The relocations by which the loader stores functions in slots.
const (
	relGlobDat   = uint32(delf.R_X86_64_GLOB_DAT)
	relJumpSlot  = uint32(delf.R_X86_64_JMP_SLOT)
	relIRelative = uint32(delf.R_X86_64_IRELATIVE)
)

// readSlots maps slots of the global offset table to what the loader stores there.
func readSlots(f *elf.File) map[addr.File]relocation {
	slots := map[addr.File]relocation{}
	left := f.Size()
	for i := range f.Sections {
		if f.Sections[i].Type != delf.SHT_RELA || !f.Sections[i].Alloc() {
			continue
		}
		b, err := f.Contents(i)
		if left -= int64(len(b)); err != nil || left < 0 {
			continue
		}
		for ; len(b) >= elf.RelaSize; b = b[elf.RelaSize:] {
			r := relocation{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
			switch uint32(r.info) {
			case relGlobDat, relJumpSlot, relIRelative:
				slots[addr.File(binary.LittleEndian.Uint64(b))] = r
			}
		}
	}
	return slots
}

// slotName is the function that the loader stores for a relocation, "" unknown.
func slotName(f *elf.File, r relocation) string {
	if uint32(r.info) == relIRelative { // static programs: the addend is the resolver
		symtab, err := f.Symtab()
		if err != nil {
			return ""
		}
		s, _ := symtab.At(addr.File(r.addend))
		return s.Name
	}
	dynsym, err := f.Dynsym()
	if sym := int(r.info >> 32); err == nil && sym > 0 && sym < dynsym.Len() {
		return dynsym.Sym(sym).Name
	}
	return ""
}
