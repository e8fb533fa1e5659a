// Package annotations has what programs are given to tell hdb what they are at: the header
// hdb.h for C and C++ and the module hdb_mark.py for Python. It finds the header's functions in
// executables and libraries, by the note that they carry.
package annotations

import (
	_ "embed" // of the files that programs are given
	"encoding/binary"
	"io"

	"hdb/internal/addr"
	"hdb/internal/elfnote"
)

// Header is hdb.h.
//
//go:embed hdb.h
var Header string

// PythonModule is hdb_mark.py.
//
//go:embed hdb_mark.py
var PythonModule string

// The functions of the header, by their linker's names.
const (
	Mark        = "hdb_annotation_mark"
	Break       = "hdb_annotation_break"
	Pause       = "hdb_annotation_pause"
	Resume      = "hdb_annotation_resume"
	Alloc       = "hdb_annotation_alloc"
	Realloc     = "hdb_annotation_realloc"
	Free        = "hdb_annotation_free"
	PoolCreate  = "hdb_annotation_pool_create"
	PoolDestroy = "hdb_annotation_pool_destroy"
)

// names are the functions in the order of the note. A later header may have more.
var names = [...]string{Mark, Break, Pause, Resume, Alloc, Realloc, Free, PoolCreate, PoolDestroy}

// A Function is one of the header's in a module.
type Function struct {
	Name string
	Addr addr.Run
	Size uint64 // bytes up to the next
}

const (
	owner     = "hdb"
	noteTable = 1 // type of the note: three words, where the first function is, from that word, bytes between them, and how many
	minStride = 16
	maxStride = 256
)

// Bounds of what a module may say: a header has a few notes, all in its first pages.
const (
	maxSegments = 64
	maxNotes    = 1 << 16 // bytes
)

// Find finds the header's functions in a module that lies from low to high, by what is in memory.
// There are none if it does not say so in a note, or says what cannot be.
func Find(memory io.ReaderAt, low, high addr.Run, bias addr.Bias) []Function {
	const header, segment = 64, 56 // elf(5): Elf64_Ehdr, Elf64_Phdr
	le := binary.LittleEndian
	var head [header]byte
	if _, err := memory.ReadAt(head[:], int64(low)); err != nil || string(head[:5]) != "\x7fELF\x02" {
		return nil
	}
	at, size, count := le.Uint64(head[32:]), le.Uint16(head[54:]), le.Uint16(head[56:])
	if size != segment || count > maxSegments || at > uint64(high-low) {
		return nil
	}
	table := make([]byte, segment*int(count))
	if _, err := memory.ReadAt(table, int64(low)+int64(at)); err != nil {
		return nil
	}
	const ptNote = 4
	for ; len(table) >= segment; table = table[segment:] {
		if le.Uint32(table) != ptNote {
			continue
		}
		start, length := addr.File(le.Uint64(table[16:])).Run(bias), le.Uint64(table[40:])
		if start < low || start >= high || length > maxNotes {
			continue
		}
		notes := make([]byte, length)
		if _, err := memory.ReadAt(notes, int64(start)); err != nil {
			continue
		}
		if found := functions(notes, start, low, high); found != nil {
			return found
		}
	}
	return nil
}

// functions are those that one of the notes, which are at start, describes.
func functions(notes []byte, start, low, high addr.Run) []Function {
	le := binary.LittleEndian
	for rest := notes; len(rest) > 0; {
		n, after, err := elfnote.Next(le, rest)
		if err != nil {
			return nil
		}
		if n.Name == owner && n.Type == noteTable && len(n.Desc) >= 12 {
			word := start + addr.Run(len(notes)-len(rest)) + 12 + addr.Run(elfnote.Pad(uint64(len(owner)+1)))
			first := word + addr.Run(int64(int32(le.Uint32(n.Desc))))
			stride, count := le.Uint32(n.Desc[4:]), int(le.Uint32(n.Desc[8:]))
			if stride < minStride || stride > maxStride {
				return nil
			}
			var found []Function
			for i, name := range names[:min(count, len(names))] {
				at := first + addr.Run(uint64(i)*uint64(stride))
				if at < low || at >= high {
					return nil
				}
				found = append(found, Function{name, at, uint64(stride)})
			}
			return found
		}
		rest = after
	}
	return nil
}
