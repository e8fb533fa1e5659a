// Package elf reads the parts of ELF files that a debugger needs: segments,
// sections (decompressed when first used), symbol tables with versions, notes
// and debug links. It reads little-endian 64-bit x86-64 files only; other ELF
// files are refused by name with an ArchError.
//
// A File is mapped, not read. It is safe for concurrent use until Close; the
// byte slices it hands out end with it. Methods that walk the mapping may fault
// when the file is cut meanwhile: callers run them under Guard.
package elf

import (
	"bytes"
	delf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/internal/regular"
	"hdb/internal/rights"
)

// ErrNotELF is the cause when a file does not begin with the ELF magic.
var ErrNotELF = errors.New("not an ELF file")

// ArchError is the error for an ELF file of another machine or class.
type ArchError struct {
	Machine string // "aarch64", "i386"
	Class   int    // 32 or 64
	Order   string // "little-endian" or "big-endian"
}

func (e *ArchError) Error() string {
	return fmt.Sprintf("%d-bit %s file for %s: only 64-bit x86-64 files can be debugged", e.Class, e.Order, e.Machine)
}

// Segment is a program header of type PT_LOAD.
type Segment struct {
	Off         uint64 // offset in the file
	Addr        addr.File
	Memsz       uint64
	Filesz      uint64
	Read, Write bool
	Exec        bool
	Align       uint64
}

// Contains reports whether a is in the segment's memory.
func (s Segment) Contains(a addr.File) bool { return a >= s.Addr && uint64(a-s.Addr) < s.Memsz }

// Section is a section header with its name.
type Section struct {
	Name    string
	Type    delf.SectionType
	Flags   delf.SectionFlag
	Addr    addr.File
	Off     uint64
	Size    uint64 // in the file, compressed if it is
	Link    uint32
	Info    uint32
	Entsize uint64
}

// Alloc reports whether the section is in memory at run time.
func (s *Section) Alloc() bool { return s.Flags&delf.SHF_ALLOC != 0 }

// File is an open ELF file.
type File struct {
	Path     string
	ID       string       // tells these contents from others (diskcache.FileID), "" for what is no file
	Owner    *rights.User // of the file, as rights.Of returns it
	Type     delf.Type
	Entry    addr.File
	Segments []Segment
	Sections []Section
	Interp   string
	Dynamic  bool // has a PT_DYNAMIC

	data  []byte
	close func() error
	progs []prog

	mu       sync.Mutex
	unpacked map[int]*section // decompressed sections by index

	symOnce  [2]sync.Once
	symCache [2]*Table
	symErr   [2]error

	miniOnce sync.Once
	mini     *File
	miniErr  error
}

type section struct {
	once sync.Once
	data []byte
	err  error
}

type prog struct {
	typ                              delf.ProgType
	flags                            delf.ProgFlag
	off, vaddr, filesz, memsz, align uint64
}

// Open maps the file at path.
func Open(path string) (*File, error) { return OpenAs(nil, path) }

// OpenAs is Open with the rights of a user.
func OpenAs(u *rights.User, path string) (*File, error) {
	f, st, err := u.Open(path)
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, fmt.Errorf("%w: %w", err, ErrNotELF)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size() < 16 {
		return nil, fmt.Errorf("%s: %w: %d bytes", path, ErrNotELF, st.Size())
	}
	data, unmap, err := mapFile(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file, err := parse(path, data)
	if err != nil {
		unmap()
		return nil, err
	}
	file.close, file.ID, file.Owner = unmap, diskcache.FileID(st), rights.Of(st)
	return file, nil
}

// maxImage bounds what OpenReaderAt copies.
const maxImage = 1 << 30

// OpenReaderAt reads size bytes of r, such as the vDSO in a process's memory.
func OpenReaderAt(name string, r io.ReaderAt, size int64) (*File, error) {
	if size < 16 {
		return nil, fmt.Errorf("%s: %w: %d bytes", name, ErrNotELF, size)
	}
	if size > maxImage {
		return nil, fmt.Errorf("%s: image of %d bytes exceeds the limit of %d", name, size, maxImage)
	}
	data := make([]byte, size)
	n, err := r.ReadAt(data, 0)
	if n < 64 && err != nil {
		return nil, fmt.Errorf("%s: read: %w", name, err)
	}
	file, err := parse(name, data[:n])
	if err != nil {
		return nil, err
	}
	file.close = func() error { return nil }
	return file, nil
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

// Size is the length of the file in bytes.
func (f *File) Size() int64 { return int64(len(f.data)) }

// ReadAt reads the file's bytes, see io.ReaderAt. It belongs into Guard.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(b, off)
}

func parse(path string, data []byte) (f *File, err error) {
	gerr := Guard(func() { f, err = parseHeaders(path, data) })
	if gerr != nil {
		return nil, fmt.Errorf("%s: %w", path, gerr)
	}
	return f, err
}

func parseHeaders(path string, data []byte) (*File, error) {
	if len(data) < 16 || string(data[:4]) != delf.ELFMAG {
		return nil, fmt.Errorf("%s: %w", path, ErrNotELF)
	}
	if err := checkIdent(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) < 64 {
		return nil, fmt.Errorf("%s: ELF header cut after %d bytes", path, len(data))
	}
	le := binary.LittleEndian
	f := &File{
		Path:     path,
		Type:     delf.Type(le.Uint16(data[16:])),
		Entry:    addr.File(le.Uint64(data[24:])),
		data:     data,
		unpacked: map[int]*section{},
	}
	f.parsePrograms(le.Uint64(data[32:]), uint64(le.Uint16(data[54:])), uint64(le.Uint16(data[56:])))
	f.parseSections(le.Uint64(data[40:]), uint64(le.Uint16(data[58:])), uint64(le.Uint16(data[60:])), uint32(le.Uint16(data[62:])))
	return f, nil
}

// checkIdent refuses what the rest of the package cannot read (System V ABI,
// ELF identification).
func checkIdent(data []byte) error {
	class, order := 64, "little-endian"
	if delf.Class(data[4]) == delf.ELFCLASS32 {
		class = 32
	}
	var bo binary.ByteOrder = binary.LittleEndian
	if delf.Data(data[5]) == delf.ELFDATA2MSB {
		order, bo = "big-endian", binary.BigEndian
	}
	if len(data) < 20 {
		return fmt.Errorf("ELF header cut after %d bytes", len(data))
	}
	machine := delf.Machine(bo.Uint16(data[18:]))
	if class != 64 || order != "little-endian" || machine != delf.EM_X86_64 {
		return &ArchError{Machine: machineName(machine), Class: class, Order: order}
	}
	return nil
}

func machineName(m delf.Machine) string {
	switch m {
	case delf.EM_X86_64:
		return "x86-64"
	case delf.EM_386:
		return "i386"
	case delf.EM_AARCH64:
		return "aarch64"
	case delf.EM_ARM:
		return "arm"
	case delf.EM_RISCV:
		return "riscv"
	case delf.EM_PPC64:
		return "ppc64"
	case delf.EM_S390:
		return "s390"
	}
	return m.String()
}

// bytes is data[off:off+n], or the part of it that is in the file.
func (f *File) bytes(off, n uint64) []byte {
	size := uint64(len(f.data))
	if off >= size {
		return nil
	}
	return f.data[off:][:min(n, size-off)]
}

func (f *File) parsePrograms(off, entsize, count uint64) {
	const phsize = 56
	if entsize < phsize {
		return
	}
	le := binary.LittleEndian
	for i := range count {
		b := f.bytes(off+i*entsize, phsize)
		if len(b) < phsize {
			return
		}
		p := prog{
			typ: delf.ProgType(le.Uint32(b)), flags: delf.ProgFlag(le.Uint32(b[4:])),
			off: le.Uint64(b[8:]), vaddr: le.Uint64(b[16:]),
			filesz: le.Uint64(b[32:]), memsz: le.Uint64(b[40:]), align: le.Uint64(b[48:]),
		}
		f.progs = append(f.progs, p)
		switch p.typ {
		case delf.PT_LOAD:
			f.Segments = append(f.Segments, Segment{
				Off: p.off, Addr: addr.File(p.vaddr), Memsz: p.memsz, Filesz: p.filesz, Align: p.align,
				Read: p.flags&delf.PF_R != 0, Write: p.flags&delf.PF_W != 0, Exec: p.flags&delf.PF_X != 0,
			})
		case delf.PT_INTERP:
			f.Interp = cstring(f.bytes(p.off, min(p.filesz, 4096)))
		case delf.PT_DYNAMIC:
			f.Dynamic = true
		}
	}
}

func (f *File) parseSections(off, entsize, count uint64, names uint32) {
	const shsize = 64
	if off == 0 || entsize < shsize {
		return
	}
	le := binary.LittleEndian
	if first := f.bytes(off, shsize); len(first) == shsize {
		if count == 0 { // more than 0xff00 sections: the first header has the count
			count = le.Uint64(first[32:])
		}
		if names == uint32(delf.SHN_XINDEX) {
			names = le.Uint32(first[40:])
		}
	}
	count = min(count, uint64(len(f.data))/entsize)
	nameOff := make([]uint32, 0, count)
	for i := range count {
		b := f.bytes(off+i*entsize, shsize)
		if len(b) < shsize {
			break
		}
		nameOff = append(nameOff, le.Uint32(b))
		f.Sections = append(f.Sections, Section{
			Type: delf.SectionType(le.Uint32(b[4:])), Flags: delf.SectionFlag(le.Uint64(b[8:])),
			Addr: addr.File(le.Uint64(b[16:])), Off: le.Uint64(b[24:]), Size: le.Uint64(b[32:]),
			Link: le.Uint32(b[40:]), Info: le.Uint32(b[44:]), Entsize: le.Uint64(b[56:]),
		})
	}
	if int(names) >= len(f.Sections) {
		return
	}
	table := f.bytes(f.Sections[names].Off, f.Sections[names].Size)
	for i := range f.Sections {
		if o := uint64(nameOff[i]); o < uint64(len(table)) {
			f.Sections[i].Name = cstring(table[o:][:min(256, uint64(len(table))-o)])
		}
	}
}

// cstring is b up to its first zero byte, as a copy.
func cstring(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// ExecRanges lists the memory that may hold code.
func (f *File) ExecRanges() []Segment {
	var exec []Segment
	for _, s := range f.Segments {
		if s.Exec {
			exec = append(exec, s)
		}
	}
	return exec
}

// ReadAddr reads len(b) bytes of the file's image at address a; bytes past
// Filesz are zero. It reports false when the range is not in one segment.
func (f *File) ReadAddr(b []byte, a addr.File) bool {
	for _, s := range f.Segments {
		if !s.Contains(a) {
			continue
		}
		at := uint64(a - s.Addr)
		if s.Memsz-at < uint64(len(b)) {
			return false
		}
		clear(b)
		if at < s.Filesz {
			copy(b, f.bytes(s.Off+at, s.Filesz-at))
		}
		return true
	}
	return false
}
