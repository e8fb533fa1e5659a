package symbols_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hdb/symbols"
)

// miniDebug makes what Fedora ships: a stripped program that holds the symbols of
// its functions, compressed.
func miniDebug(t *testing.T, whole string) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run(t, "sh", "-c", `set -e; cd "$1"; cp "$2" prog; cp "$2" whole
		nm -D prog --format=posix --defined-only | awk '{print $1}' | sort >dynsyms
		nm prog --format=posix --defined-only | awk '{if ($2 == "T" || $2 == "t" || $2 == "D") print $1}' | sort >funcsyms
		comm -13 dynsyms funcsyms >keep
		objcopy --only-keep-debug prog debug
		objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep debug mini
		strip prog
		xz -f mini
		objcopy --add-section .gnu_debugdata=mini.xz prog`, "sh", dir, whole)
	return at("prog")
}

func TestMiniDebugInfo(t *testing.T) {
	path := build(t, "gcc -g -O2 inline.c")
	whole := open(t, path, symbols.Config{})
	o := open(t, miniDebug(t, path), symbols.Config{})
	info := o.Info()
	if info.Debug != symbols.DebugMini || info.Problem != "" {
		t.Errorf("info %+v", info)
	}
	work := whole.FindFunctions("work")[0]
	f := o.Lookup(work.Low + 3)
	if len(f) != 1 || f[0].Function != "work" || f[0].Source != symbols.FromMini || f[0].Source.String() != "minidebuginfo" || f[0].Entry != work.Low || f[0].Line != 0 {
		t.Errorf("work: %+v", f)
	}
	if fns := o.FindFunctions("work"); len(fns) != 1 || fns[0].Low != work.Low || fns[0].Source != symbols.FromMini {
		t.Errorf("work: %+v", fns)
	}
	// gdb reads it, too.
	out := run(t, "gdb", "-nx", "-batch", "-ex", "info symbol "+work.Low.String(), o.File.Path())
	if !strings.Contains(out, "work in section .text") {
		t.Errorf("gdb: %s", out)
	}
}

// TestDamagedMiniDebugInfo says why the symbols are missing.
func TestDamagedMiniDebugInfo(t *testing.T) {
	p := filepath.Join(t.TempDir(), "prog")
	run(t, "cp", build(t, "gcc -O2 -s inline.c"), p)
	bad := p + ".bad"
	if err := os.WriteFile(bad, []byte("no xz at all, but long enough"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "objcopy", "--add-section", ".gnu_debugdata="+bad, p)
	if info := open(t, p, symbols.Config{}).Info(); info.Debug != symbols.DebugDynsym || !strings.Contains(info.Problem, ".gnu_debugdata: xz") {
		t.Errorf("info %+v", info)
	}
}

// separate strips a copy of a program into a tree as a package installs it, and returns
// the program's path and build ID. The debug file lies below debugDir.
func separate(t *testing.T, root, debugDir string) (prog, id string) {
	t.Helper()
	whole := build(t, "gcc -g -O2 inline.c")
	id = open(t, whole, symbols.Config{}).File.BuildID()
	prog = filepath.Join(root, "usr/bin/prog")
	debug := filepath.Join(root, debugDir, ".build-id", id[:2], id[2:]+".debug")
	for _, p := range []string{prog, debug} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "cp", whole, prog)
	run(t, "objcopy", "--only-keep-debug", prog, debug)
	run(t, "strip", prog)
	return prog, id
}

// TestRoots finds the debug files of programs of a container and of a sysroot, whose
// absolute links mean what they mean in there.
func TestRoots(t *testing.T) {
	root := t.TempDir()
	prog, id := separate(t, root, "opt/debug")
	if err := os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/opt/debug", filepath.Join(root, "usr/lib/debug")); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []symbols.Config{{Root: root, Name: "/usr/bin/prog"}, {Sysroot: root}} {
		info := open(t, prog, cfg).Info()
		if want := filepath.Join(root, "opt/debug/.build-id", id[:2], id[2:]+".debug"); info.Debug != symbols.DebugDWARF || info.DebugFile != want {
			t.Errorf("%+v: info %+v, want %s", cfg, info, want)
		}
		if n := len(info.Attempts); n == 0 || info.Attempts[n-1] != (symbols.Attempt{Path: info.DebugFile}) {
			t.Errorf("attempts %+v", info.Attempts)
		}
	}
	// Without the root there is nothing, and the list says where.
	info := open(t, prog, symbols.Config{DebugDirs: []string{"/nowhere", "/usr/lib/debug"}}).Info()
	var want []symbols.Attempt
	for _, dir := range []string{"/nowhere", "/usr/lib/debug"} {
		want = append(want, symbols.Attempt{Path: filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"), Why: "no such file"})
	}
	if info.Debug != symbols.DebugDynsym || !slices.Equal(info.Attempts, want) || info.Problem != "" {
		t.Errorf("info %+v, want attempts %+v", info, want)
	}
}

// TestDebugLinkByName looks beside the name that the process knows, wherever the file
// is opened.
func TestDebugLinkByName(t *testing.T) {
	root := t.TempDir()
	prog, _ := separate(t, root, "unused")
	link := filepath.Join(root, "usr/lib/debug/usr/bin/prog.dbg")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "objcopy", "--only-keep-debug", build(t, "gcc -g -O2 inline.c"), link)
	run(t, "objcopy", "--add-gnu-debuglink="+link, prog)
	held, err := os.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join("/proc/self/fd", fmt.Sprint(held.Fd()))
	info := open(t, gone, symbols.Config{Root: root, Name: "/usr/bin/prog"}).Info()
	if info.Debug != symbols.DebugDWARF || info.DebugFile != link {
		t.Errorf("info %+v", info)
	}
}

// TestDebugSup follows DWARF 5's .debug_sup, and finds the common file by its
// name in .dwz of a debug directory.
func TestDebugSup(t *testing.T) {
	dir := t.TempDir()
	var progs []string
	for i, v := range []string{"g++ -g -O2 mix.cc", "g++ -g -O0 mix.cc"} {
		p := filepath.Join(dir, "prog"+string(rune('0'+i)))
		run(t, "cp", build(t, v), p)
		run(t, "cp", p, p+".whole")
		progs = append(progs, p)
	}
	common := filepath.Join(dir, "debug", ".dwz", "common")
	if err := os.MkdirAll(filepath.Dir(common), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "dwz", append([]string{"--dwarf-5", "-m", common, "-M", "/gone/common"}, progs...)...)
	cfg := symbols.Config{DebugDirs: []string{filepath.Join(dir, "debug")}}
	whole, o := open(t, progs[0]+".whole", symbols.Config{}), open(t, progs[0], cfg)
	if _, _, ok := o.File.Section(".debug_sup"); !ok {
		t.Fatal("dwz made no .debug_sup")
	}
	if info := o.Info(); info.AltFile != common || info.Problem != "" {
		t.Errorf("info %+v", info)
	}
	for _, a := range codeAddresses(whole, 300) {
		if got, want := o.Lookup(a), whole.Lookup(a); !slices.Equal(got, want) {
			t.Fatalf("%v: %+v\nwhole %+v", a, got, want)
		}
	}
	if info := open(t, progs[0], symbols.Config{DebugDirs: []string{}}).Info(); !strings.Contains(info.Problem, "/gone/common") || info.AltFile != "" {
		t.Errorf("without the common file: %+v", info)
	}
}

// A fakeServer is a Fetcher.
type fakeServer struct {
	files map[string]string
	asked []string
}

func (s *fakeServer) DebugInfo(id string) (string, error) {
	s.asked = append(s.asked, id)
	if p := s.files[id]; p != "" {
		return p, nil
	}
	return "", errors.New("no server has it")
}

// TestFetch asks for what no directory has, when DWARF is wanted and not before, and
// trusts no server.
func TestFetch(t *testing.T) {
	dir := t.TempDir()
	prog, id := separate(t, dir, "elsewhere")
	debug := filepath.Join(dir, "elsewhere/.build-id", id[:2], id[2:]+".debug")
	server := &fakeServer{files: map[string]string{id: debug}}
	o := open(t, prog, symbols.Config{Fetch: server})
	o.Symtab.Symbols("main")
	if o.File.Header(); len(server.asked) != 0 {
		t.Error("asked before anything was wanted")
	}
	work := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{}).FindFunctions("work")[0]
	if f := o.Lookup(work.Low); len(f) != 1 || f[0].Source != symbols.FromDWARF || f[0].Line == 0 {
		t.Errorf("work: %+v", f)
	}
	if info := o.Info(); info.DebugFile != debug || len(server.asked) != 1 {
		t.Errorf("info %+v after %d questions", info, len(server.asked))
	}

	server = &fakeServer{files: map[string]string{id: build(t, "gcc -g -O0 inline.c")}}
	info := open(t, prog, symbols.Config{Fetch: server}).Info()
	last := info.Attempts[len(info.Attempts)-1]
	if info.Debug != symbols.DebugDynsym || !strings.Contains(last.Why, "wanted "+id) {
		t.Errorf("another's file: %+v", info)
	}
	info = open(t, prog, symbols.Config{Fetch: &fakeServer{}}).Info()
	if last := info.Attempts[len(info.Attempts)-1]; last.Why != "no server has it" {
		t.Errorf("attempts %+v", info.Attempts)
	}
}

// TestDebugFileOfRelocatable finds the debug file of a relocatable file, as kernel modules
// are, in a directory and by a server. It has the addresses of the file.
func TestDebugFileOfRelocatable(t *testing.T) {
	const command = "gcc -g -O2 -ffunction-sections -r -nostdlib -Wl,--build-id inline.c"
	whole := open(t, build(t, command), symbols.Config{})
	id := whole.File.BuildID()
	dir := t.TempDir()
	prog, debug := filepath.Join(dir, "prog.ko"), filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "objcopy", "--only-keep-debug", build(t, command), debug)
	run(t, "objcopy", "--strip-debug", build(t, command), prog)
	for name, cfg := range map[string]symbols.Config{
		"directory": {DebugDirs: []string{dir}},
		"server":    {Fetch: &fakeServer{files: map[string]string{id: debug}}},
	} {
		o := open(t, prog, cfg)
		for _, fn := range []string{"work", "main"} {
			at := whole.FindFunctions(fn)[0].Low
			if got, want := o.Lookup(at), whole.Lookup(at); len(want) == 0 || want[0].Line == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: %+v, not %+v", name, fn, got, want)
			}
		}
	}
}

// TestStripped finds what other tools split off or compress, and answers as the whole
// program does.
func TestStripped(t *testing.T) {
	whole := open(t, build(t, "gcc -g -O2 inline.c"), symbols.Config{})
	for _, c := range []struct {
		name     string
		tool     []string // PROG is the copy of the program
		separate bool
	}{
		{"eu-strip", []string{"eu-strip", "-f", "PROG.debug", "PROG"}, true},
		{"eu-strip with comments", []string{"eu-strip", "--remove-comment", "-f", "PROG.debug", "PROG"}, true},
		{"zdebug", []string{"objcopy", "--compress-debug-sections=zlib-gnu", "PROG"}, false},
		{"zlib", []string{"objcopy", "--compress-debug-sections=zlib", "PROG"}, false},
	} {
		prog := filepath.Join(t.TempDir(), "prog")
		run(t, "cp", whole.File.Path(), prog)
		for i, w := range c.tool {
			c.tool[i] = strings.Replace(w, "PROG", prog, 1)
		}
		run(t, c.tool[0], c.tool[1:]...)
		o := open(t, prog, symbols.Config{})
		if info := o.Info(); info.Debug != symbols.DebugDWARF || info.Problem != "" || (info.DebugFile == prog+".debug") != c.separate {
			t.Errorf("%s: info %+v", c.name, info)
		}
		for _, a := range codeAddresses(whole, 300) {
			if got, want := o.Lookup(a), whole.Lookup(a); !slices.Equal(got, want) {
				t.Fatalf("%s: %v: %+v\nwhole %+v", c.name, a, got, want)
			}
		}
	}
}
