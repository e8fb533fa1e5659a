package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hdb/testprogs"
)

const source = `
int table[3];
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
int work(int a) { return square(a) + table[a]; }
int main(void) { return work(2); }
`

// object compiles source for macOS.
func object(t testing.TB, arch string) []byte {
	t.Helper()
	dir := t.TempDir()
	c, o := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testprogs.Tool(t, "clang"), "-target", arch+"-apple-macos11", "-g", "-O1", "-c", "-o", o, c).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, out)
	}
	b, err := os.ReadFile(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// program links source, with exports, function starts and a debug map.
func program(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	o, tbd, app := filepath.Join(dir, "a.o"), filepath.Join(dir, "s.tbd"), filepath.Join(dir, "app")
	if err := os.WriteFile(o, object(t, "x86_64"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := "--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos ]\ninstall-name: '/s'\nexports:\n  - targets: [ x86_64-macos ]\n    symbols: [ dyld_stub_binder ]\n...\n"
	if err := os.WriteFile(tbd, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testprogs.Tool(t, "lld"), "-flavor", "darwin", "-arch", "x86_64", "-platform_version", "macos", "11.0", "11.0", "-o", app, o, tbd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("lld: %v\n%s", err, out)
	}
	b, err := os.ReadFile(app)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// archive packs members as ar(5) has them, with BSD's long names for those of "#1/".
func archive(members ...[]byte) []byte {
	b := []byte("!<arch>\n")
	for i, m := range members {
		name := fmt.Sprintf("a%d.o", i)
		if i%2 == 1 { // behind the header, filled up with zeros
			m = append([]byte(name+"\x00\x00\x00\x00"), m...)
			name = "#1/8"
		}
		b = fmt.Appendf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, 1000+i, 0, 0, 0o644, len(m))
		b = append(b, m...)
		if len(b)%2 == 1 {
			b = append(b, '\n')
		}
	}
	return b
}

// joined is a fat file of files of 4 cputypes.
func joined(wide bool, files map[uint32][]byte) []byte {
	be := binary.BigEndian
	magic, size := uint32(fatMagic), 20
	if wide {
		magic, size = fatMagic64, 32
	}
	b := be.AppendUint32(be.AppendUint32(nil, magic), uint32(len(files)))
	off := 8 + size*len(files)
	var body []byte
	for _, cpu := range []uint32{0x0100000c, 0x01000007} {
		f, ok := files[cpu]
		if !ok {
			continue
		}
		b = be.AppendUint32(be.AppendUint32(b, cpu), 0)
		if wide {
			b = be.AppendUint64(be.AppendUint64(b, uint64(off)), uint64(len(f)))
			b = be.AppendUint64(b, 0)
		} else {
			b = be.AppendUint32(be.AppendUint32(b, uint32(off)), uint32(len(f)))
			b = be.AppendUint32(b, 0)
		}
		body = append(body, f...)
		off += len(f)
	}
	return append(b, body...)
}

func TestObjectFile(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64"} {
		f, err := parse("a.o", "", object(t, arch), "", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Arch != arch || f.Type != TypeObject || !f.HasDWARF() {
			t.Errorf("%s: %s, type %d", arch, f.Arch, f.Type)
		}
		var names []string
		for _, s := range f.Symbols() {
			names = append(names, s.Name)
			if got, ok := f.SymbolAt(s.End - 1); !ok || got.Name != s.Name {
				t.Errorf("%s: %s ends at %#x, where %q is", arch, s.Name, s.End, got.Name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(slices.Compact(names), []string{"main", "table", "work"}) && !slices.Equal(names, []string{"main", "work"}) {
			t.Errorf("%s: symbols %v", arch, names)
		}
		if b, err := f.DWARF("info"); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes of __debug_info: %v", arch, len(b), err)
		}
	}
}

func TestProgram(t *testing.T) {
	f, err := parse("app", "", program(t), "x86_64", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	objects, functions := f.DebugMap()
	if len(objects) != 1 || filepath.Base(objects[0].Path) != "a.o" || objects[0].ModTime == 0 {
		t.Errorf("object files %v", objects)
	}
	starts := f.FunctionStarts()
	if len(functions) != 2 || len(starts) != 2 || functions[0].Addr != starts[0] || functions[1].Addr != starts[1] {
		t.Errorf("functions %+v, starts %#x", functions, starts)
	}
	exported := map[string]uint64{}
	for _, s := range f.exports() {
		exported[s.Name] = s.Addr
	}
	for _, fn := range functions {
		if exported[fn.Name] != fn.Addr {
			t.Errorf("%s is exported at %#x, the debug map has it at %#x", fn.Name, exported[fn.Name], fn.Addr)
		}
	}
	if len(f.UUID) != 32 {
		t.Errorf("UUID %q", f.UUID)
	}
}

func TestFatFiles(t *testing.T) {
	x86, arm := object(t, "x86_64"), object(t, "arm64")
	both := map[uint32][]byte{0x01000007: x86, 0x0100000c: arm}
	for _, wide := range []bool{false, true} {
		for arch, want := range map[string]string{"": "x86_64", "x86_64": "x86_64", "arm64": "arm64"} {
			f, err := parse("both", "", joined(wide, both), arch, time.Time{})
			if err != nil || f.Arch != want {
				t.Errorf("%q: %v %v", arch, f, err)
			}
		}
		if f, err := parse("one", "", joined(wide, map[uint32][]byte{0x0100000c: arm}), "", time.Time{}); err != nil || f.Arch != "arm64" {
			t.Errorf("the only one: %v", err)
		}
	}
	var arch *ArchError
	if _, err := parse("both", "", joined(false, both), "i386", time.Time{}); !errors.As(err, &arch) || len(arch.Have) != 2 {
		t.Errorf("none of them: %v", err)
	}
	if _, err := parse("x86", "", x86, "arm64", time.Time{}); !errors.As(err, &arch) {
		t.Errorf("another one: %v", err)
	}
}

func TestArchives(t *testing.T) {
	x86, arm := object(t, "x86_64"), object(t, "arm64")
	lib := archive(x86, arm)
	both := joined(false, map[uint32][]byte{0x01000007: archive(x86), 0x0100000c: archive(arm)})
	for _, tc := range []struct {
		data         []byte
		member, arch string
		want         string
		changed      int64
	}{
		{lib, "a0.o", "", "x86_64", 1000}, {lib, "a1.o", "", "arm64", 1001}, {both, "a0.o", "arm64", "arm64", 1000},
		{lib, "a2.o", "", "", 0}, {x86, "a0.o", "", "", 0}, {lib[:len(lib)-1], "a1.o", "", "", 0},
	} {
		f, err := parse("lib.a", tc.member, tc.data, tc.arch, time.Unix(5, 0))
		switch {
		case tc.want == "" && err == nil:
			t.Errorf("%s: no error", tc.member)
		case tc.want != "" && (err != nil || f.Arch != tc.want || f.ModTime != tc.changed):
			t.Errorf("%s: %+v %v", tc.member, f, err)
		}
	}
}

func TestNotMachO(t *testing.T) {
	for _, data := range []string{"", "abc", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "\xca\xfe\xba\xbe\x00\x00\x00\x3d and more of a Java class"} {
		if _, err := parse("x", "", []byte(data), "", time.Time{}); !errors.Is(err, ErrNotMachO) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// exercise asks for everything that a file has.
func exercise(f *File) {
	for _, name := range []string{"info", "line", "str", "str_offsets", "abbrev"} {
		f.DWARF(name)
	}
	for i := range f.Sections {
		f.Contents(&f.Sections[i])
	}
	for _, s := range f.Symbols() {
		f.SymbolAt(s.Addr)
	}
	f.DebugMap()
}

func FuzzFile(f *testing.F) {
	f.Add(object(f, "x86_64"), "")
	f.Add(program(f), "x86_64")
	f.Add(joined(true, map[uint32][]byte{0x01000007: object(f, "x86_64")}), "")
	f.Fuzz(func(t *testing.T, data []byte, arch string) {
		if m, err := parse("x", "", data, arch, time.Time{}); err == nil {
			exercise(m)
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(archive(object(f, "x86_64"), bytes.Repeat([]byte{0}, 40)), "a0.o")
	f.Add(archive([]byte("x"), []byte("y")), "a1.o")
	f.Fuzz(func(t *testing.T, data []byte, member string) {
		if m, err := parse("x.a", member, data, "", time.Time{}); err == nil {
			exercise(m)
		}
	})
}

// The trie is the part with a graph in it: circles, shared ends and names without end.
func FuzzExports(f *testing.F) {
	f.Add([]byte("\x00\x01_main\x00\x09\x02\x00\x10\x00"))
	f.Add([]byte("\x00\x02a\x00\x00b\x00\x00"))
	f.Fuzz(func(t *testing.T, trie []byte) {
		m := &File{data: trie, Sections: []Section{{Size: 1 << 20}}}
		m.trie.size = uint32(len(trie))
		list := m.exports()
		if len(list) > len(trie) {
			t.Errorf("%d names in %d bytes", len(list), len(trie))
		}
	})
}
