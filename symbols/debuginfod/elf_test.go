package debuginfod

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// build compiles a program and splits its debug info off.
func build(t *testing.T, dir, name string, flags ...string) (prog, debug, id string) {
	t.Helper()
	src := filepath.Join(dir, name+".c")
	prog, debug = filepath.Join(dir, "bin", name), filepath.Join(dir, "bin", name+".debug")
	if err := os.MkdirAll(filepath.Dir(prog), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "int " + name + "(int a) { return a + 1; }\nint main(int argc, char **argv) { return " + name + "(argc); }\n"
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "gcc", append([]string{"-g", "-o", prog, src, "-Wl,--build-id"}, flags...)...)
	tool(t, "objcopy", "--only-keep-debug", prog, debug)
	tool(t, "strip", prog)
	m := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(tool(t, "readelf", "-n", prog))
	return prog, debug, string(m[1])
}

// tool runs a program of a Debian package that scripts/need installs.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v (scripts/need test)\n%s", name, err, errs.Bytes())
	}
	return out
}

// TestVerify compares with readelf, on files as binutils and elfutils make them.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	prog, debug, id := build(t, dir, "verify")
	eu := filepath.Join(dir, "eu.debug")
	full := filepath.Join(dir, "full")
	tool(t, "gcc", "-g", "-o", full, filepath.Join(dir, "verify.c"))
	tool(t, "eu-strip", "-o", filepath.Join(dir, "stripped"), "-f", eu, full)
	m := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(tool(t, "readelf", "-n", full))
	bare := filepath.Join(dir, "bare") // without section headers
	stripped, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	clear(stripped[40:48])
	clear(stripped[60:64])
	if err := os.WriteFile(bare, stripped, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, id := range map[string]string{prog: id, debug: id, bare: id, eu: string(m[1])} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(bytes.NewReader(b), int64(len(b)), id); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
		if err := verify(bytes.NewReader(b), int64(len(b)), "00"+id[2:]); err == nil {
			t.Errorf("%s has another build ID, too", filepath.Base(path))
		}
		if err := verify(bytes.NewReader(b[:len(b)*2/3]), int64(len(b)*2/3), id); err == nil && path != bare {
			t.Errorf("%s is whole without its end", filepath.Base(path))
		}
	}
}

// TestContents compares sections with debug/elf.
func TestContents(t *testing.T) {
	prog, debug, _ := build(t, t.TempDir(), "contents", "-gz=zlib")
	for _, path := range []string{prog, debug} {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		im, err := readImage(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Sections {
			got := im.contents(s.Name)
			if s.Type == elf.SHT_NULL || s.Type == elf.SHT_NOBITS {
				if got != nil {
					t.Errorf("%s: %s has contents", path, s.Name)
				}
				continue
			}
			text := make([]byte, got.Size())
			if _, err := got.ReadAt(text, 0); err != nil || !bytes.Equal(text, b[s.Offset:s.Offset+s.FileSize]) {
				t.Errorf("%s: %s differs: %v", path, s.Name, err)
			}
		}
		if im.contents(".none") != nil || im.contents("") != nil {
			t.Error("sections that there are not")
		}
	}
}

func TestBigEndianAnd32(t *testing.T) {
	// A file of class 32, most significant byte first, with one PT_NOTE segment.
	b := append([]byte("\x7fELF\x01\x02\x01"), make([]byte, 45)...)
	b[31] = 52           // e_phoff
	b[43], b[45] = 32, 1 // e_phentsize, e_phnum
	ph := make([]byte, 32)
	ph[3], ph[7], ph[19] = ptNote, 84, 24 // p_type, p_offset, p_filesz
	note := []byte{0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 3, 'G', 'N', 'U', 0, 1, 2, 3, 4, 5, 6, 7, 8}
	b = append(append(b, ph...), note...)
	if err := verify(bytes.NewReader(b), int64(len(b)), "0102030405060708"); err != nil {
		t.Error(err)
	}
}

func FuzzImage(f *testing.F) {
	f.Add(elfFile(testID, 10))
	f.Add(elfFile("0123", 0)[:150])
	f.Add([]byte("\x7fELF\x01\x02\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		im, err := readImage(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if id, err := im.check(); err == nil {
			if _, err := hex.DecodeString(id); err != nil {
				t.Errorf("build ID %q", id)
			}
		}
		if s := im.contents(".debug_info"); s != nil && s.Size() > int64(len(b)) {
			t.Errorf("a section of %d bytes in %d", s.Size(), len(b))
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("/a/b.c", "section")
	f.Add("/../../x#", "../..")
	f.Fuzz(func(t *testing.T, file, name string) {
		for k, arg := range map[kind]string{source: file, section: name} {
			tg, err := newTarget(k, testID, arg)
			if err != nil {
				continue
			}
			for _, n := range tg.names() {
				if n == "" || n != filepath.Base(n) || n == ".." || len(n) > maxName {
					t.Errorf("%q is called %q", arg, n)
				}
			}
		}
	})
}
