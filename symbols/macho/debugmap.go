package macho

import (
	"cmp"
	"slices"
)

// A debug map is what the linker leaves in a program's symbol table instead of DWARF:
// stabs that say which functions came from which object file.

// Types of stabs (<mach-o/stab.h>).
const (
	stabFun = 0x24
	stabSo  = 0x64
	stabOso = 0x66
)

// ObjectFile is an N_OSO: a file, or "lib.a(member.o)", and when it was changed last,
// in seconds since 1970; 0 is not checked.
type ObjectFile struct {
	Path    string
	ModTime int64
}

// Origin says that the function at Addr came from an object file, where it has the
// symbol Name.
type Origin struct {
	Addr, Size uint64
	Name       string // in the form of Symbol.Name
	Object     int    // in the list of object files
}

// DebugMap lists the object files of the debug map, and the functions by address.
func (f *File) DebugMap() (objects []ObjectFile, functions []Origin) {
	names := f.names()
	open := Origin{Object: -1} // an N_FUN that waits for its size
	for b := f.entries(); len(b) > 0; b = b[nlistSize:] {
		e := readEntry(b)
		switch e.typ {
		case stabSo:
			if len(names.at(e.strx)) == 0 {
				open = Origin{Object: -1}
			}
		case stabOso:
			objects = append(objects, ObjectFile{string(names.at(e.strx)), int64(e.value)})
			open = Origin{Object: -1}
		case stabFun:
			if name := names.at(e.strx); len(name) > 0 {
				open = Origin{Addr: e.value, Name: plainName(string(name)), Object: len(objects) - 1}
				continue
			}
			if open.Object >= 0 && e.value > 0 {
				open.Size = e.value
				functions = append(functions, open)
			}
			open = Origin{Object: -1}
		}
	}
	slices.SortStableFunc(functions, func(a, b Origin) int { return cmp.Compare(a.Addr, b.Addr) })
	return objects, functions
}
