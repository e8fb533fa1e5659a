package symbols_test

import (
	delf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"hdb/symbols"
	"hdb/symbols/elf"
)

// splitSeed is a program of skeletons and the sections of its package.
type splitSeed struct {
	prog     string
	sections map[string][]byte
}

// splitNames are the sections that the fuzzer changes.
var splitNames = []string{".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str_offsets.dwo", ".debug_rnglists.dwo", ".debug_types.dwo",
	".debug_cu_index", ".debug_tu_index"}

// splitSeeds compiles the program, so that no good .dwo file is where it is looked for.
func splitSeeds(t testing.TB) []splitSeed {
	t.Helper()
	var seeds []splitSeed
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		dir := t.TempDir()
		copyTo(t, "testdata/inline.c", filepath.Join(dir, "inline.c"))
		runIn(t, dir, "clang", "-g", "-O2", version, "-gsplit-dwarf", "-fdebug-types-section", "-c", "inline.c", "-o", "inline.o")
		runIn(t, dir, "clang", "-o", "prog", "inline.o")
		runIn(t, dir, "llvm-dwp", "-e", "prog", "-o", "packed")
		f, err := elf.Open(filepath.Join(dir, "packed"))
		if err != nil {
			t.Fatal(err)
		}
		s := splitSeed{filepath.Join(dir, "prog"), map[string][]byte{}}
		for i := range f.Sections {
			if b, err := f.Contents(i); err == nil && f.Sections[i].Type == delf.SHT_PROGBITS {
				s.sections[f.Sections[i].Name] = append([]byte{}, b...)
			}
		}
		f.Close()
		if err := os.Remove(filepath.Join(dir, "inline.dwo")); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, s)
	}
	return seeds
}

// sectionFile is an ELF file with these sections and nothing else.
func sectionFile(names []string, contents [][]byte) []byte {
	const header, entry = 64, 64 // bytes of Elf64_Ehdr and Elf64_Shdr
	le := binary.LittleEndian
	table := []byte{0}
	file := make([]byte, header)
	heads := make([]byte, entry)
	add := func(name string, typ delf.SectionType, b []byte) {
		h := make([]byte, entry)
		le.PutUint32(h, uint32(len(table)))
		le.PutUint32(h[4:], uint32(typ))
		table = append(append(table, name...), 0)
		if typ == delf.SHT_STRTAB {
			b = table
		}
		le.PutUint64(h[24:], uint64(len(file)))
		le.PutUint64(h[32:], uint64(len(b)))
		file, heads = append(file, b...), append(heads, h...)
	}
	for i, name := range names {
		add(name, delf.SHT_PROGBITS, contents[i])
	}
	add(".shstrtab", delf.SHT_STRTAB, nil)
	copy(file, delf.ELFMAG)
	file[4], file[5], file[6] = byte(delf.ELFCLASS64), byte(delf.ELFDATA2LSB), 1
	le.PutUint16(file[16:], uint16(delf.ET_REL))
	le.PutUint16(file[18:], uint16(delf.EM_X86_64))
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[40:], uint64(len(file)))
	le.PutUint16(file[52:], header)
	le.PutUint16(file[58:], entry)
	le.PutUint16(file[60:], uint16(len(heads)/entry))
	le.PutUint16(file[62:], uint16(len(heads)/entry-1))
	return append(file, heads...)
}

// useSplit gives a program those sections as its .dwo or as its .dwp file, and asks it
// everything. It tells whether a function of DWARF was found.
func useSplit(t testing.TB, prog, dir string, packed bool, contents [][]byte, rest map[string][]byte) bool {
	names := append([]string{}, splitNames...)
	for name, b := range rest {
		names, contents = append(names, name), append(contents, b)
	}
	// Assemblers leave types in several sections of one name.
	names, contents = append(names, ".debug_types.dwo"), append(contents, contents[4])
	file := "inline.dwo"
	if packed {
		file = "prog.dwp"
	}
	if err := os.WriteFile(filepath.Join(dir, file), sectionFile(names, contents), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(dir, file))
	copied := filepath.Join(dir, "prog")
	os.Remove(copied)
	if err := os.Link(prog, copied); err != nil {
		t.Fatal(err)
	}
	o, err := symbols.Open(copied, symbols.Config{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	askAll(o)
	found := o.FindFunctions("work")
	return len(found) > 0 && found[0].Source == symbols.FromDWARF
}

// FuzzSplit reads .dwo and .dwp files whose sections are foreign.
func FuzzSplit(f *testing.F) {
	seeds := splitSeeds(f)
	for i, s := range seeds {
		var c [][]byte
		rest := map[string][]byte{}
		for name, b := range s.sections {
			rest[name] = b
		}
		for _, name := range splitNames {
			c = append(c, s.sections[name])
			delete(rest, name)
		}
		seeds[i].sections = rest
		for _, packed := range []bool{false, true} {
			if !useSplit(f, s.prog, f.TempDir(), packed, c, rest) {
				f.Fatalf("the program %d finds nothing in its good file", i)
			}
			f.Add(byte(i), packed, c[0], c[1], c[2], c[3], c[4], c[5], c[6])
		}
	}
	f.Fuzz(func(t *testing.T, which byte, packed bool, info, abbrev, offsets, lists, types, cu, tu []byte) {
		s := seeds[int(which)%len(seeds)]
		useSplit(t, s.prog, t.TempDir(), packed, [][]byte{info, abbrev, offsets, lists, types, cu, tu}, s.sections)
	})
}
