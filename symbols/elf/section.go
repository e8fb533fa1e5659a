package elf

import (
	"bytes"
	delf "debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"hdb/internal/addr"
	"hdb/internal/elfnote"
)

// SectionIndex is the index in Sections of the first section of that name with
// contents, -1 without.
func (f *File) SectionIndex(name string) int {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return i
		}
	}
	return -1
}

// Section returns the contents of a section, decompressed. nil without error
// means that the file has none (or only its header, as in a stripped-out debug
// file). The bytes end with the File and must not be changed. A section
// .zdebug_x answers to the name .debug_x.
func (f *File) Section(name string) ([]byte, error) {
	i := f.eitherIndex(name)
	if i < 0 {
		return nil, nil
	}
	return f.Contents(i)
}

// eitherIndex is the index of the section, or of its .zdebug_ form, -1 without.
func (f *File) eitherIndex(name string) int {
	i := f.SectionIndex(name)
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok && i < 0 {
		i = f.SectionIndex(".zdebug_" + rest)
	}
	return i
}

// PackedSize is how many bytes the section, or its .zdebug_ form, takes in the file; 0 if it is
// not compressed.
func (f *File) PackedSize(name string) uint64 {
	i := f.eitherIndex(name)
	if i < 0 || f.Sections[i].Flags&delf.SHF_COMPRESSED == 0 && !strings.HasPrefix(f.Sections[i].Name, ".zdebug_") {
		return 0
	}
	return f.Sections[i].Size
}

// HasSection reports whether the section, or its .zdebug_ form, has contents.
func (f *File) HasSection(name string) bool {
	i := f.eitherIndex(name)
	return i >= 0 && f.Sections[i].Type != delf.SHT_NOBITS && f.Sections[i].Size > 0
}

// Contents returns the contents of Sections[i], decompressed.
func (f *File) Contents(i int) ([]byte, error) {
	s := &f.Sections[i]
	if s.Type == delf.SHT_NOBITS {
		return nil, nil
	}
	raw := f.bytes(s.Off, s.Size)
	if uint64(len(raw)) < s.Size {
		return nil, fmt.Errorf("%s: section %s: %d of its %d bytes lie in the file", f.Path, s.Name, len(raw), s.Size)
	}
	packed := s.Flags&delf.SHF_COMPRESSED != 0
	old := strings.HasPrefix(s.Name, ".zdebug_") && bytes.HasPrefix(raw, []byte("ZLIB"))
	if !packed && !old {
		return raw, nil
	}
	f.mu.Lock()
	u := f.unpacked[i]
	if u == nil {
		u = &section{}
		f.unpacked[i] = u
	}
	f.mu.Unlock()
	u.once.Do(func() {
		if packed {
			u.data, u.err = unpack(raw)
		} else {
			u.data, u.err = UnpackOld(raw)
		}
		if u.err != nil {
			u.err = fmt.Errorf("%s: section %s: %w", f.Path, s.Name, u.err)
		}
	})
	return u.data, u.err
}

// maxUnpacked bounds a decompressed section; real ones stay below a few GiB and
// zlib cannot make more than about a thousand bytes of one.
const maxUnpacked = 4 << 30

// unpack decompresses a section with an Elf64_Chdr (System V gABI, "Section
// compression").
func unpack(raw []byte) ([]byte, error) {
	if len(raw) < 24 {
		return nil, fmt.Errorf("compression header cut after %d bytes", len(raw))
	}
	kind := delf.CompressionType(binary.LittleEndian.Uint32(raw))
	return decompress(kind, binary.LittleEndian.Uint64(raw[8:]), raw[24:])
}

// UnpackOld decompresses what GNU tools wrote into .zdebug_ before there was a header
// for it, and those of macOS into __zdebug_: "ZLIB", the big-endian size, a zlib stream.
func UnpackOld(raw []byte) ([]byte, error) {
	if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
		return nil, errors.New("no compression header")
	}
	return decompress(delf.COMPRESS_ZLIB, binary.BigEndian.Uint64(raw[4:]), raw[12:])
}

// decompress reads size bytes out of what is packed.
func decompress(kind delf.CompressionType, size uint64, raw []byte) ([]byte, error) {
	if size > maxUnpacked {
		return nil, fmt.Errorf("%d bytes when decompressed exceed the limit of %d", size, uint64(maxUnpacked))
	}
	switch kind {
	case delf.COMPRESS_ZLIB:
		if proportionate(size, uint64(len(raw))) {
			out := make([]byte, size)
			if inflateZlib(out, raw) == nil {
				return out, nil
			}
		}
		r, err := zlib.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		return readExactly(r, size, uint64(len(raw)))
	case delf.COMPRESS_ZSTD:
		r, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer r.Close()
		return readExactly(r, size, uint64(len(raw)))
	}
	return nil, fmt.Errorf("compression type %d is unknown", uint32(kind))
}

// proportionate tells sizes of real files from those made up to use up memory.
func proportionate(size, packed uint64) bool { return size/64 <= packed }

// readExactly reads size bytes. The size is foreign: memory grows with what was
// really read when it is out of proportion to the packed length.
func readExactly(r io.Reader, size, packed uint64) ([]byte, error) {
	if proportionate(size, packed) {
		out := make([]byte, size)
		if n, err := io.ReadFull(r, out); err != nil {
			return nil, fmt.Errorf("decompress byte %d of %d: %w", n, size, err)
		}
		return out, nil
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("decompress byte %d of %d: %w", len(out), size, err)
	}
	if uint64(len(out)) != size {
		return nil, fmt.Errorf("decompressed to %d bytes, header says %d", len(out), size)
	}
	return out, nil
}

// notes yields the notes of each section SHT_NOTE, or where there are no sections, of each
// segment PT_NOTE, which in a debug file may be NOBITS.
func (f *File) notes(yield func([]byte) bool) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == delf.SHT_NOTE && !yield(f.bytes(s.Off, s.Size)) {
			return
		}
	}
	if len(f.Sections) == 0 {
		for _, p := range f.progs {
			if p.typ == delf.PT_NOTE && !yield(f.bytes(p.off, p.filesz)) {
				return
			}
		}
	}
}

// BuildID is the NT_GNU_BUILD_ID note in hexadecimal, "" without.
func (f *File) BuildID() string {
	for notes := range f.notes {
		if id := elfnote.BuildID(binary.LittleEndian, notes); id != "" {
			return id
		}
	}
	return ""
}

// GoBuildID is the build ID that the Go toolchain gives files, "" without.
func (f *File) GoBuildID() string {
	for notes := range f.notes {
		if id := elfnote.GoBuildID(binary.LittleEndian, notes); id != "" {
			return id
		}
	}
	return ""
}

// IsGo reports whether the Go toolchain linked the file.
func (f *File) IsGo() bool {
	for i := range f.Sections {
		switch f.Sections[i].Name {
		case ".go.buildinfo", ".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid":
			return true
		}
	}
	return false
}

// maxPath bounds the paths that a file names, as the kernel does (PATH_MAX).
const maxPath = 4096

// DebugLink is the contents of .gnu_debuglink: the base name of the debug file
// and the CRC32 of its bytes.
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	b, err := f.Section(".gnu_debuglink")
	if err != nil {
		return "", 0, false
	}
	name = cstring(b)
	at := (len(name) + 1 + 3) &^ 3
	if name == "" || len(name) > maxPath || at+4 > len(b) || strings.ContainsRune(name, '/') {
		return "", 0, false
	}
	return name, binary.LittleEndian.Uint32(b[at:]), true
}

// AltLink is the contents of .gnu_debugaltlink or of DWARF 5's .debug_sup: the path
// and build ID (checksum) of the file that dwz moved shared entries to.
func (f *File) AltLink() (path, buildID string, ok bool) {
	b, err := f.Section(".gnu_debugaltlink")
	if err != nil {
		return "", "", false
	}
	if len(b) == 0 {
		path, buildID, is, ok := f.supplementary()
		return path, buildID, ok && !is && path != ""
	}
	path = cstring(b)
	if path == "" || len(path) > maxPath || len(path)+1 > len(b) || len(b)-len(path) > 65 {
		return "", "", false
	}
	return path, hex.EncodeToString(b[len(path)+1:]), true
}

// AltID is what an AltLink calls this file: its build ID, or the checksum of a
// .debug_sup that says that the file is supplementary.
func (f *File) AltID() string {
	if id := f.BuildID(); id != "" {
		return id
	}
	_, id, is, ok := f.supplementary()
	if !ok || !is {
		return ""
	}
	return id
}

// supplementary reads .debug_sup (DWARF 5 section 7.3.6). is says that the file is
// the supplementary one itself; else path and id name it.
func (f *File) supplementary() (path, id string, is, ok bool) {
	b, err := f.Section(".debug_sup")
	if err != nil || len(b) < 4 || binary.LittleEndian.Uint16(b) != 5 || b[2] > 1 {
		return "", "", false, false
	}
	is, b = b[2] == 1, b[3:]
	path = cstring(b)
	if len(path) > maxPath || len(path)+1 > len(b) {
		return "", "", false, false
	}
	b = b[len(path)+1:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) || size > 64 {
		return "", "", false, false
	}
	return path, hex.EncodeToString(b[n:][:size]), is, true
}

// CRC32 is the checksum of the whole file that a debug link names.
func (f *File) CRC32() uint32 { return crc32.ChecksumIEEE(f.data) }

// dynamic is the value of the first entry of the dynamic section with that tag.
func (f *File) dynamic(tag delf.DynTag) (uint64, bool) {
	for _, p := range f.progs {
		if p.typ != delf.PT_DYNAMIC {
			continue
		}
		b := f.bytes(p.off, p.filesz)
		for ; len(b) >= 16; b = b[16:] {
			t := delf.DynTag(binary.LittleEndian.Uint64(b))
			if t == delf.DT_NULL {
				break
			}
			if t == tag {
				return binary.LittleEndian.Uint64(b[8:]), true
			}
		}
	}
	return 0, false
}

// IsPIE reports whether an ET_DYN file is marked as an executable (DF_1_PIE), as
// static PIEs are, which name no interpreter.
func (f *File) IsPIE() bool {
	flags, _ := f.dynamic(delf.DT_FLAGS_1)
	return flags&uint64(delf.DF_1_PIE) != 0
}

// PLTGOT is DT_PLTGOT, the address of the global offset table.
func (f *File) PLTGOT() (addr.File, bool) {
	v, ok := f.dynamic(delf.DT_PLTGOT)
	return addr.File(v), ok
}
