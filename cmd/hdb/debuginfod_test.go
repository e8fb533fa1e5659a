package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/symbols"
	"hdb/testprogs"
)

// stripped is a program whose debug file only a server has, and the address of its
// main. The server is a directory.
func stripped(t *testing.T) (prog, main string) {
	t.Helper()
	dir := t.TempDir()
	prog, source := filepath.Join(dir, "prog"), filepath.Join(dir, "own.c")
	if err := os.WriteFile(source, []byte("int main(void)\n{\n    return 0;\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tool := func(name string, args ...string) string {
		out, err := exec.Command(testprogs.Tool(t, name), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	tool("gcc", "-g", "-static", "-Wl,--build-id", "-o", prog, source)
	for line := range strings.Lines(tool("nm", prog)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "main" {
			main = f[0]
		}
	}
	obj, err := symbols.Open(prog, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	served := filepath.Join(dir, "server", "buildid", obj.File.BuildID())
	obj.Close()
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	tool("objcopy", "--only-keep-debug", prog, filepath.Join(served, "debuginfo"))
	tool("strip", prog)
	t.Setenv("DEBUGINFOD_URLS", "file://"+filepath.Join(dir, "server"))
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(dir, "cache"))
	return prog, main
}

// TestBatchDebuginfod asks servers when the command line says so, and at no other time.
func TestBatchDebuginfod(t *testing.T) {
	prog, main := stripped(t)
	for _, c := range []struct {
		flags, symbolize string
		doctor           int
	}{
		{"", "??\n??:0\n", exitMissing},
		{"--debuginfod --no-debuginfod", "??\n??:0\n", exitMissing},
		{"--debuginfod", "main\nown.c:2\n", 0},
	} {
		flags := strings.Fields(c.flags)
		if got := symbolized1(t, "", append(flags, "-e", prog, "-fs", main)...); got != c.symbolize {
			t.Errorf("hdb symbolize %s: %q, want %q", c.flags, got, c.symbolize)
		}
		if got := symbolized1(t, prog+" "+main+"\n", append(flags, "-fs")...); got != c.symbolize {
			t.Errorf("hdb symbolize %s with lines: %q, want %q", c.flags, got, c.symbolize)
		}
		var out, errw bytes.Buffer
		if code := run(append(append([]string{"doctor"}, flags...), prog), os.Stdin, &out, &errw); code != c.doctor {
			t.Errorf("hdb doctor %s: exit %d, want %d: %s%s", c.flags, code, c.doctor, &out, &errw)
		}
	}
}

// TestBatchWithoutServers says why the flag does nothing.
func TestBatchWithoutServers(t *testing.T) {
	prog, main := stripped(t)
	for _, c := range []struct {
		urls string
		code int
		want string
	}{
		{"", exitUsage, "no server to ask"},
		{"http://127.0.0.1:1", 0, "warning: debuginfod: debuginfo of build ID"},
	} {
		t.Setenv("DEBUGINFOD_URLS", c.urls)
		t.Setenv("DEBUGINFOD_RETRY_LIMIT", "0")
		var out, errw bytes.Buffer
		code := symbolize([]string{"--debuginfod", "-e", prog, "-f", main}, nil, &out, &errw)
		if code != c.code || strings.Count(errw.String(), c.want) != 1 {
			t.Errorf("servers %q: exit %d: %s", c.urls, code, &errw)
		}
	}
}
