package testprogs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// libraryOf is the folder of the C library of another release, "" if scripts/glibc has not brought it.
func libraryOf(t *testing.T, release string) string {
	t.Helper()
	dir, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "glibc", release, "usr", "lib", "x86_64-linux-gnu", "libc.so.6"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// TestCopiesOfLibc asks about the heap of programs that have loaded a second C library below their own: of the same release
// while nothing else tells the two apart, and of another release, which is not read.
func TestCopiesOfLibc(t *testing.T) {
	dir, older, newer := t.TempDir(), libraryOf(t, "2.41"), libraryOf(t, "2.43")
	build := func(name string, args ...string) string {
		out := filepath.Join(dir, name)
		if b, err := exec.Command(Tool(t, "gcc"), append([]string{"-g", "-o", out, "testdata/glibc/copies.c"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		return out
	}
	plain := build("plain")
	out, err := exec.Command("ldd", plain).Output()
	path := regexp.MustCompile(`libc\.so\.6 => (\S+)`).FindSubmatch(out)
	if err != nil || path == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.ReadFile(string(path[1]))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "libc.so.6")
	if err := os.WriteFile(copied, file, 0o755); err != nil {
		t.Fatal(err)
	}
	const (
		mine    = `is byte 0 of a live block of 48\.8 KiB \(50008\) at \S+\nheap \S+ rw-p, main arena\n.*\n?`
		second  = mine + `\S+ is byte 0 of a live block of 48\.8 KiB \(50008\) at \S+\nheap \S+ rw-p, main arena of C library 2\nmalloc of 2 copies of the C library: `
		another = mine + `\S+ is byte \S+ of a mapping of (?s:.*); a copy of the C library that is of another release is not shown here\n(?s:.*) of another release was not walked: `
	)
	check := func(name, environ, want string, args ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, HDB(t), append([]string{"-batch", "-nx", "-ex", "run", "-ex", "what mine[19]", "-ex", "what theirs[19]", "-ex", "heap", "-ex", "leaks", "-ex", "kill", "--args"}, args...)...)
			cmd.Env = append(os.Environ(), environ)
			out, _ := cmd.CombinedOutput() // its exit code is of the signal
			if !regexp.MustCompile(want).Match(out) {
				t.Errorf("want %s\n%s", want, out)
			}
		})
	}
	check("same", "LANG=C", second, plain, "namespace", copied)
	check("same without brk", "LANG=C", second, plain, "namespace", copied, "nobrk")
	if older == "" || newer == "" {
		t.Log("glibc 2.41 or 2.43 is not here: scripts/glibc brings them")
		return
	}
	other := filepath.Join(newer, "libc.so.6")
	linker := filepath.Join(older, "ld-linux-x86-64.so.2")
	linked := build("linked", "-nodefaultlibs", "-Wl,--dynamic-linker="+linker, "-Wl,-rpath,"+older, filepath.Join(older, "libc.so.6"), "-lgcc")
	check("another", "LANG=C", another, linked, "namespace", other)
	check("another by the linker", "LANG=C", another, linker, linked, "namespace", other)
	static := build("static", "-static-pie", "-w")
	check("another of a static one", "LD_LIBRARY_PATH="+newer, another, static, "open", other)
}
