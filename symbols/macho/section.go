package macho

import (
	"fmt"

	"hdb/symbols/elf"
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
	b, err := elf.UnpackOld(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.Path, s.Name, err)
	}
	f.unpacked[name] = b
	return b, nil
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
