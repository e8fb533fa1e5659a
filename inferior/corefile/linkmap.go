package corefile

import (
	"debug/elf"
	"encoding/binary"

	"hdb/internal/addr"
	"hdb/internal/regular"
)

// HasFiles reports whether the core names the files that were mapped. Those of kernels before Linux
// 3.7 do not.
func (f *File) HasFiles() bool { return len(f.files) > 0 }

// FollowLinkMap finds the mapped files by the dynamic linker's list (link.h: r_debug,
// link_map) where the core has no note of them. program is the file that ran.
func (f *File) FollowLinkMap(program string) {
	if f.HasFiles() {
		return
	}
	phdr := addr.Run(f.Auxv[atPHdr])
	headers := f.headersAt(phdr, f.Auxv[atPHNum])
	var bias addr.Run
	var dynamic addr.Run
	for _, h := range headers {
		switch h.Type {
		case elf.PT_PHDR:
			bias = phdr - addr.Run(h.Vaddr)
		case elf.PT_DYNAMIC:
			dynamic = addr.Run(h.Vaddr)
		}
	}
	f.addLoads(program, bias)
	if dynamic != 0 {
		f.followList(f.debugList(dynamic + bias))
	}
	f.sortFiles()
}

// headersAt reads program headers out of memory.
func (f *File) headersAt(a addr.Run, count uint64) []elf.ProgHeader {
	if a == 0 || count > 256 {
		return nil
	}
	b := make([]byte, 56*count)
	if n, _ := f.ReadAt(b, int64(a)); n < len(b) {
		return nil
	}
	le := binary.LittleEndian
	var out []elf.ProgHeader
	for ; len(b) > 0; b = b[56:] {
		out = append(out, elf.ProgHeader{Type: elf.ProgType(le.Uint32(b)), Vaddr: le.Uint64(b[16:])})
	}
	return out
}

func (f *File) word(a addr.Run) uint64 {
	v, _ := addr.ReadWord(f, a)
	return v
}

// debugList is r_debug.r_map, by the DT_DEBUG of a dynamic section.
func (f *File) debugList(dynamic addr.Run) addr.Run {
	for i := range addr.Run(1 << 10) {
		tag, value := elf.DynTag(f.word(dynamic+16*i)), f.word(dynamic+16*i+8)
		switch {
		case tag == elf.DT_NULL:
			return 0
		case tag == elf.DT_DEBUG && value != 0:
			return addr.Run(f.word(addr.Run(value) + 8))
		}
	}
	return 0
}

// followList takes up each struct link_map: l_addr, l_name, l_ld, l_next.
func (f *File) followList(entry addr.Run) {
	const maxModules = 1 << 14
	for range maxModules {
		if entry == 0 {
			return
		}
		if name := f.text(addr.Run(f.word(entry + 8))); name != "" {
			f.addLoads(name, addr.Run(f.word(entry)))
		}
		entry = addr.Run(f.word(entry + 24))
	}
}

// addLoads takes up the segments of a file that is loaded at that bias. They are put in
// order afterwards.
func (f *File) addLoads(path string, bias addr.Run) {
	file, _, err := regular.Open(path)
	if err != nil {
		return // it is reported when its memory is wanted
	}
	defer file.Close()
	e, err := elf.NewFile(file)
	if err != nil {
		return
	}
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		low := addr.Run(p.Vaddr)&^(pageSize-1) + bias
		high := (addr.Run(p.Vaddr+p.Filesz)+pageSize-1)&^(pageSize-1) + bias
		if low < high && f.segmentAt(low) != nil {
			f.files = append(f.files, fileRange{low, high, p.Off &^ (pageSize - 1), path})
		}
	}
}
