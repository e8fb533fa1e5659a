package macho

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Section finds a section by its name, or by "SEGMENT,NAME"; nil without.
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name || s.Segment+","+s.Name == name {
			return s
		}
	}
	return nil
}

// Contents are a section's bytes; nil when it has none in the file.
func (f *File) Contents(s *Section) ([]byte, error) {
	if s == nil || s.zerofill() || f.Type == TypeDSYM && s.Segment != "__DWARF" {
		return nil, nil
	}
	b := f.bytes(uint64(s.Off), s.Size)
	if uint64(len(b)) < s.Size {
		return nil, fmt.Errorf("%s: section %s: %d of its %d bytes lie in the file", f.Path, s.Name, len(b), s.Size)
	}
	return b, nil
}

// DWARF is the contents of a section that ELF calls ".debug_"+name; nil without. Names
// of sections have 16 bytes at most. Go compresses them, as "__zdebug_"+name.
func (f *File) DWARF(name string) ([]byte, error) {
	short := func(s string) string { return s[:min(16, len(s))] }
	if s := f.Section("__DWARF," + short("__debug_"+name)); s != nil {
		return f.Contents(s)
	}
	s := f.Section("__DWARF," + short("__zdebug_"+name))
	packed, err := f.Contents(s)
	if err != nil || packed == nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.unpacked[name]; ok {
		return b, nil
	}
	b, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.Path, s.Name, err)
	}
	f.unpacked[name] = b
	return b, nil
}

// maxUnpacked bounds a decompressed section; zlib cannot make more than about a
// thousand bytes of one.
const maxUnpacked = 4 << 30

// unpack decompresses "ZLIB", the big-endian size, and a zlib stream. Memory grows
// with what was really read.
func unpack(b []byte) ([]byte, error) {
	if len(b) < 12 || string(b[:4]) != "ZLIB" {
		return nil, fmt.Errorf("no compression header")
	}
	size := binary.BigEndian.Uint64(b[4:])
	if size > maxUnpacked || size/1100 > uint64(len(b)) {
		return nil, fmt.Errorf("%d bytes cannot become %d", len(b), size)
	}
	r, err := zlib.NewReader(bytes.NewReader(b[12:]))
	if err != nil {
		return nil, fmt.Errorf("zlib: %w", err)
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

// HasDWARF reports whether the file has debugging entries of its own.
func (f *File) HasDWARF() bool {
	for _, name := range []string{"__DWARF,__debug_info", "__DWARF,__zdebug_info"} {
		if s := f.Section(name); s != nil && s.Size > 0 {
			return true
		}
	}
	return false
}
