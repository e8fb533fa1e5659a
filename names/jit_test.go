package names

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

// run runs a tool of the tests.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestHostilePerfMaps must neither hang nor follow links.
func TestHostilePerfMaps(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("1000 100 secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(string) error{
		"fifo":    func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"link":    func(p string) error { return os.Symlink(secret, p) },
		"folder":  func(p string) error { return os.Mkdir(p, 0o755) },
		"device":  func(p string) error { return os.Symlink("/dev/zero", p) },
		"missing": func(string) error { return nil },
		"foreign": func(p string) error {
			if err := os.WriteFile(p, []byte("1000 100 foreign\n"), 0o644); err != nil || os.Geteuid() != 0 {
				return err
			}
			return os.Chown(p, 12345, 12345)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			if name == "foreign" && os.Geteuid() != 0 {
				return // nobody else can give files away
			}
			j := newJITNames(os.Getpid())
			j.paths = []string{path}
			j.readMap()
			if j.perf != nil {
				t.Errorf("read: %d codes", j.perf.Len())
			}
		})
	}
	j := newJITNames(os.Getpid())
	if len(j.paths) != 2 || !strings.HasPrefix(j.paths[1], "/tmp/perf-") {
		t.Errorf("paths %v", j.paths)
	}
	j.paths = []string{secret}
	for range 2 {
		j.readMap()
		if f, ok := j.perf.Lookup(addr.Run(0x1000)); !ok || f.Function != "secret" {
			t.Errorf("own map: %+v", f)
		}
	}
	if err := os.WriteFile(secret, []byte("1000 100 secret\n1000 100 moved here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.readMap()
	if f, _ := j.perf.Lookup(addr.Run(0x1000)); f.Function != "moved here" {
		t.Errorf("after a change: %+v", f)
	}
}

// TestMapOfAContainer reads the map of a process that is gone, and its /tmp with it.
func TestMapOfAContainer(t *testing.T) {
	cmd := exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs none /tmp && echo 1000 100 inside > /tmp/perf-$$.map && echo ready && exec sleep 100")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 10)); n == 0 { // who may not mount has no containers either
		t.Skipf("no mount namespace: %v, %v", err, cmd.Wait())
	}
	j := newJITNames(cmd.Process.Pid)
	defer j.close()
	cmd.Process.Kill()
	cmd.Wait()
	j.readMap()
	if j.perf == nil {
		t.Fatal("no map")
	}
	if f, ok := j.perf.Lookup(addr.Run(0x1000)); !ok || f.Function != "inside" {
		t.Errorf("names %+v", f)
	}
}

// linkedJIT is an ELF image of a function at 0x7f0000.
func linkedJIT(t *testing.T, function string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, object, linked := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.elf")
	if err := os.WriteFile(src, []byte("int "+function+"(void) { return 1; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "gcc", "-c", src, "-o", object)
	run(t, "ld", "-Ttext=0x7f0000", "-e", "0", object, "-o", linked)
	b, err := os.ReadFile(linked)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestJITCodeInFreedMemory reads an image of which the place and the size were another's.
func TestJITCodeInFreedMemory(t *testing.T) {
	first, second := linkedJIT(t, "first"), linkedJIT(t, "other")
	if len(first) != len(second) {
		t.Fatalf("%d and %d bytes", len(first), len(second))
	}
	e := symbols.JITEntry{Size: uint64(len(first))}
	a := readJITImage(bytes.NewReader(first), e, jitImage{})
	same := readJITImage(bytes.NewReader(first), e, a)
	b := readJITImage(bytes.NewReader(second), e, a)
	if a.img == nil || same.img != a.img || b.img == nil {
		t.Fatalf("images %v, %v, %v", a, same, b)
	}
	if f := b.img.Lookup(0x7f0000); len(f) != 1 || f[0].Function != "other" {
		t.Errorf("names %+v", f)
	}
}

// TestJITCodeAtOneAddress: a recorded stack through memory that had code of several
// functions has the names of all of them, a live one that of now.
func TestJITCodeAtOneAddress(t *testing.T) {
	image := func(name string) *symbols.JITImage {
		img, err := symbols.ReadJITImage(linkedJIT(t, name), symbols.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	s := New(Config{})
	s.JIT.names = &jitNames{images: map[symbols.JITEntry]jitImage{}}
	name := func() (now, recorded string) {
		c := addr.Return(0x7f0001)
		return s.JIT.frames(c)[0].Function, s.JIT.chain(c)[0].Function
	}
	s.JIT.names.order, s.JIT.names.images[symbols.JITEntry{Addr: 1}] = []symbols.JITEntry{{Addr: 1}}, jitImage{img: image("first")}
	if now, recorded := name(); now != "first" || recorded != "first" {
		t.Errorf("now %s, recorded %s", now, recorded)
	}
	s.JIT.names.gone = []*symbols.JITImage{image("first"), image("other")}
	if now, recorded := name(); now != "first" || recorded != "first or other" {
		t.Errorf("now %s, recorded %s", now, recorded)
	}
	s.JIT.names.gone = append(s.JIT.names.gone, image("third"), image("fifth"))
	if _, recorded := name(); recorded != "first or other or third or 1 other" {
		t.Errorf("recorded %s", recorded)
	}
	s.JIT.names.gone = append(s.JIT.names.gone, image("sixth"))
	if _, recorded := name(); recorded != "first or other or third or 2 others" {
		t.Errorf("recorded %s", recorded)
	}
}
