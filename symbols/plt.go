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

// pltStubs names the stubs of the procedure linkage table, on first use.
type pltStubs struct {
	once  sync.Once
	stubs []Sym // by address
}

// stubAt is the stub that contains a, named malloc@plt as objdump does.
func (o *Object) stubAt(a addr.File) (Sym, bool) {
	if !inPLT(o.elf, a) {
		return Sym{}, false
	}
	p := &o.stubs
	p.once.Do(func() { p.stubs = findStubs(o.elf) })
	i := sort.Search(len(p.stubs), func(i int) bool { return p.stubs[i].Addr > a }) - 1
	if i < 0 || uint64(a-p.stubs[i].Addr) >= p.stubs[i].Size {
		return Sym{}, false
	}
	return p.stubs[i], true
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
func findStubs(f *elf.File) []Sym {
	slots := slotNames(f)
	if len(slots) == 0 {
		return nil
	}
	var stubs []Sym
	for i := range f.Sections {
		s := &f.Sections[i]
		if !isPLT(s) {
			continue
		}
		code, err := f.Contents(i)
		if err != nil {
			continue
		}
		size := s.Entsize
		if size != 8 && size != 16 {
			size = 16
		}
		for off := uint64(0); off+size <= uint64(len(code)); off += size {
			at := s.Addr + addr.File(off)
			slot, ok := jumpSlot(code[off:off+size], at)
			if name := slots[slot]; ok && name != "" {
				stubs = append(stubs, Sym{Name: name + "@plt", Addr: at, Size: size, Type: elf.TypeFunc, Defined: true, Dynamic: true})
			}
		}
	}
	sort.Slice(stubs, func(i, j int) bool { return stubs[i].Addr < stubs[j].Addr })
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

// slotNames maps slots of the global offset table to the functions that the
// loader stores there.
func slotNames(f *elf.File) map[addr.File]string {
	const (
		relaSize  = 24 // Elf64_Rela
		globDat   = uint32(delf.R_X86_64_GLOB_DAT)
		jumpSlot  = uint32(delf.R_X86_64_JMP_SLOT)
		irelative = uint32(delf.R_X86_64_IRELATIVE)
	)
	dynsym, err := f.Dynsym()
	if err != nil {
		dynsym = nil
	}
	symtab, err := f.Symtab()
	if err != nil {
		symtab = nil
	}
	names := map[addr.File]string{}
	for i := range f.Sections {
		if f.Sections[i].Type != delf.SHT_RELA || !f.Sections[i].Alloc() {
			continue
		}
		b, err := f.Contents(i)
		if err != nil {
			continue
		}
		for ; len(b) >= relaSize; b = b[relaSize:] {
			info := binary.LittleEndian.Uint64(b[8:])
			slot := addr.File(binary.LittleEndian.Uint64(b))
			switch sym := int(info >> 32); uint32(info) {
			case globDat, jumpSlot:
				if sym > 0 && sym < dynsym.Len() {
					names[slot] = dynsym.Sym(sym).Name
				}
			case irelative: // static programs: the addend is the resolver
				resolver := addr.File(binary.LittleEndian.Uint64(b[16:]))
				if s, ok := symtab.At(resolver); ok {
					names[slot] = s.Name
				}
			}
		}
	}
	return names
}
