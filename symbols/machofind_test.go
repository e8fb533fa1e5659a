package symbols_test

import (
	"math/rand"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

// TestMacFind looks functions and lines up, by the debug map and by a dSYM: what is
// found answers so, too.
func TestMacFind(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64"} {
		m := buildMac(t, arch, "-O1", "-gdwarf-4")
		m.dsym(t, m.file("away.dSYM"))
		stripped := m.file("bare")
		m.link(t, stripped, "-S")
		mapped, bundle := openMac(t, m.app, symbols.MachOConfig{}), openMac(t, m.app, symbols.MachOConfig{DebugDirs: []string{m.dir}})
		bare := openMac(t, stripped, symbols.MachOConfig{})
		for name, want := range map[string]struct{ own, inlined int }{
			"main": {1, 0}, "local": {2, 0}, "helper.c:local": {1, 0}, "square": {0, 2}, "cube": {0, 2}, "geo::Box<int>::area": {1, 0}, "area": {1, 0},
			"Box<int>::area(int) const": {1, 0}, "nothing": {0, 0}, "helper.c:main": {0, 0}, "_ZNK3geo3BoxIiE4areaEi": {1, 0},
		} {
			var lists [2][]symbols.Function
			for i, o := range []*symbols.MachO{mapped, bundle} {
				lists[i] = o.FindFunctions(name)
				own := 0
				for _, fn := range lists[i] {
					if !fn.Inlined {
						own++
					}
					if !slices.ContainsFunc(o.Lookup(fn.Low), func(f symbols.Frame) bool { return f.Function == fn.Name && f.Inlined == fn.Inlined }) {
						t.Errorf("%s %s at %v is %v there", arch, name, fn.Low, o.Lookup(fn.Low))
					}
				}
				if inlined := len(lists[i]) - own; own != want.own || (inlined > 0) != (want.inlined > 0) {
					t.Errorf("%s %s: %d of its own, %d inlined: %+v", arch, name, own, inlined, lists[i])
				}
			}
			if !slices.Equal(lists[0], lists[1]) {
				t.Errorf("%s %s: debug map\n  %+v\ndSYM\n  %+v", arch, name, lists[0], lists[1])
			}
			if got := bare.FindFunctions(name); want.inlined == 0 && !strings.Contains(name, ".c:") && len(got) != want.own {
				t.Errorf("%s %s by symbols: %+v", arch, name, got)
			}
		}
		for _, c := range []struct {
			file string
			line int
			want int // the line that has code
		}{{"main.c", 7, 7}, {"main.c", 3, 3}, {"helper.c", 3, 3}, {"helper.c", 4, 4}, {"shape.cc", 1, 4}, {"shape.cc", 9, 9}, {"main.c", 100, 0}, {"nothing.c", 1, 0}, {"main.c", 0, 0}} {
			var lists [2][]addr.File
			for i, o := range []*symbols.MachO{mapped, bundle} {
				for _, loc := range o.FindLine(c.file, c.line) {
					lists[i] = append(lists[i], loc.Addr)
					f := o.Lookup(loc.Addr)
					if loc.Line != c.want || path.Base(loc.File) != c.file || len(f) == 0 || f[0].Function != loc.Function ||
						!slices.ContainsFunc(f, func(f symbols.Frame) bool { return f.Line == c.want }) { // two rows can begin at one address
						t.Errorf("%s %s:%d: %+v is %+v there", arch, c.file, c.line, loc, f)
					}
				}
			}
			if (len(lists[0]) > 0) != (c.want > 0) || !slices.Equal(lists[0], lists[1]) {
				t.Errorf("%s %s:%d: debug map %v, dSYM %v", arch, c.file, c.line, lists[0], lists[1])
			}
		}
	}
}

// A stripped program of Go has its own table of functions and lines.
func TestMacPclntab(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/mix.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "mix.go")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		t.Fatal(err)
	}
	archs := []string{"arm64", "amd64"}
	if testing.Short() { // Go's library is compiled for each
		archs = archs[:1]
	}
	for _, arch := range archs {
		build := func(name string, flags ...string) *symbols.MachO {
			app := filepath.Join(dir, name+arch)
			cmd := exec.Command("go", append(append([]string{"build", "-o", app}, flags...), source)...)
			cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+arch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			return openMac(t, app, symbols.MachOConfig{})
		}
		full, bare := build("full"), build("bare", "-ldflags=-s -w")
		for _, name := range []string{"main.main", "main.(*T).Grow", "fmt.Println"} {
			theirs, ours := full.FindFunctions(name), bare.FindFunctions(name)
			theirs = slices.DeleteFunc(theirs, func(f symbols.Function) bool { return f.Inlined })
			if len(theirs) != len(ours) {
				t.Errorf("%s %s: %+v, with DWARF %+v", arch, name, ours, theirs)
				continue
			}
			for i, fn := range ours {
				f := bare.Lookup(fn.Low)
				if fn.Source != symbols.FromPclntab || len(f) != 1 || f[0].Function != fn.Name || f[0].Line == 0 || f[0].Line != fn.Line || fn.DeclLine != theirs[i].DeclLine || path.Base(fn.File) != path.Base(theirs[i].DeclFile) {
					t.Errorf("%s %s: %+v, %+v there, with DWARF %+v", arch, name, fn, f, theirs[i])
				}
			}
		}
		if len(bare.FindFunctions("main.main")) != 1 {
			t.Errorf("%s: no main.main", arch)
		}
	}
}

// useAllOfMac asks everything of a file of macOS.
func useAllOfMac(t testing.TB, data []byte) {
	path := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := symbols.OpenMachO(path, symbols.MachOConfig{})
	if err != nil {
		return
	}
	defer o.Close()
	for _, name := range []string{"main", "local", "cube", "geo::Box<int>::area", "operator()", "main.main"} {
		for _, fn := range o.FindFunctions(name) {
			o.Lookup(fn.Low)
			o.SymbolAt(fn.High)
		}
	}
	for _, loc := range o.FindLine("main.c", 3) {
		o.Lookup(loc.Addr)
	}
	o.FindLine("shape.cc", 1)
	o.Problems()
	o.Forget()
}

// macSamples are files with DWARF, and one with a debug map.
func macSamples(t testing.TB) (list [][]byte) {
	m := buildMac(t, "x86_64", "-O1", "-gdwarf-4")
	for _, name := range []string{"main.o", "shape.o", "app"} {
		data, err := os.ReadFile(m.file(name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, data)
	}
	return list
}

func TestCorruptedMac(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, good := range macSamples(t) {
		for range 60 {
			useAllOfMac(t, damaged(r, good))
		}
	}
}

func FuzzMachO(f *testing.F) {
	for _, data := range macSamples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { useAllOfMac(t, data) })
}
