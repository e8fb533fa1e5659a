package symbols_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	header := func(class elf.Class, order elf.Data, machine elf.Machine) []byte {
		h := make([]byte, 64)
		copy(h, elf.ELFMAG)
		h[4], h[5], h[6] = byte(class), byte(order), 1
		h[16], h[18], h[19] = 2, byte(machine), byte(machine>>8)
		if order == elf.ELFDATA2MSB {
			h[18], h[19] = h[19], h[18]
		}
		return h
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		is   error
		text string
	}{
		{pipe, symbols.ErrNotELF, "not a regular file"},
		{filepath.Join(dir, "none"), fs.ErrNotExist, "no such file"},
		{dir, symbols.ErrNotELF, "not a regular file"},
		{write("empty", nil), symbols.ErrNotELF, "0 bytes"},
		{write("script", []byte("#!/bin/sh\necho hello\n")), symbols.ErrNotELF, "script: not an ELF file"},
		{write("i386", header(elf.ELFCLASS32, elf.ELFDATA2LSB, elf.EM_386)), nil, "32-bit little-endian file for i386"},
		{write("arm64", header(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_AARCH64)), nil, "64-bit little-endian file for aarch64"},
		{write("s390", header(elf.ELFCLASS64, elf.ELFDATA2MSB, elf.EM_S390)), nil, "64-bit big-endian file for s390"},
		{write("cut", header(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64)[:40]), nil, "ELF header cut after 40 bytes"},
	} {
		_, err := symbols.Open(c.path, symbols.Config{})
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("Open(%s) = %v, want %q", c.path, err, c.text)
		}
	}
	_, err := symbols.Open(filepath.Join(dir, "arm64"), symbols.Config{})
	var arch *symbols.ArchError
	if !errors.As(err, &arch) || arch.Machine != "aarch64" || arch.Class != 64 {
		t.Errorf("error for arm64 is %#v", err)
	}
}

func TestInfo(t *testing.T) {
	for _, c := range []struct {
		build string
		want  func(symbols.Info) bool
	}{
		{"gcc -g -O2 inline.c", func(i symbols.Info) bool {
			return i.PIE && !i.Static && i.Interp != "" && i.Debug == symbols.DebugDWARF && i.DWARFVersion == 5 && i.Units == 1 && slices.Equal(i.Languages, []string{"c"})
		}},
		{"gcc -g -O2 -gdwarf-2 -gstrict-dwarf inline.c", func(i symbols.Info) bool { return i.DWARFVersion == 2 }},
		{"gcc -g -O2 -static inline.c", func(i symbols.Info) bool { return !i.PIE && i.Static && i.Type == "executable" }},
		{"gcc -O2 -static-pie inline.c", func(i symbols.Info) bool { return i.PIE && i.Static && i.Debug == symbols.DebugSymtab }},
		{"gcc -O2 -no-pie inline.c", func(i symbols.Info) bool { return !i.PIE && !i.Static && i.Type == "executable" }},
		{"gcc -O2 -s inline.c", func(i symbols.Info) bool { return i.Debug == symbols.DebugDynsym }},
		{"gcc -shared -fPIC inline.c", func(i symbols.Info) bool { return i.Type == "shared object" && !i.PIE && !i.Static }},
		{"g++ -g -O2 mix.cc", func(i symbols.Info) bool { return slices.Equal(i.Languages, []string{"c++"}) }},
		{"go build mix.go.txt", func(i symbols.Info) bool { return i.Go && i.Debug == symbols.DebugDWARF }},
	} {
		o := open(t, build(t, c.build), symbols.Config{})
		if i := o.Info(); !c.want(i) || i.Machine != "x86-64" || i.Class != 64 || i.Problem != "" {
			t.Errorf("%s: %+v", c.build, i)
		}
	}
}

// TestSeparateDebugFile strips a program in every way that distributions do and
// expects the answers of the whole one.
func TestSeparateDebugFile(t *testing.T) {
	whole := build(t, "gcc -g -O2 inline.c")
	want := open(t, whole, symbols.Config{})
	copyTo := func(dir string) string {
		p := filepath.Join(dir, "prog")
		run(t, "cp", whole, p)
		return p
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) (prog string, cfg symbols.Config)
	}{
		{"build-id", func(t *testing.T, dir string) (string, symbols.Config) {
			p := copyTo(dir)
			id := want.File.BuildID()
			debug := filepath.Join(dir, "debug", ".build-id", id[:2], id[2:]+".debug")
			os.MkdirAll(filepath.Dir(debug), 0o755)
			run(t, "objcopy", "--only-keep-debug", "--compress-debug-sections", p, debug)
			run(t, "strip", p)
			return p, symbols.Config{DebugDirs: []string{filepath.Join(dir, "debug")}}
		}},
		{"sysroot", func(t *testing.T, dir string) (string, symbols.Config) {
			p := copyTo(dir)
			id := want.File.BuildID()
			debug := filepath.Join(dir, "root/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
			os.MkdirAll(filepath.Dir(debug), 0o755)
			run(t, "objcopy", "--only-keep-debug", p, debug)
			run(t, "strip", p)
			return p, symbols.Config{Sysroot: filepath.Join(dir, "root")}
		}},
		{"debuglink beside", func(t *testing.T, dir string) (string, symbols.Config) {
			p := copyTo(dir)
			run(t, "objcopy", "--only-keep-debug", p, p+".dbg")
			run(t, "strip", p)
			run(t, "objcopy", "--add-gnu-debuglink="+p+".dbg", p)
			return p, symbols.Config{}
		}},
		{"debuglink without build ID", func(t *testing.T, dir string) (string, symbols.Config) {
			p := copyTo(dir)
			run(t, "objcopy", "--remove-section=.note.gnu.build-id", p)
			os.Mkdir(filepath.Join(dir, ".debug"), 0o755)
			link := filepath.Join(dir, ".debug", "prog.dbg")
			run(t, "objcopy", "--only-keep-debug", p, link)
			run(t, "strip", p)
			run(t, "objcopy", "--add-gnu-debuglink="+link, p)
			return p, symbols.Config{}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, cfg := c.make(t, t.TempDir())
			o := open(t, p, cfg)
			info := o.Info()
			if info.Debug != symbols.DebugDWARF || info.DebugFile == "" || info.Problem != "" {
				t.Fatalf("info %+v", info)
			}
			for _, a := range codeAddresses(want, 300) {
				if got, want := o.Lookup(a), want.Lookup(a); !slices.Equal(got, want) {
					t.Errorf("%v: %v, whole %v", a, got, want)
				}
			}
		})
	}
}

// TestWrongDebugFile gives a debug file of another build, which must not be used.
func TestWrongDebugFile(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "prog")
	run(t, "cp", build(t, "gcc -g -O2 inline.c"), p)
	run(t, "objcopy", "--only-keep-debug", p, p+".dbg")
	run(t, "strip", p)
	run(t, "objcopy", "--add-gnu-debuglink="+p+".dbg", p)
	run(t, "objcopy", "--only-keep-debug", build(t, "gcc -g -O0 inline.c"), p+".dbg")
	info := open(t, p, symbols.Config{}).Info()
	if info.Debug != symbols.DebugDynsym || !strings.Contains(info.Problem, "build ID") {
		t.Errorf("other build ID: %+v", info)
	}

	run(t, "objcopy", "--remove-section=.note.gnu.build-id", p)
	info = open(t, p, symbols.Config{}).Info()
	if info.Debug != symbols.DebugDynsym || !strings.Contains(info.Problem, "checksum") {
		t.Errorf("other checksum: %+v", info)
	}
}

func TestStrippedAndStubs(t *testing.T) {
	whole := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{})
	work := whole.FindFunctions("work")[0]
	if o := open(t, build(t, "gcc -O2 inline.c"), symbols.Config{}); true {
		f := o.Lookup(o.FindFunctions("work")[0].Low + 3)
		if len(f) != 1 || f[0].Function != "work" || f[0].Source != symbols.FromSymtab || f[0].Line != 0 {
			t.Errorf("without debug information: %+v", f)
		}
	}
	o := open(t, build(t, "gcc -O2 -s inline.c"), symbols.Config{})
	if f := o.Lookup(work.Low); f != nil {
		t.Errorf("stripped: %+v", f)
	}
	stub := regexp.MustCompile(`(?m)^([0-9a-f]+) <(\w+@plt)>:`)
	found := stub.FindAllStringSubmatch(run(t, "objdump", "-d", whole.File.Path()), -1)
	if len(found) < 2 {
		t.Fatalf("objdump names %d stubs", len(found))
	}
	for _, m := range found {
		sym, off, ok := whole.Symtab.SymbolAt(parseAddr(m[1]) + 4)
		if !ok || sym.Name != m[2] || off != 4 {
			t.Errorf("stub %s: %+v+%d", m[2], sym, off)
		}
	}
}

// TestStrippedGo reads the table that the runtime keeps, and compares with DWARF.
func TestStrippedGo(t *testing.T) {
	whole := open(t, build(t, "go build mix.go.txt"), symbols.Config{})
	o := open(t, build(t, "go build -ldflags=-s mix.go.txt"), symbols.Config{})
	if i := o.Info(); i.Debug != symbols.DebugPclntab || !i.Go {
		t.Fatalf("info %+v", i)
	}
	for _, name := range []string{"main.main", "runtime.mallocgc", "mallocgc"} {
		got, want := o.FindFunctions(name), whole.FindFunctions(name)
		if len(got) != 1 || len(want) != 1 || got[0].Source != symbols.FromPclntab || got[0].DeclLine != want[0].DeclLine {
			t.Errorf("%s: %+v, whole %+v", name, got, want)
			continue
		}
		f := o.Lookup(got[0].Low + 1)
		if len(f) != 1 || f[0].Function != want[0].Name || f[0].Line == 0 || filepath.Base(f[0].File) != filepath.Base(want[0].DeclFile) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func parseAddr(hex string) (a addr.File) {
	for _, c := range hex {
		a = a<<4 | addr.File(strings.IndexRune("0123456789abcdef", c))
	}
	return a
}

func TestSymbols(t *testing.T) {
	libc := open(t, "/lib/x86_64-linux-gnu/libc.so.6", symbols.Config{})
	m, ok := libc.Symtab.Symbol("malloc")
	if !ok || !m.Defined || m.IFunc || m.Version != "GLIBC_2.2.5" || m.Size == 0 {
		t.Errorf("malloc: %+v", m)
	}
	if s, off, ok := libc.Symtab.SymbolAt(m.Addr + 1); !ok || s.Name != "malloc" || off != 1 {
		t.Errorf("symbol at malloc+1: %+v+%d", s, off)
	}
	if s, ok := libc.Symtab.Symbol("memcpy"); !ok || !s.IFunc || s.Version != "GLIBC_2.14" || s.Hidden {
		t.Errorf("memcpy: %+v, want the default version, an IFUNC", s)
	}
	if fs := libc.FindFunctions("memcpy"); len(fs) == 0 || !fs[0].IFunc {
		t.Errorf("memcpy: %+v", fs)
	}
	if s, ok := libc.Symtab.Symbol("environ"); !ok {
		t.Error("environ not found")
	} else if at, _, ok := libc.Symtab.SymbolAt(s.Addr); !ok || at.Name != "environ" {
		t.Errorf("data symbol: %+v", at)
	}
	if s, ok := libc.Symtab.Symbol("nosuchsymbol"); ok {
		t.Errorf("found %+v", s)
	}
	prog := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{})
	if s, ok := prog.Symtab.Symbol("rand"); !ok || s.Defined || s.Version != "GLIBC_2.2.5" {
		t.Errorf("import: %+v", s)
	}
}

// TestSymbolsAmong: many names at once are what they are one by one.
func TestSymbolsAmong(t *testing.T) {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", build(t, "gcc -g -O2 inline.c")} {
		o := open(t, path, symbols.Config{})
		for _, names := range [][]string{
			{"malloc", "memcpy", "nosuchsymbol", "rand", "main", "__GI___libc_malloc", "environ", "_Unwind_Find_FDE"},
			{"brk", "mmap", "malloc"}, {"__"}, {"x"}, {"a", "abs"}, {}, {"nosuchsymbol"},
		} {
			var want []symbols.Sym
			for _, name := range names {
				want = append(want, o.Symtab.Symbols(name)...)
			}
			got := o.Symtab.SymbolsAmong(symbols.NewNames(names))
			slices.SortStableFunc(got, func(a, b symbols.Sym) int {
				return slices.Index(names, a.Name) - slices.Index(names, b.Name)
			})
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v: %+v, want %+v", path, names, got, want)
			}
		}
	}
}

// TestExportedNames expects the names users know for what C libraries define
// under private ones, and finds them by either.
func TestExportedNames(t *testing.T) {
	libc := open(t, "/lib/x86_64-linux-gnu/libc.so.6", symbols.Config{})
	for _, name := range []string{"malloc", "__libc_malloc", "__GI___libc_malloc"} {
		fs := libc.FindFunctions(name)
		if len(fs) != 1 || fs[0].Name != "malloc" || fs[0].Source != symbols.FromDWARF {
			t.Errorf("%s: %+v; install the Debian package libc6-dbg", name, fs)
			continue
		}
		if f := libc.Lookup(fs[0].Low); len(f) != 1 || f[0].Function != "malloc" || f[0].Linkage == "" {
			t.Errorf("at %s: %+v", name, f)
		}
	}
	if fs := libc.FindFunctions("wctomb"); len(fs) != 1 || fs[0].Inlined {
		t.Errorf("wctomb, split by the compiler: %+v", fs)
	}
	if fs := libc.FindFunctions("malloc.c:_int_malloc"); len(fs) != 1 {
		t.Errorf("malloc.c:_int_malloc: %+v", fs)
	}
	if fs := libc.FindFunctions("free.c:_int_malloc"); len(fs) != 0 {
		t.Errorf("free.c:_int_malloc: %+v", fs)
	}
}

// toTheEnd never ends a search.
func toTheEnd() bool { return false }

func TestMatchFunctions(t *testing.T) {
	o := open(t, build(t, "g++ -g -O0 mix.cc"), symbols.Config{})
	var names []string
	for _, f := range o.MatchFunctions(regexp.MustCompile(`^plain|::bump`), toTheEnd) {
		names = append(names, f.Name)
	}
	if want := []string{"ns::Buffer::bump()", "plain(int)", "plain(double)"}; !slices.Equal(names, want) {
		t.Errorf("matched %v, want %v", names, want)
	}
}

// TestSearchesEnd gives up searches of all names.
func TestSearchesEnd(t *testing.T) {
	o := open(t, build(t, "g++ -g -O0 mix.cc"), symbols.Config{})
	all := regexp.MustCompile("")
	for what, search := range map[string]func(ended func() bool) int{
		"functions": func(ended func() bool) int { return len(o.MatchFunctions(all, ended)) },
		"types":     func(ended func() bool) int { return len(o.DWARF.MatchTypes(all, ended)) },
		"variables": func(ended func() bool) int { return len(o.MatchVariables(all, ended)) },
	} {
		asked := 0
		if n := search(func() bool { asked++; return false }); n == 0 || asked == 0 {
			t.Errorf("%s: %d found, asked %d times", what, n, asked)
		}
		if n := search(func() bool { return true }); n != 0 {
			t.Errorf("%s: %d found of a search that is given up", what, n)
		}
	}
}

func TestSourceFilesAndLines(t *testing.T) {
	o := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{})
	var own string
	for _, f := range o.Lines.Files() {
		if filepath.Base(f) == "inline.c" {
			own = f
		}
	}
	if !filepath.IsAbs(own) {
		t.Fatalf("files %v", o.Lines.Files())
	}
	dir := filepath.Base(filepath.Dir(own))
	for file, found := range map[string]bool{"inline.c": true, own: true, dir + "/inline.c": true, "other/inline.c": false, "nline.c": false, "/inline.c": false} {
		if got := len(o.Lines.Find(file, 11)) > 0; got != found {
			t.Errorf("FindLine(%s) found: %v", file, got)
		}
	}
	work := o.FindFunctions("work")[0]
	entries := o.Lines.Entries(work.Low, work.High)
	if len(entries) < 5 || entries[0].Addr != work.Low {
		t.Errorf("entries %+v", entries)
	}
	for i, e := range entries {
		if e.Addr < work.Low || e.Addr >= work.High || e.End < e.Addr || i > 0 && e.Addr < entries[i-1].Addr || e.File != own {
			t.Errorf("entry %+v", e)
		}
	}
}

func TestLineBlock(t *testing.T) {
	o := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{})
	for _, fn := range []string{"main", "work", "twice", "sq"} {
		for _, f := range o.FindFunctions(fn) {
			b, ok := o.Lines.Block(f.Low)
			if !ok || b.Line == 0 || !b.Stmt || !b.Start || !b.Entry.Contains(f.Low) {
				t.Errorf("%s: %+v", fn, b)
			}
			if other, _ := o.Lines.Block(f.Low + 1); other.Start || other.Line != b.Line {
				t.Errorf("%s: a byte further %+v", fn, other)
			}
		}
	}
	if b, ok := o.Lines.Block(1); ok {
		t.Errorf("line block of nothing: %+v", b)
	}
}

// TestTruncatedWhileOpen cuts a file that is mapped: answers may be missing, but
// nothing faults.
func TestTruncatedWhileOpen(t *testing.T) {
	p := filepath.Join(t.TempDir(), "prog")
	run(t, "cp", build(t, "g++ -g -O2 mix.cc"), p)
	o := open(t, p, symbols.Config{})
	list := codeAddresses(o, 10)
	if err := os.Truncate(p, 4096); err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		o.Lookup(a)
		o.Lines.Block(a)
	}
	o.FindFunctions("main")
	o.Lines.Find("mix.cc", 10)
	o.Symtab.SymbolAt(list[0])
	o.Info()
	if _, err := o.CFI(); err == nil {
		t.Error("CFI of a file that was cut: no error")
	}
}

func TestImageInMemory(t *testing.T) {
	data, err := os.ReadFile(build(t, "gcc -g -O2 inline.c"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := symbols.OpenReaderAt("[image]", bytes.NewReader(data), int64(len(data)), symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if fs := o.FindFunctions("work"); len(fs) != 1 || o.File.Path() != "[image]" {
		t.Errorf("work: %+v", fs)
	}
}

// TestVDSO opens the image that the kernel maps into this very process.
func TestVDSO(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$`).FindStringSubmatch(string(maps))
	if m == nil {
		t.Fatal("no vdso in /proc/self/maps")
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	low, high := parseAddr(m[1]), parseAddr(m[2])
	image := make([]byte, high-low)
	if _, err := mem.ReadAt(image, int64(low)); err != nil {
		t.Fatal(err)
	}
	o, err := symbols.OpenReaderAt("[vdso]", bytes.NewReader(image), int64(len(image)), symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	s, ok := o.Symtab.Symbol("__vdso_clock_gettime")
	if !ok {
		t.Fatal("no __vdso_clock_gettime")
	}
	if f := o.Lookup(s.Addr + 1); len(f) != 1 || f[0].Source != symbols.FromDynsym || !strings.HasSuffix(f[0].Function, "clock_gettime") {
		t.Errorf("clock_gettime: %+v", f)
	}
	if cfi, err := o.CFI(); err != nil || cfi == nil {
		t.Errorf("CFI: %v, %v", cfi, err)
	}
}

// TestLibraries compares with llvm-symbolizer on what the distribution ships:
// DWARF 5 with link-time optimization, DWARF in compressed debug files.
func TestLibraries(t *testing.T) {
	for _, lib := range []struct{ path, debug string }{
		{"/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"},
		{"/usr/bin/python3.11d", "python3.11-dbg"},
	} {
		o, err := symbols.Open(lib.path, symbols.Config{})
		if err != nil {
			t.Fatalf("%v; install the Debian package %s", err, lib.debug)
		}
		if o.Info().Debug != symbols.DebugDWARF {
			t.Fatalf("%s has no debug information; install the Debian package %s", lib.path, lib.debug)
		}
		list := codeAddresses(o, 3000)
		theirs := askAddr2line(t, "llvm-symbolizer", lib.path, list)
		known, bad := map[string]int{}, 0
		for i, a := range list {
			mine := ours(o, a)
			if d := difference(mine, theirs[i]); d != "" {
				if reason := llvmErrs(o, a, mine, theirs[i]); reason != "" {
					known[reason]++
				} else if bad++; bad <= 5 {
					t.Logf("%s differs at %v:\n  ours   %v\n  theirs %v", d, a, mine, theirs[i])
				}
			}
		}
		if bad*1000 > len(list) {
			t.Errorf("%s: %d of %d differ; known: %v", lib.path, bad, len(list), known)
		}
		o.Close()
	}
}

// TestDwz shares entries with a common file, as distributions do, and expects
// the answers from before.
func TestDwz(t *testing.T) {
	testprogs.SkipUnderRace(t)
	dir := t.TempDir()
	var progs []string
	for i, v := range []string{"g++ -g -O2 -gdwarf-4 mix.cc", "g++ -g -O0 -gdwarf-4 mix.cc"} {
		p := filepath.Join(dir, "prog"+string(rune('0'+i)))
		run(t, "cp", build(t, v), p)
		run(t, "cp", p, p+".whole")
		progs = append(progs, p)
	}
	run(t, "dwz", append([]string{"-m", filepath.Join(dir, "common"), "-M", "common"}, progs...)...)
	for _, p := range progs {
		whole, o := open(t, p+".whole", symbols.Config{}), open(t, p, symbols.Config{})
		if _, _, ok := o.File.Section(".gnu_debugaltlink"); !ok {
			t.Errorf("%s has no .gnu_debugaltlink", p)
		}
		for _, a := range codeAddresses(whole, 500) {
			if got, want := o.Lookup(a), whole.Lookup(a); !slices.Equal(got, want) {
				t.Fatalf("%v: %+v\nwhole %+v", a, got, want)
			}
		}
		for _, name := range []string{"main", "grow", "hidden", "std::sort", "Box::get", "Local::f"} {
			places := func(o *symbols.Object) (list []addr.File) {
				for _, f := range o.FindFunctions(name) {
					list = append(list, f.Breakpoint)
				}
				return list
			}
			if got, want := places(o), places(whole); !slices.Equal(got, want) {
				t.Errorf("%s: %v, whole %v", name, got, want)
			}
		}
	}
	// Without the common file names may be missing, but none is wrong.
	if err := os.Remove(filepath.Join(dir, "common")); err != nil {
		t.Fatal(err)
	}
	whole, o := open(t, progs[0]+".whole", symbols.Config{}), open(t, progs[0], symbols.Config{DebugDirs: []string{}})
	for _, a := range codeAddresses(whole, 500) {
		got, want := o.Lookup(a), whole.Lookup(a)
		for i := range got {
			if got[i].Function != "" && i < len(want) && len(got) == len(want) && got[i].Function != want[i].Function && !strings.Contains(got[i].Function, "?") && got[i].Source == symbols.FromDWARF {
				t.Fatalf("%v: %+v\nwhole %+v", a, got, want)
			}
		}
	}
}

// TestConcurrentUse asks one object from many goroutines; the race detector
// and equal answers are the test.
func TestConcurrentUse(t *testing.T) {
	want := open(t, build(t, "g++ -g -O2 mix.cc"), symbols.Config{})
	o := open(t, build(t, "g++ -g -O2 mix.cc"), symbols.Config{})
	list := codeAddresses(want, 200)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, a := range list {
				if got, want := o.Lookup(a), want.Lookup(a); !slices.Equal(got, want) {
					t.Errorf("%v: %v, want %v", a, got, want)
				}
				o.Lines.Block(a)
				o.Symtab.SymbolAt(a)
			}
			if len(o.FindFunctions("grow")) == 0 || len(o.Lines.Find("mix.cc", 34)) == 0 {
				t.Error("grow or line 34 not found")
			}
		})
	}
	wg.Wait()
}
