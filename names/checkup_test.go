package names

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// TestLinkedAgainstLdd finds the libraries that the dynamic linker finds.
func TestLinkedAgainstLdd(t *testing.T) {
	s := New(Config{Settings: &Settings{}, Notify: func(line string) { t.Log(line) }})
	for _, prog := range []string{"/usr/bin/git", testprogs.Tool(t, "gdb"), testprogs.Tool(t, "xmllint")} {
		obj, err := s.Open(prog)
		if err != nil {
			t.Fatal(err)
		}
		s.Program = &Program{Path: prog, Object: obj}
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
	log := file.NewLog(capture.Info{Program: "/bin/server"})
	malloc := log.FuncIndex("malloc")
	const stacks = 100
	for i := range 3 * stacks {
		id := log.Intern(capture.Stack{PCs: []addr.Run{0x1000 + addr.Run(i*7%stacks)}})
		log.AddEvent(&capture.Event{TID: 1, Kind: capture.Alloc, Func: malloc, Addr: 0x5000 + uint64(i)*16, Size: 8, Stack: id})
	}
	src, c := &stackOrder{Source: log}, Checkup{}
	c.countFrames(New(Config{}), src)
	if c.Events != 3*stacks || c.Frames != 3*stacks || len(src.read) != stacks || !slices.IsSorted(src.read) {
		t.Errorf("%d events, %d frames, stacks read %d", c.Events, c.Frames, src.read)
	}
}

// TestCheckupCountsNamelessCode has frames in code that is in no file, which nothing names, and in a module.
func TestCheckupCountsNamelessCode(t *testing.T) {
	for _, c := range []struct {
		nameless, inModule int
		lacks              bool
	}{{0, 100, false}, {1, 99, false}, {1, 49, true}, {1, 149, false}, {2, 148, true}, {95, 5, true}, {100, 0, true}} {
		log := file.NewLog(capture.Info{Program: "/bin/node"})
		log.AddModule(capture.Module{Path: "/bin/node", Low: 0x400000, High: 0x500000, From: 1})
		malloc := log.FuncIndex("malloc")
		for i := range c.nameless + c.inModule {
			pc := addr.Run(0x7f0000000000 + i*64)
			if i >= c.nameless {
				pc = addr.Run(0x400040 + i*64)
			}
			id := log.Intern(capture.Stack{PCs: []addr.Run{pc}})
			log.AddEvent(&capture.Event{TID: 1, Kind: capture.Alloc, Func: malloc, Addr: 0x5000 + uint64(i)*16, Size: 8, Stack: id})
		}
		check := Checkup{}
		check.countFrames(New(Config{}), log)
		if check.Nameless != uint64(c.nameless) || check.LacksJITNames() != c.lacks || check.Good() == c.lacks {
			t.Errorf("%d of %d frames: %d, %v, good %v", c.nameless, c.nameless+c.inModule, check.Nameless, check.LacksJITNames(), check.Good())
		}
	}
}

// TestRemedies asks package managers that are made up.
func TestRemedies(t *testing.T) {
	dbgsym := func(archive string) Remedy {
		return Remedy{Kind: Install, What: "apt-get install zlib1g-dbgsym", Archive: archive}
	}
	server := func(url string) Remedy { return Remedy{Kind: NameServer, What: url} }
	compile := []Remedy{{Kind: CompileUnstripped}, {Kind: SetDebugDirs}}
	for _, c := range []struct {
		name, release, tool, answer string
		want                        []Remedy
	}{
		{"debian", "ID=debian\nVERSION_CODENAME=trixie\n", "dpkg-query", "diversion by x from: /usr/lib/libz.so.1\nzlib1g:amd64, other: /usr/lib/libz.so.1\n",
			[]Remedy{dbgsym("deb http://deb.debian.org/debian-debug trixie-debug main"), server("https://debuginfod.debian.net")}},
		{"libc", "ID=debian\n", "dpkg-query", "libc6:amd64: /lib/libz.so.1\n",
			[]Remedy{{Kind: Install, What: "apt-get install libc6-dbg"}, server("https://debuginfod.debian.net")}},
		{"mint", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=xia\n", "dpkg-query", "zlib1g: /lib/libz.so.1\n",
			[]Remedy{dbgsym("deb http://ddebs.ubuntu.com xia main"), server("https://debuginfod.ubuntu.com")}},
		{"fedora", "ID=fedora\n", "rpm", "zlib-ng-compat\n",
			[]Remedy{{Kind: Install, What: "dnf debuginfo-install zlib-ng-compat"}, server("https://debuginfod.fedoraproject.org/")}},
		{"nobody's", "ID=fedora\n", "rpm", "", compile},
		{"unknown", "ID=own\nDEBUGINFOD_URLS=\"https://own.example/\"\n", "", "", compile},
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
		check := func(want []Remedy) {
			d := &Diagnosis{Name: "/usr/lib/libz.so.1", Info: symbols.Info{Debug: symbols.DebugDynsym, BuildID: "abcdef"}}
			r.find([]*Diagnosis{d})
			if !slices.Equal(d.Remedies, want) {
				t.Errorf("%s: %+v, want %+v", c.name, d.Remedies, want)
			}
		}
		check(c.want)
		want := slices.DeleteFunc(slices.Clone(c.want), func(m Remedy) bool { return m.Kind == NameServer })
		r.server = "https://our.example"
		check(append(slices.Clone(want), Remedy{Kind: AskServer, What: "https://our.example"}))
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
