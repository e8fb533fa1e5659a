package symbols

import (
	"bytes"
	"cmp"
	delf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// Bounds of what a program says through the interface: a list in its memory, which
// may be damaged or made up.
const (
	maxJITEntries = 10_000
	maxJITImage   = 64 << 20  // bytes of one image
	maxJITBytes   = 256 << 20 // of all images
	maxJITSymbols = 1 << 18   // of one image
	maxJITCode    = 1 << 10   // sections of code of one image
)

// JITDescriptor is the variable at which gdb's interface for code that is made at
// run time begins (gdb manual, "JIT Compilation Interface").
const JITDescriptor = "__jit_debug_descriptor"

// A JITEntry is an ELF image in the memory of a process.
type JITEntry struct {
	Addr addr.Run
	Size uint64
}

// ReadJITList reads the list of images of the descriptor at the address.
func ReadJITList(mem io.ReaderAt, descriptor addr.Run) ([]JITEntry, error) {
	// struct jit_descriptor: version, action_flag uint32; relevant_entry, first_entry.
	var d [24]byte
	if _, err := mem.ReadAt(d[:], int64(descriptor)); err != nil {
		return nil, fmt.Errorf("%s: %w", JITDescriptor, err)
	}
	if v := binary.LittleEndian.Uint32(d[:]); v != 1 {
		return nil, fmt.Errorf("%s: version %d, not 1", JITDescriptor, v)
	}
	var list []JITEntry
	seen := map[uint64]bool{}
	total := uint64(0)
	for at := binary.LittleEndian.Uint64(d[16:]); at != 0; {
		if seen[at] {
			return list, fmt.Errorf("%s: the list is a circle", JITDescriptor)
		}
		if len(seen) == maxJITEntries {
			return list, fmt.Errorf("%s: more than %d images", JITDescriptor, maxJITEntries)
		}
		seen[at] = true
		// struct jit_code_entry: next_entry, prev_entry, symfile_addr, symfile_size.
		var e [32]byte
		if _, err := mem.ReadAt(e[:], int64(at)); err != nil {
			return list, fmt.Errorf("%s: entry at %#x: %w", JITDescriptor, at, err)
		}
		at = binary.LittleEndian.Uint64(e[:])
		image := JITEntry{addr.Run(binary.LittleEndian.Uint64(e[16:])), binary.LittleEndian.Uint64(e[24:])}
		if image.Size == 0 || image.Size > maxJITImage || total+image.Size > maxJITBytes {
			continue // no more than is reasonable is read
		}
		total += image.Size
		list = append(list, image)
	}
	return list, nil
}

// A JITImage is an ELF image that a program made for code that it made. Its
// addresses are those of the process: section headers say where code lies.
type JITImage struct {
	ranges []Range
	syms   []jitSymbol // ascending
	obj    *Object     // for DWARF, nil without
}

type jitSymbol struct {
	low, high addr.File
	name      string
}

// ReadJITImage parses an image.
func ReadJITImage(image []byte, cfg Config) (*JITImage, error) {
	f, err := elf.OpenReaderAt("image in memory", bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	j := &JITImage{}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Flags&delf.SHF_EXECINSTR != 0 && s.Addr != 0 && s.Size < maxJITImage && len(j.ranges) < maxJITCode {
			j.ranges = append(j.ranges, Range{s.Addr, s.Addr + addr.File(s.Size)})
		}
	}
	if len(j.ranges) == 0 {
		return nil, errors.New("image in memory: no code in it")
	}
	syms, err := f.Symtab()
	if err != nil {
		return nil, err
	}
	j.readSymbols(f, syms, len(image))
	if f.HasSection(".debug_info") {
		cfg.Cache = nil // another image has this address tomorrow
		linked, err := elf.OpenReaderAt("[jit]", bytes.NewReader(image), int64(len(image)))
		if err == nil {
			linked, err = linked.Linked()
		}
		if err == nil {
			j.obj = newObject(linked, cfg)
		}
	}
	return j, nil
}

// readSymbols takes the functions of an image of size bytes. Names of a made up one
// overlap: together they are not longer than the image.
func (j *JITImage) readSymbols(f *elf.File, syms *elf.Table, size int) {
	for i := 1; i < min(syms.Len(), maxJITSymbols); i++ {
		value, length, section := syms.Place(i)
		if section >= len(f.Sections) || !syms.IsFunc(i) {
			continue
		}
		if f.Type == delf.ET_REL {
			value += f.Sections[section].Addr
		}
		if !j.Contains(value) {
			continue
		}
		name := syms.NameBytes(i)
		if size -= len(name); size < 0 {
			break
		}
		j.syms = append(j.syms, jitSymbol{value, value + addr.File(max(length, 1)), string(name)})
	}
	slices.SortFunc(j.syms, func(a, b jitSymbol) int { return cmp.Compare(a.low, b.low) })
}

// Contains reports whether the image has the code at a.
func (j *JITImage) Contains(a addr.File) bool {
	return slices.ContainsFunc(j.ranges, func(r Range) bool { return r.Contains(a) })
}

// Lookup names the code at pc and those it was inlined into, as Object.Lookup.
// Entries are addresses of the process.
func (j *JITImage) Lookup(pc addr.Run) []Frame {
	a := addr.File(pc)
	if !j.Contains(a) {
		return nil
	}
	if j.obj != nil {
		if frames := j.obj.Lookup(a); len(frames) > 0 && frames[len(frames)-1].Source == FromDWARF {
			for i := range frames {
				frames[i].Source = FromJIT
			}
			return frames
		}
	}
	i, found := slices.BinarySearchFunc(j.syms, a, func(s jitSymbol, a addr.File) int { return addr.Compare(s.low, s.high, a) })
	if !found {
		return []Frame{{Source: FromJIT}}
	}
	s := j.syms[i]
	return []Frame{{Function: Demangle(s.name), Linkage: linkageOf(s.name), Entry: s.low, Source: FromJIT}}
}

// Close releases what Lookup reads.
func (j *JITImage) Close() error {
	if j.obj == nil {
		return nil
	}
	return j.obj.Close()
}
