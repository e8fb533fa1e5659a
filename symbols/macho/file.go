// Package macho reads the parts of Mach-O files that name addresses: segments,
// sections, symbols, function starts, the export trie, and the debug map, which says
// in which object files the DWARF of a program has stayed. It reads little-endian
// 64-bit files of x86-64 and ARM, alone, in fat files and in archives. Structures are
// those of Apple's <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/stab.h> and
// <mach-o/fat.h>.
//
// A File is mapped, not read. It is safe for concurrent use until Close; what it hands
// out ends with it. Methods may fault when the file is cut: callers run them under
// elf.Guard. Nothing in a file is trusted: counts and offsets end at its bytes.
package macho

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hdb/symbols/elf"
)

// ErrNotMachO is the cause when a file is neither Mach-O nor fat nor an archive.
var ErrNotMachO = errors.New("not a Mach-O file")

// ArchError is the error for a file without code of the architecture asked for.
type ArchError struct {
	Want string   // "" any that can be read
	Have []string // what is in the file
}

func (e *ArchError) Error() string {
	have := strings.Join(e.Have, ", ")
	if e.Want == "" {
		return fmt.Sprintf("Mach-O file for %s: choose one with --arch", have)
	}
	return fmt.Sprintf("Mach-O file for %s, not for %s", have, e.Want)
}

// Segment is an LC_SEGMENT_64.
type Segment struct {
	Name           string
	Addr, Memsz    uint64
	Off, Filesz    uint64
	Read, Write, X bool
}

// Section is a section of a segment.
type Section struct {
	Segment, Name string
	Addr, Size    uint64
	Off           uint32
	Flags         uint32
}

// Code reports whether the section holds instructions (S_ATTR_PURE_INSTRUCTIONS,
// S_ATTR_SOME_INSTRUCTIONS).
func (s *Section) Code() bool { return s.Flags&(0x80000000|0x400) != 0 }

// zerofill reports whether the section has no bytes in the file (S_ZEROFILL,
// S_GB_ZEROFILL, S_THREAD_LOCAL_ZEROFILL).
func (s *Section) zerofill() bool {
	kind := s.Flags & 0xff
	return kind == 1 || kind == 12 || kind == 18
}

// Contains reports whether a is in the section.
func (s *Section) Contains(a uint64) bool { return a >= s.Addr && a-s.Addr < s.Size }

// Types of files (filetype of mach_header_64).
const (
	TypeObject = 1
	TypeDSYM   = 10
)

// File is an open Mach-O file, or one of those in a fat file or an archive.
type File struct {
	Path     string
	ID       string // tells the contents of the whole file from others
	Arch     string // "x86_64", "arm64"
	Type     uint32
	UUID     string // LC_UUID in hexadecimal, "" without
	ModTime  int64  // of the file, or of the member of an archive; seconds since 1970
	Segments []Segment
	Sections []Section

	data   []byte
	close  func() error
	symtab struct{ off, count, strOff, strSize uint32 }
	starts struct{ off, size uint32 }
	trie   struct{ off, size uint32 }

	mu       sync.Mutex
	unpacked map[string][]byte

	symsOnce sync.Once
	syms     []Symbol
}

// Open maps the file at path, or the member of the archive that "lib.a(member.o)"
// names. Of a fat file arch is taken; with "" x86_64, or the only one.
func Open(path, arch string) (*File, error) {
	file, member := path, ""
	if strings.HasSuffix(path, ")") {
		if i := strings.LastIndexByte(path, '('); i > 0 {
			file, member = path[:i], path[i+1:len(path)-1]
		}
	}
	data, st, id, unmap, err := elf.Map(file, 4)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, member, data, arch, st.ModTime())
	if err != nil {
		unmap()
		return nil, err
	}
	f.ID, f.close = id, unmap
	return f, nil
}

// Close unmaps the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	err := f.close()
	f.close, f.data = nil, nil
	return err
}

func parse(path, member string, data []byte, arch string, modified time.Time) (f *File, err error) {
	fault := elf.Guard(func() { f, err = parseAny(path, member, data, arch, modified) })
	if err = errors.Join(err, fault); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parseAny(path, member string, data []byte, arch string, modified time.Time) (*File, error) {
	data, err := chooseArch(data, arch)
	if err != nil {
		return nil, err
	}
	at := modified.Unix()
	if modified.IsZero() {
		at = 0
	}
	if member != "" {
		if data, at, err = findMember(data, member); err != nil {
			return nil, err
		}
		if data, err = chooseArch(data, arch); err != nil {
			return nil, err
		}
	}
	f := &File{Path: path, ModTime: at, data: data, unpacked: map[string][]byte{}}
	if err := f.parseHeader(); err != nil {
		return nil, err
	}
	if arch != "" && f.Arch != arch {
		return nil, &ArchError{Want: arch, Have: []string{f.Arch}}
	}
	return f, nil
}

// Is reports whether data begins as a file that Open takes: a Mach-O file of any kind, or a fat one.
func Is(data []byte) bool {
	if len(data) < 8 {
		return false
	}
	switch binary.LittleEndian.Uint32(data) {
	case magic64, magic32:
		return true
	}
	switch binary.BigEndian.Uint32(data) {
	case fatMagic, fatMagic64:
		return binary.BigEndian.Uint32(data[4:]) <= maxArchs // else a Java class
	case magic64, magic32:
		return true
	}
	return false
}

// Magic numbers of <mach-o/loader.h> and <mach-o/fat.h>.
const (
	magic32    = 0xfeedface
	magic64    = 0xfeedfacf
	fatMagic   = 0xcafebabe
	fatMagic64 = 0xcafebabf
)

// Load commands.
const (
	lcSymtab          = 0x2
	lcSegment64       = 0x19
	lcUUID            = 0x1b
	lcDyldInfo        = 0x22
	lcFunctionStarts  = 0x26
	lcDyldExportsTrie = 0x33
	lcReqDyld         = 0x80000000
)

func (f *File) parseHeader() error {
	le := binary.LittleEndian
	d := f.data
	if len(d) < 32 {
		return fmt.Errorf("%w: %d bytes", ErrNotMachO, len(d))
	}
	switch magic := le.Uint32(d); {
	case magic == magic32:
		return errors.New("32-bit Mach-O file: only 64-bit files can be read")
	case magic != magic64 && binary.BigEndian.Uint32(d)&^1 == magic32&^1:
		return errors.New("big-endian Mach-O file: only little-endian files can be read")
	case magic != magic64:
		return ErrNotMachO
	}
	f.Arch = archName(le.Uint32(d[4:]), le.Uint32(d[8:]))
	f.Type = le.Uint32(d[12:])
	count, size := le.Uint32(d[16:]), le.Uint32(d[20:])
	commands := f.bytes(32, uint64(size))
	for ; count > 0 && len(commands) >= 8; count-- {
		n := le.Uint32(commands[4:])
		if n < 8 || uint64(n) > uint64(len(commands)) {
			return fmt.Errorf("load command of %d bytes, %d are left", n, len(commands))
		}
		f.command(le.Uint32(commands)&^lcReqDyld, commands[:n])
		commands = commands[n:]
	}
	return nil
}

func (f *File) command(kind uint32, b []byte) {
	le := binary.LittleEndian
	switch {
	case kind == lcSegment64 && len(b) >= 72:
		f.segment(b)
	case kind == lcSymtab && len(b) >= 24:
		f.symtab.off, f.symtab.count = le.Uint32(b[8:]), le.Uint32(b[12:])
		f.symtab.strOff, f.symtab.strSize = le.Uint32(b[16:]), le.Uint32(b[20:])
	case kind == lcUUID && len(b) >= 24:
		f.UUID = hex.EncodeToString(b[8:24])
	case kind == lcFunctionStarts && len(b) >= 16:
		f.starts.off, f.starts.size = le.Uint32(b[8:]), le.Uint32(b[12:])
	case kind == lcDyldExportsTrie && len(b) >= 16:
		f.trie.off, f.trie.size = le.Uint32(b[8:]), le.Uint32(b[12:])
	case kind == lcDyldInfo && len(b) >= 48:
		f.trie.off, f.trie.size = le.Uint32(b[40:]), le.Uint32(b[44:])
	}
}

// maxSections bounds the sections of a file: symbols can name 255.
const maxSections = 1 << 9

// segment reads a segment_command_64 and the section_64s behind it.
func (f *File) segment(b []byte) {
	le := binary.LittleEndian
	prot := le.Uint32(b[60:]) // initprot
	f.Segments = append(f.Segments, Segment{
		Name: cstring(b[8:24]), Addr: le.Uint64(b[24:]), Memsz: le.Uint64(b[32:]), Off: le.Uint64(b[40:]), Filesz: le.Uint64(b[48:]),
		Read: prot&1 != 0, Write: prot&2 != 0, X: prot&4 != 0,
	})
	count := le.Uint32(b[64:])
	for b = b[72:]; count > 0 && len(b) >= 80 && len(f.Sections) < maxSections; count-- {
		f.Sections = append(f.Sections, Section{
			Name: cstring(b[:16]), Segment: cstring(b[16:32]), Addr: le.Uint64(b[32:]), Size: le.Uint64(b[40:]),
			Off: le.Uint32(b[48:]), Flags: le.Uint32(b[64:]),
		})
		b = b[80:]
	}
}

// bytes is data[off:off+n], or the part of it that is in the file.
func (f *File) bytes(off, n uint64) []byte {
	size := uint64(len(f.data))
	if off >= size {
		return nil
	}
	return f.data[off:][:min(n, size-off)]
}

// cstring is b up to its first zero byte, as a copy.
func cstring(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
