package symbols_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// mac is a program of macOS, linked here from an object file and an archive.
type mac struct{ dir, app, arch string }

// buildMac compiles testdata/mac; flags are clang's.
func buildMac(t testing.TB, arch string, flags ...string) mac {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"main.c", "helper.c", "shape.cc", "libSystem.tbd"} {
		text, err := os.ReadFile(filepath.Join("testdata", "mac", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := mac{dir, filepath.Join(dir, "app"), arch}
	for _, name := range []string{"main.c", "helper.c", "shape.cc"} {
		out := filepath.Join(dir, strings.TrimSuffix(name, path.Ext(name))+".o")
		args := append([]string{"-target", m.triple(), "-nostdinc++", "-c", "-g", "-o", out}, flags...)
		run(t, "clang", append(args, filepath.Join(dir, name))...)
	}
	run(t, "llvm-ar", "rcsU", "--format=darwin", m.file("libh.a"), m.file("helper.o"), m.file("shape.o"))
	m.link(t, m.app)
	return m
}

func (m mac) file(name string) string { return filepath.Join(m.dir, name) }

func (m mac) triple() string { return m.arch + "-apple-macos11" }

func (m mac) link(t testing.TB, out string, flags ...string) {
	t.Helper()
	args := []string{"-flavor", "darwin", "-arch", m.arch, "-platform_version", "macos", "11.0", "11.0", "-o", out}
	args = append(args, flags...)
	run(t, "lld", append(args, m.file("main.o"), m.file("libh.a"), m.file("libSystem.tbd"))...)
}

func (m mac) dsym(t testing.TB, out string) {
	t.Helper()
	run(t, "dsymutil", m.app, "-o", out)
}

func openMac(t testing.TB, path string, cfg symbols.MachOConfig) *symbols.MachO {
	t.Helper()
	o, err := symbols.OpenMachO(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// textOf lists addresses of the code, n apart.
func textOf(t testing.TB, o *symbols.MachO, n addr.File) (list []addr.File) {
	t.Helper()
	for _, s := range o.Segments() {
		if s.Exec {
			at, size := sectionRange(t, o, "__TEXT,__text", s)
			for a := at; a < at+size; a += n {
				list = append(list, a)
			}
		}
	}
	if len(list) == 0 {
		t.Fatal("no code")
	}
	return list
}

func sectionRange(t testing.TB, o *symbols.MachO, name string, s symbols.Segment) (at, size addr.File) {
	t.Helper()
	data, at, ok := o.Section(name)
	if !ok {
		t.Fatalf("no section %s", name)
	}
	if len(data) == 0 { // in a dSYM
		return at, addr.File(s.Memsz) - (at - s.Addr)
	}
	return at, addr.File(len(data))
}

// compareMac compares all code with llvm-symbolizer's answers for a file.
func compareMac(t *testing.T, o *symbols.MachO, oracle string, list []addr.File) {
	t.Helper()
	theirs := askAddr2line(t, "llvm-symbolizer", oracle, list)
	bad := 0
	for i, a := range list {
		mine := ours(o, a)
		d := difference(mine, theirs[i])
		if d == "line" && len(mine) == 1 && theirs[i][0].line == 0 && o.Lookup(a)[0].Source == symbols.FromSymtab {
			continue // padding: the line table of an object file reaches over it, that of a dSYM ends with the function
		}
		if d != "" {
			if bad++; bad <= 5 {
				t.Errorf("%s differs at %v:\n  ours   %v\n  theirs %v", d, a, mine, theirs[i])
			}
		}
	}
}

// TestMacAgainstLLVM compares functions, lines and inlined chains at every address: of a
// dSYM, of a program with a dSYM beside it, elsewhere, and of object files and archives
// through the debug map.
func TestMacAgainstLLVM(t *testing.T) {
	testprogs.SkipUnderRace(t)
	for _, arch := range []string{"x86_64", "arm64"} {
		for _, flags := range []string{"-O0 -gdwarf-4", "-O1 -gdwarf-4", "-O2 -gdwarf-2"} {
			if testing.Short() && (arch == "arm64") != (flags == "-O1 -gdwarf-4") {
				continue // each architecture and each version of DWARF once; llvm takes seconds for each
			}
			t.Run(arch+strings.ReplaceAll(flags, " ", ""), func(t *testing.T) {
				m := buildMac(t, arch, strings.Fields(flags)...)
				alone := openMac(t, m.app, symbols.MachOConfig{})
				list := textOf(t, alone, 1)
				m.dsym(t, m.app+".dSYM")
				dsym := m.app + ".dSYM/Contents/Resources/DWARF/app"
				for name, o := range map[string]*symbols.MachO{
					"bundle": openMac(t, m.app+".dSYM", symbols.MachOConfig{}),
					"beside": openMac(t, m.app, symbols.MachOConfig{Arch: arch}),
				} {
					t.Run(name, func(t *testing.T) { compareMac(t, o, dsym, list) })
				}
				t.Run("debug map", func(t *testing.T) { compareMac(t, alone, dsym, list) })
				if p := alone.Problems(); len(p) > 0 {
					t.Errorf("problems: %v", p)
				}
				if err := os.Rename(m.app+".dSYM", m.file("elsewhere.dSYM")); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(m.file("main.o")); err != nil {
					t.Fatal(err)
				}
				t.Run("by UUID", func(t *testing.T) {
					compareMac(t, openMac(t, m.app, symbols.MachOConfig{DebugDirs: []string{m.dir}}), m.file("elsewhere.dSYM/Contents/Resources/DWARF/app"), list)
				})
			})
		}
	}
}

// dsymutil of LLVM 14 makes nothing useful of DWARF 5, but it is read in object files: the
// same code has the same lines as with DWARF 4.
func TestMacDWARF5(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64"} {
		old := openMac(t, buildMac(t, arch, "-O2", "-gdwarf-4").app, symbols.MachOConfig{})
		o := openMac(t, buildMac(t, arch, "-O2", "-gdwarf-5").app, symbols.MachOConfig{})
		for _, a := range textOf(t, o, 1) {
			if five, four := ours(o, a), ours(old, a); !slices.Equal(five, four) {
				t.Fatalf("%s: %v is %v with DWARF 5, %v with DWARF 4", arch, a, five, four)
			}
		}
		if p := o.Problems(); len(p) > 0 {
			t.Errorf("problems: %v", p)
		}
	}
}

// A dSYM of another build, an object file that was changed, and one that is gone are
// not used, and named.
func TestMacOtherBuild(t *testing.T) {
	m := buildMac(t, "x86_64", "-O1")
	m.dsym(t, m.app+".dSYM")
	m.link(t, m.app, "-headerpad", "0x1000")
	o := openMac(t, m.app, symbols.MachOConfig{})
	if p := o.Problems(); len(p) != 1 || !strings.Contains(p[0], "UUID") {
		t.Errorf("a dSYM of another build: %q", p)
	}
	if err := os.RemoveAll(m.app + ".dSYM"); err != nil {
		t.Fatal(err)
	}
	list := textOf(t, o, 1)
	if err := os.Chtimes(m.file("main.o"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.file("libh.a")); err != nil {
		t.Fatal(err)
	}
	o = openMac(t, m.app, symbols.MachOConfig{})
	for _, a := range list {
		for _, f := range o.Lookup(a) {
			if f.File != "" || f.Source != symbols.FromSymtab {
				t.Fatalf("%v is %+v by files that are not those that were linked", a, f)
			}
		}
	}
	if p := strings.Join(o.Problems(), "\n"); !strings.Contains(p, "main.o: changed") || !strings.Contains(p, "libh.a") {
		t.Errorf("problems %q", p)
	}
}

// Stripped programs have exports and function starts: code of a function without a
// name is not called after the one before it.
func TestMacStripped(t *testing.T) {
	m := buildMac(t, "x86_64", "-O1")
	full := openMac(t, m.app, symbols.MachOConfig{})
	list := textOf(t, full, 1)
	lib := m.file("stripped")
	m.link(t, lib, "-dylib", "-x", "-S")
	if out, err := exec.Command(testprogs.Tool(t, "llvm-strip"), "-x", lib).CombinedOutput(); err != nil {
		t.Fatalf("llvm-strip: %v\n%s", err, out)
	}
	o := openMac(t, lib, symbols.MachOConfig{})
	names := map[string]int{}
	for a := list[0]; a < list[len(list)-1]; a++ {
		for _, f := range o.Lookup(a - list[0] + textOf(t, o, 1<<20)[0]) {
			names[f.Function]++
		}
	}
	if names["main"] == 0 || names["helper"] == 0 || names["local"] != 0 {
		t.Errorf("functions %v", names)
	}
}

// fat joins Mach-O files as lipo does (<mach-o/fat.h>).
func fat(t testing.TB, out string, files map[uint32]string) {
	t.Helper()
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint32(nil, 0xcafebabe), uint32(len(files)))
	const align = 1 << 14
	off := uint32(align)
	var body []byte
	for _, cpu := range []uint32{0x01000007, 0x0100000c} {
		data, err := os.ReadFile(files[cpu])
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []uint32{cpu, 0, off, uint32(len(data)), 14} {
			b = be.AppendUint32(b, v)
		}
		data = append(data, make([]byte, align-len(data)%align)...)
		body = append(body, data...)
		off += uint32(len(data))
	}
	b = append(b, make([]byte, align-len(b))...)
	if err := os.WriteFile(out, append(b, body...), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestMacFat(t *testing.T) {
	x86, arm := buildMac(t, "x86_64", "-O1"), buildMac(t, "arm64", "-O1")
	both := filepath.Join(t.TempDir(), "both")
	fat(t, both, map[uint32]string{0x01000007: x86.app, 0x0100000c: arm.app})
	for arch, m := range map[string]mac{"": x86, "x86_64": x86, "arm64": arm} {
		o, alone := openMac(t, both, symbols.MachOConfig{Arch: arch}), openMac(t, m.app, symbols.MachOConfig{})
		if o.Arch() != m.arch || o.UUID() != alone.UUID() {
			t.Errorf("--arch %q opens %s", arch, o.Arch())
		}
		for _, a := range textOf(t, alone, 3) {
			if !slices.Equal(ours(o, a), ours(alone, a)) {
				t.Fatalf("%v is %v in the fat file, else %v", a, ours(o, a), ours(alone, a))
			}
		}
	}
	if _, err := symbols.OpenMachO(both, symbols.MachOConfig{Arch: "arm64e"}); err == nil || !strings.Contains(err.Error(), "x86_64, arm64, not for arm64e") {
		t.Errorf("an architecture that is not there: %v", err)
	}
}

// Go's programs have compressed DWARF of their own.
func TestMacGo(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/mix.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	source, app := filepath.Join(dir, "mix.go"), filepath.Join(dir, "mix")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", app, source)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	o := openMac(t, app, symbols.MachOConfig{})
	found := false
	for _, a := range textOf(t, o, 64) {
		for _, f := range o.Lookup(a) {
			found = found || strings.HasPrefix(f.Function, "main.") && f.Source == symbols.FromDWARF && path.Base(f.File) == "mix.go" && f.Line > 0
		}
	}
	if !found {
		t.Error("no function of main has a line")
	}
}

func TestIsMachO(t *testing.T) {
	m := buildMac(t, "x86_64", "-O1")
	java := m.file("Class")
	if err := os.WriteFile(java, []byte("\xca\xfe\xba\xbe\x00\x00\x00\x3d"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{m.app: true, m.file("main.o"): true, java: false, m.file("main.c"): false, "/bin/true": false, m.dir: false} {
		if got := symbols.IsMachO(path); got != want {
			t.Errorf("IsMachO(%s) is %v", path, got)
		}
	}
	if _, err := symbols.OpenMachO(m.file("main.c"), symbols.MachOConfig{}); err == nil {
		t.Error("a text opens")
	}
}
