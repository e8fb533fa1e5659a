package golang

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// TestLibraries records a program of C with one library of Go, whose blocks and their ends are
// events, and one with two: of the second, whose runtime is another, hdb says that it is not
// followed.
func TestLibraries(t *testing.T) {
	one := build(t, "library", "local", "-buildmode=c-shared")
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
	for _, c := range []struct {
		libraries []string
		followed  bool
	}{{[]string{one}, true}, {[]string{one, two}, false}} {
		path := filepath.Join(t.TempDir(), "capture.hdb")
		out, err := exec.Command(testprogs.HDB(t), append([]string{"record", "-o", path, host}, c.libraries...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if said := strings.Contains(string(out), "second has a second Go runtime"); said == c.followed {
			t.Errorf("%d libraries: hdb said\n%s", len(c.libraries), out)
		}
		f, err := file.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if partial := f.Info().Partial.Has(capture.GoHeap); partial == c.followed {
			t.Errorf("%d libraries: it is noted that blocks of Go are not counted: %t\n%s", len(c.libraries), partial, out)
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
		if c.followed && (made != 4000 || freed < 1000 || freed > made) {
			t.Errorf("%d blocks were made, and %d freed", made, freed)
		}
	}
}
