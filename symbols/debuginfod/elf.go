package debuginfod

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hdb/internal/elfnote"
)

// An image is an ELF file as far as is needed to tell whose it is. Nothing in it is
// trusted: tables are read row by row, and what is kept is bounded.
type image struct {
	r        io.ReaderAt
	size     int64
	order    binary.ByteOrder
	wide     bool // ELFCLASS64
	phoff    uint64
	phnum    uint64
	shoff    uint64
	shnum    uint64
	shstrndx uint64
}

// Constants of the System V ABI, chapter 4.
const (
	shtNull, shtNote, shtNobits = 0, 7, 8
	ptLoad, ptNote              = 1, 4
	shnXindex                   = 0xffff
)

// Bounds of a file's tables and of one area of notes.
const (
	maxSections = 1 << 20
	maxNotes    = 1 << 20 // bytes
)

// A part is a section or a segment.
type part struct {
	name, kind     uint64
	offset, length uint64
	link           uint64
}

func readImage(r io.ReaderAt, size int64) (*image, error) {
	b := make([]byte, 64)
	if n, err := r.ReadAt(b, 0); n < 52 {
		return nil, fmt.Errorf("no ELF file: %w", noEOF(err))
	}
	if string(b[:4]) != "\x7fELF" || b[4] != 1 && b[4] != 2 || b[5] != 1 && b[5] != 2 {
		return nil, errors.New("no ELF file")
	}
	f := &image{r: r, size: size, wide: b[4] == 2, order: binary.LittleEndian}
	if b[5] == 2 {
		f.order = binary.BigEndian
	}
	u16 := func(at int) uint64 { return uint64(f.order.Uint16(b[at:])) }
	var phentsize, shentsize uint64
	if f.wide {
		f.phoff, f.shoff = f.order.Uint64(b[32:]), f.order.Uint64(b[40:])
		phentsize, f.phnum, shentsize, f.shnum, f.shstrndx = u16(54), u16(56), u16(58), u16(60), u16(62)
	} else {
		f.phoff, f.shoff = uint64(f.order.Uint32(b[28:])), uint64(f.order.Uint32(b[32:]))
		phentsize, f.phnum, shentsize, f.shnum, f.shstrndx = u16(42), u16(44), u16(46), u16(48), u16(50)
	}
	ph, sh := f.rowSizes()
	if f.phnum > 0 && phentsize != ph || f.shoff > 0 && shentsize != sh {
		return nil, errors.New("ELF header with rows of another size")
	}
	if f.shoff == 0 {
		f.shnum = 0
		return f, nil
	}
	first, err := f.section(0) // holds the numbers that do not fit the header
	if err != nil {
		return nil, fmt.Errorf("section headers: %w", err)
	}
	if f.shnum == 0 {
		f.shnum = first.length
	}
	if f.shstrndx == shnXindex {
		f.shstrndx = first.link
	}
	if f.shnum > maxSections {
		return nil, fmt.Errorf("%d sections, more than %d", f.shnum, maxSections)
	}
	return f, nil
}

// rowSizes are the sizes of a program header and a section header.
func (f *image) rowSizes() (ph, sh uint64) {
	if f.wide {
		return 56, 64
	}
	return 32, 40
}

// inside tells that the file has those bytes.
func (f *image) inside(offset, length uint64) bool {
	return offset <= uint64(f.size) && length <= uint64(f.size)-offset
}

func (f *image) read(offset, length uint64) ([]byte, error) {
	if !f.inside(offset, length) {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, length)
	if _, err := f.r.ReadAt(b, int64(offset)); err != nil {
		return nil, noEOF(err)
	}
	return b, nil
}

func (f *image) section(i uint64) (part, error) {
	_, size := f.rowSizes()
	if f.shoff > uint64(f.size) {
		return part{}, io.ErrUnexpectedEOF
	}
	b, err := f.read(f.shoff+i*size, size)
	if err != nil {
		return part{}, err
	}
	u32 := func(at int) uint64 { return uint64(f.order.Uint32(b[at:])) }
	if f.wide {
		return part{u32(0), u32(4), f.order.Uint64(b[24:]), f.order.Uint64(b[32:]), u32(40)}, nil
	}
	return part{u32(0), u32(4), u32(16), u32(20), u32(24)}, nil
}

func (f *image) segment(i uint64) (part, error) {
	size, _ := f.rowSizes()
	if f.phoff > uint64(f.size) {
		return part{}, io.ErrUnexpectedEOF
	}
	b, err := f.read(f.phoff+i*size, size)
	if err != nil {
		return part{}, err
	}
	if f.wide {
		return part{kind: uint64(f.order.Uint32(b)), offset: f.order.Uint64(b[8:]), length: f.order.Uint64(b[32:])}, nil
	}
	return part{kind: uint64(f.order.Uint32(b)), offset: uint64(f.order.Uint32(b[4:])), length: uint64(f.order.Uint32(b[16:]))}, nil
}

// check finds the build ID and sees to it that nothing is missing at the end. Notes
// are looked for in sections first: the segments of a debug file are those of the
// file it was split from, whose offsets mean nothing in it.
func (f *image) check() (id string, err error) {
	for i := uint64(1); i < f.shnum; i++ {
		s, err := f.section(i)
		if err != nil {
			return "", fmt.Errorf("section %d: %w", i, err)
		}
		if s.kind == shtNull || s.kind == shtNobits {
			continue
		}
		if !f.inside(s.offset, s.length) {
			return "", fmt.Errorf("truncated: section %d ends at byte %d, the file at %d", i, s.offset+s.length, f.size)
		}
		if s.kind == shtNote && id == "" {
			id = f.buildID(s)
		}
	}
	for i := uint64(0); i < f.phnum && (id == "" || f.shnum == 0); i++ {
		p, err := f.segment(i)
		if err != nil {
			return "", fmt.Errorf("segment %d: %w", i, err)
		}
		if p.kind == ptLoad && f.shnum == 0 && !f.inside(p.offset, p.length) {
			return "", fmt.Errorf("truncated: segment %d ends at byte %d, the file at %d", i, p.offset+p.length, f.size)
		}
		if p.kind == ptNote && id == "" {
			id = f.buildID(p)
		}
	}
	return id, nil
}

// buildID is the build ID among the notes, "" without.
func (f *image) buildID(notes part) string {
	b, err := f.read(notes.offset, min(notes.length, maxNotes))
	if err != nil {
		return ""
	}
	return elfnote.BuildID(f.order, b)
}

// contents are the bytes of a section as they are in the file; nil when the file has no contents
// for it.
func (f *image) contents(name string) *io.SectionReader {
	names, err := f.section(f.shstrndx)
	if err != nil || f.shstrndx >= f.shnum {
		return nil
	}
	for i := uint64(1); i < f.shnum; i++ {
		s, err := f.section(i)
		if err != nil {
			return nil
		}
		if s.kind == shtNull || s.kind == shtNobits || s.name >= names.length || !f.inside(s.offset, s.length) {
			continue
		}
		b, err := f.read(names.offset+s.name, min(uint64(len(name))+1, names.length-s.name))
		if err == nil && string(b) == name+"\x00" {
			return io.NewSectionReader(f.r, int64(s.offset), int64(s.length))
		}
	}
	return nil
}

// verify tells why the file is not what was asked for, nil if it is.
func verify(r io.ReaderAt, size int64, id string) error {
	f, err := readImage(r, size)
	if err != nil {
		return err
	}
	got, err := f.check()
	switch {
	case err != nil:
		return err
	case got == "":
		return errors.New("ELF file without a build ID")
	case got != id:
		return fmt.Errorf("build ID %s, wanted %s", got, id)
	}
	return nil
}

// noEOF makes the end of a file an error like others.
func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
