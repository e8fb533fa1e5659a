package session

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// module is the diagnosis of the module with that base name.
func (c *Checkup) module(t *testing.T, name string) *Diagnosis {
	t.Helper()
	i := slices.IndexFunc(c.Modules, func(d Diagnosis) bool { return d.ShortName() == name })
	if i < 0 {
		t.Fatalf("no module %s among %d", name, len(c.Modules))
	}
	return &c.Modules[i]
}

// TestCheckupOfProgram looks at a program that does not run and its libraries, one of
// them stripped by its owner.
func TestCheckupOfProgram(t *testing.T) {
	dir := t.TempDir()
	gcc(t, dir, map[string]string{"lib.c": waiterLib}, "-g", "-shared", "-fPIC", "-s", "-o", "libwaiter.so", "lib.c")
	gcc(t, dir, map[string]string{"main.c": waiterMain}, "-g", "-o", "waiter", "main.c", "-L.", "-lwaiter", "-Wl,-rpath,$ORIGIN")
	s := open(t, "basic")
	if _, err := s.Load(filepath.Join(dir, "waiter")); err != nil {
		t.Fatal(err)
	}
	c, err := s.Checkup()
	if err != nil || c.Problem != "" || c.Good() {
		t.Errorf("checkup %+v, %v", c, err)
	}
	if d := c.module(t, "waiter"); !d.Good() || d.Debug != symbols.DebugDWARF || len(d.Remedies) != 0 {
		t.Errorf("waiter: %+v", d)
	}
	d := c.module(t, "libwaiter.so")
	if d.Good() || d.Found() != "dynamic symbols only" || len(d.Attempts) == 0 || !strings.Contains(strings.Join(d.Remedies, "; "), "with -g, and do not strip it") {
		t.Errorf("libwaiter.so: %+v", d)
	}
	if d := c.module(t, "libc.so.6"); !d.Good() {
		t.Errorf("libc.so.6: %+v", d) // libc6-dbg is among the packages of the tests
	}
	if c.Modules[0].ShortName() != "libwaiter.so" {
		t.Errorf("%s comes first, not what is missing something", c.Modules[0].Name)
	}
}

// TestLinkedAgainstLdd finds the libraries that the dynamic linker finds.
func TestLinkedAgainstLdd(t *testing.T) {
	s := open(t, "basic")
	for _, prog := range []string{"/usr/bin/git", testprogs.Tool(t, "gdb"), testprogs.Tool(t, "xmllint")} {
		if _, err := s.Load(prog); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("ldd", prog).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", prog, err)
		}
		var want []string
		for word := range strings.FieldsSeq(string(out)) {
			if filepath.IsAbs(word) {
				want = append(want, word)
			}
		}
		all, problem := s.linked()
		var got []string
		for _, d := range all[1:] {
			got = append(got, d.Path)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || problem != "" {
			t.Errorf("%s: %q %s\nldd %q", prog, got, problem, want)
		}
	}
}

// TestCheckProcess looks at a process whose files are gone, and leaves it alone.
func TestCheckProcess(t *testing.T) {
	dir, pid := startWaiter(t)
	for _, name := range []string{"waiter", "libwaiter.so"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New(Config{}).CheckProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"waiter", "libwaiter.so", "libc.so.6", "[vdso]"} {
		if d := c.module(t, name); !d.Good() {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")); err != nil || !strings.Contains(string(status), "TracerPid:\t0") {
		t.Errorf("%v\n%s", err, status)
	}
	if _, err := New(Config{}).CheckProcess(2); err == nil {
		t.Error("a thread of the kernel has modules")
	}
}

// A stackOrder notes which stacks are read, in order.
type stackOrder struct {
	capture.Source
	read []capture.StackID
}

func (o *stackOrder) Stack(id capture.StackID) capture.Stack {
	o.read = append(o.read, id)
	return o.Source.Stack(id)
}

// TestCheckupReadsStacksInOrder reads each stack once, and ascending: a file keeps them
// in chunks, few of which stay unpacked.
func TestCheckupReadsStacksInOrder(t *testing.T) {
	log := capture.NewLog(capture.Info{Program: "/bin/server"})
	malloc := log.FuncIndex("malloc")
	const stacks = 100
	for i := range 3 * stacks {
		id := log.Intern(capture.Stack{PCs: []addr.Run{0x1000 + addr.Run(i*7%stacks)}})
		log.AddEvent(&capture.Event{TID: 1, Kind: capture.Alloc, Func: malloc, Addr: 0x5000 + uint64(i)*16, Size: 8, Stack: id})
	}
	src, c := &stackOrder{Source: log}, Checkup{}
	New(Config{}).countFrames(&c, src)
	if c.Events != 3*stacks || c.Frames != 3*stacks || len(src.read) != stacks || !slices.IsSorted(src.read) {
		t.Errorf("%d events, %d frames, stacks read %d", c.Events, c.Frames, src.read)
	}
}

// TestCheckupOfCapture counts the frames of a capture, with the program's file, without
// it, and with another in its place.
func TestCheckupOfCapture(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "basic")
	b, err := os.ReadFile(testprogs.Build(t, "basic"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, b, 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, "basic")
	if _, err := s.Load(prog); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	file := filepath.Join(t.TempDir(), "basic.hdb")
	if _, err := s.Save(file, false); err != nil {
		t.Fatal(err)
	}
	check := func() (*Checkup, *Diagnosis) {
		t.Helper()
		s := New(Config{Notify: func(line string) { t.Log(line) }})
		t.Cleanup(func() { s.Close() })
		if _, err := s.Open(file); err != nil {
			t.Fatal(err)
		}
		c, err := s.Checkup()
		if err != nil {
			t.Fatal(err)
		}
		return &c, c.module(t, "basic")
	}
	c, d := check()
	if d.Kept || !d.Good() || d.Debug != symbols.DebugDWARF || d.Frames == 0 || d.Frames > c.Frames || d.Lines == 0 || c.Events == 0 {
		t.Errorf("%d events, %d frames: %+v", c.Events, c.Frames, d)
	}
	sum := uint64(0)
	for _, d := range c.Modules {
		sum += d.Frames
	}
	if sum != c.Frames {
		t.Errorf("the modules have %d of %d frames", sum, c.Frames)
	}
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	if _, d := check(); !d.Kept || !d.Good() || !strings.HasPrefix(d.Found(), "kept in the capture, with lines") {
		t.Errorf("without the program: %+v, %s", d, d.Found())
	}
	if b, err = os.ReadFile(testprogs.Build(t, "realloc")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, d := check(); strings.Count(d.Why(), "build ID ") != 2 || !d.Kept {
		t.Errorf("with another program: %s", d.Why())
	}
}

// TestRemedies asks package managers that are made up.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		name, release, tool, answer string
		want                        []string
	}{
		{"debian", "ID=debian\nVERSION_CODENAME=trixie\n", "dpkg-query", "diversion by x from: /usr/lib/libz.so.1\nzlib1g:amd64, other: /usr/lib/libz.so.1\n",
			[]string{"apt-get install zlib1g-dbgsym (it is in: deb http://deb.debian.org/debian-debug trixie-debug main)", "export DEBUGINFOD_URLS=https://debuginfod.debian.net before hdb begins, and set debuginfod on"}},
		{"libc", "ID=debian\n", "dpkg-query", "libc6:amd64: /lib/libz.so.1\n", []string{"apt-get install libc6-dbg", "export DEBUGINFOD_URLS=https://debuginfod.debian.net before hdb begins, and set debuginfod on"}},
		{"mint", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=xia\n", "dpkg-query", "zlib1g: /lib/libz.so.1\n",
			[]string{"apt-get install zlib1g-dbgsym (it is in: deb http://ddebs.ubuntu.com xia main)", "export DEBUGINFOD_URLS=https://debuginfod.ubuntu.com before hdb begins, and set debuginfod on"}},
		{"fedora", "ID=fedora\n", "rpm", "zlib-ng-compat\n", []string{"dnf debuginfo-install zlib-ng-compat", "export DEBUGINFOD_URLS=https://debuginfod.fedoraproject.org/ before hdb begins, and set debuginfod on"}},
		{"nobody's", "ID=fedora\n", "rpm", "", []string{"compile it with -g, and do not strip it (gcc -s, strip, install -s)", "set debug-file-directory to where its debug file is"}},
		{"unknown", "ID=own\nDEBUGINFOD_URLS=\"https://own.example/\"\n", "", "", []string{"compile it with -g, and do not strip it (gcc -s, strip, install -s)", "set debug-file-directory to where its debug file is"}},
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte(c.release), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &remedies{os: readOSRelease(root), run: func(_ context.Context, name string, _ ...string) ([]byte, error) {
			if name != c.tool {
				t.Errorf("%s: asked %s", c.name, name)
			}
			if c.answer == "" {
				return nil, os.ErrNotExist
			}
			return []byte(c.answer), nil
		}}
		check := func(want []string) {
			d := &Diagnosis{Name: "/usr/lib/libz.so.1", Info: symbols.Info{Debug: symbols.DebugDynsym, BuildID: "abcdef"}}
			r.find([]*Diagnosis{d})
			if !slices.Equal(d.Remedies, want) {
				t.Errorf("%s: %q, want %q", c.name, d.Remedies, want)
			}
		}
		check(c.want)
		want := slices.DeleteFunc(c.want, func(s string) bool { return strings.HasPrefix(s, "export ") })
		r.server = "https://our.example"
		check(append(slices.Clone(want), "set debuginfod on, or hdb doctor --debuginfod (https://our.example)"))
		r.asked = true
		check(want)
	}
}

// FuzzReadCache reads foreign bytes as ld.so.cache.
func FuzzReadCache(f *testing.F) {
	if b, err := os.ReadFile("/etc/ld.so.cache"); err == nil {
		f.Add(b[:min(len(b), 4096)])
	}
	f.Add([]byte("glibc-ld.so.cache1.1\x01\x00\x00\x00 and not enough"))
	f.Fuzz(func(_ *testing.T, b []byte) { readCache(b) })
}

// TestCheckupWithoutDwz has a program whose dwz file is gone.
func TestCheckupWithoutDwz(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		gcc(t, dir, map[string]string{"main.c": waiterLib + "\nint main(void) { return 0; }"}, "-g", "-o", name, "main.c")
	}
	cmd := exec.Command(testprogs.Tool(t, "dwz"), "-m", "common", "one", "two")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dwz: %v\n%s", err, out)
	}
	check := func(t *testing.T, missing bool) {
		s := open(t, "basic")
		if _, err := s.Load(filepath.Join(dir, "one")); err != nil {
			t.Fatal(err)
		}
		c, err := s.Checkup()
		if err != nil {
			t.Fatal(err)
		}
		d := c.module(t, "one")
		if d.Good() == missing || strings.Contains(d.Found(), "dwz file missing") != missing || missing != strings.Contains(strings.Join(d.Remedies, "; "), "put common back (build ID ") {
			t.Errorf("%+v, found %q", d, d.Found())
		}
	}
	t.Run("there", func(t *testing.T) { check(t, false) })
	if err := os.Remove(filepath.Join(dir, "common")); err != nil {
		t.Fatal(err)
	}
	t.Run("missing", func(t *testing.T) { check(t, true) })
}
