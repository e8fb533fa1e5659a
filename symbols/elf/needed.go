package elf

import (
	"bytes"
	delf "debug/elf"
	"encoding/binary"

	"hdb/internal/addr"
)

// Needed is what the dynamic section says of libraries (System V gABI, "Dynamic Section").
type Needed struct {
	Libraries []string // DT_NEEDED
	RPath     string   // DT_RPATH
	RunPath   string   // DT_RUNPATH
}

// maxNeeded bounds the libraries of one file.
const maxNeeded = 1024

// Needed reads the dynamic section.
func (f *File) Needed() Needed {
	var n Needed
	at, ok := f.dynamic(delf.DT_STRTAB)
	if !ok {
		return n
	}
	size, _ := f.dynamic(delf.DT_STRSZ)
	text := func(off uint64) string {
		if off >= size {
			return ""
		}
		b := make([]byte, min(size-off, 4096))
		if !f.ReadAddr(b, addr.File(at+off)) {
			return ""
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(b[:end])
		}
		return ""
	}
	for _, p := range f.progs {
		if p.typ != delf.PT_DYNAMIC {
			continue
		}
		for b := f.bytes(p.off, p.filesz); len(b) >= 16 && len(n.Libraries) < maxNeeded; b = b[16:] {
			value := binary.LittleEndian.Uint64(b[8:])
			switch delf.DynTag(binary.LittleEndian.Uint64(b)) {
			case delf.DT_NULL:
				return n
			case delf.DT_NEEDED:
				if s := text(value); s != "" {
					n.Libraries = append(n.Libraries, s)
				}
			case delf.DT_RPATH:
				n.RPath = text(value)
			case delf.DT_RUNPATH:
				n.RunPath = text(value)
			}
		}
	}
	return n
}
