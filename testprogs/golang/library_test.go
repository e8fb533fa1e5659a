package golang

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// TestLibraries records a program of C with libraries of Go, each of which has a runtime of its
// own. Their blocks and their ends are events, if the runtimes are of one version: of another
// hdb says that it is not followed.
func TestLibraries(t *testing.T) {
	one := build(t, "library", "local", "-buildmode=c-shared")
	old := build(t, "library", "go1.18.10", "-buildmode=c-shared")
	text, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	two := filepath.Join(t.TempDir(), "second")
	if err := os.WriteFile(two, text, 0o777); err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "host")
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-o", host, filepath.Join("testdata", "library", "host.c"), "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	worked(t, 1, host, one)
	worked(t, 2, host, one, two)
	worked(t, 0, host, one, old)
}

// TestPlugin records a program with a plugin, which has the code of the runtime once more: what
// is allocated by either, and freed by either's sweeper, is counted.
func TestPlugin(t *testing.T) {
	forms := [][]string{nil, {"-ldflags=-s -w"}}
	if testing.Short() { // what is stripped is found like that of TestCgoStacks
		forms = forms[:1]
	}
	for _, flags := range forms {
		host, library := build(t, "plugin", "local", flags...), build(t, "library", "local", append(flags, "-buildmode=plugin")...)
		path := worked(t, 1, host, library)
		f, err := file.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		whole := 0
		for e := range f.Events(1) {
			if e.Kind == capture.Alloc && e.Size == 5000 && len(f.Stack(e.Stack).PCs) > 3 {
				whole++
			}
		}
		if whole != 4000 {
			t.Errorf("%v: %d stacks have callers", flags, whole)
		}
	}
}

// TestPluginTypes has the heap tell the types of recorded blocks that a plugin has made, whose descriptors lie
// in the plugin.
func TestPluginTypes(t *testing.T) {
	host, library := build(t, "plugin", "local"), build(t, "library", "local", "-buildmode=plugin")
	c := open(t, host, library)
	c.ask("start")
	c.want("record start", "recording by code inside the process")
	c.ask("break fmt.Println")
	c.want("continue", "hit 1")
	for _, question := range []string{`live if type("main.Plugged")`, "find -type main.Plugged"} {
		text := c.ask(question)
		if n := strings.Count(text, "main.Plugged"); n != 10 || strings.Contains(text, "perhaps") {
			t.Errorf("%s: %d blocks, want 10 whose type is recorded:\n%s", question, n, text)
		}
	}
	c.ask("kill")
	c.quit()
}

// TestSharedRuntime records a program that is linked with the runtime as a library (-linkshared),
// which finds the address of what has no bytes in a table.
func TestSharedRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("the full form has it: all of the runtime is compiled anew")
	}
	packages := t.TempDir()
	env := append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1")
	shared := exec.Command(testprogs.Tool(t, "go"), "install", "-buildmode=shared", "-linkshared", "-pkgdir="+packages, "runtime", "sync/atomic", "runtime/cgo")
	shared.Dir, shared.Env = packages, env
	if out, err := shared.CombinedOutput(); err != nil {
		t.Fatalf("go install -buildmode=shared: %v\n%s", err, out)
	}
	program := buildIn(t, []string{"CGO_ENABLED=1"}, "stress", "local", "-linkshared", "-pkgdir="+packages)
	out, path := record(t, program, "300")
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want, tiny, got uint64
	if _, err := fmt.Sscanf(out, "allocs %d frees %d tiny %d", &want, new(uint64), &tiny); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for e := range f.Events(1) {
		if e.Kind == capture.Alloc && e.Size == marker {
			break
		}
		if e.Kind == capture.Alloc && strings.HasPrefix(f.Functions()[e.Func], "runtime.") {
			got++
		}
	}
	if got != want+tiny {
		t.Errorf("%d allocations were recorded, the runtime has counted %d", got, want+tiny)
	}
}

// worked records a program with libraries, so many of which are followed: each makes 4,000
// blocks of 5,000 bytes, of which fewer than 100 are kept.
func worked(t *testing.T, followed int, host string, libraries ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "capture.hdb")
	out, err := exec.Command(testprogs.HDB(t), append([]string{"record", "-o", path, host}, libraries...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if said := strings.Contains(string(out), "have Go runtimes of two versions"); said == (followed > 0) {
		t.Errorf("%q: hdb said\n%s", libraries, out)
	}
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if partial := f.Info().Partial.Has(capture.GoHeap); partial == (followed > 0) {
		t.Errorf("%q: it is noted that blocks of Go are not counted: %t\n%s", libraries, partial, out)
	}
	made, freed := 0, 0
	for e := range f.Events(1) {
		switch {
		case !strings.HasPrefix(f.Functions()[e.Func], "runtime."):
		case e.Kind == capture.Alloc && e.Size == 5000:
			made++
		case e.Kind == capture.Free && e.Ended.Recorded && e.Ended.Size == 5000:
			freed++
		}
	}
	if followed > 0 && (made != 4000*followed || freed < 3900*followed || freed > made) {
		t.Errorf("%q: %d blocks were made, and %d freed", libraries, made, freed)
	}
	return path
}
