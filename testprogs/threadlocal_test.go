package testprogs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThreadLocalHolders does what threadlocal.session does with musl, which has the main thread's storage in
// the data of modules, and without symbols.
func TestThreadLocalHolders(t *testing.T) {
	for _, c := range []struct {
		name, cc string
		args     []string
		stop     string
		want     string
	}{
		{"musl", "musl-gcc", nil, "held", "thread-local in_dynamic.kept[1] of thread 1  libdynamiclocal.so"},
		{"stripped", "gcc", []string{"-s"}, "alloc if size == 200", "byte 16 of the thread-local storage of thread 1  libdynamiclocal.so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, args := range [][]string{
				{"-shared", "-fPIC", "-DNAME=in_static", "testdata/threadlocal_lib.c", "-o", filepath.Join(dir, "libstaticlocal.so")},
				{"-shared", "-fPIC", "-DNAME=in_dynamic", "testdata/threadlocal_lib.c", "-o", filepath.Join(dir, "libdynamiclocal.so")},
				{"testdata/threadlocal.c", "-o", filepath.Join(dir, "threadlocal"), "-pthread", "-Wl,-rpath," + dir, "-ldl"},
			} {
				cmd := exec.Command(Tool(t, c.cc), append(append([]string{"-g"}, args...), c.args...)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
				}
			}
			ask := func(question string) string {
				t.Helper()
				out, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "set disable-randomization on", "-ex", "record start", "-ex", "break "+c.stop, "-ex", "run", "-ex", question,
					filepath.Join(dir, "threadlocal")).CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return string(out)
			}
			// in_dynamic holds the fifth node of the first thread. Addresses are the same in each run.
			list := ask("allocs 100 if size == 16 && thread == 1")
			var nodes []string
			for line := range strings.Lines(list) {
				if _, at, ok := strings.Cut(line, "malloc(16) = "); ok {
					nodes = append(nodes, strings.Fields(at)[0])
				}
			}
			if len(nodes) < 5 {
				t.Fatalf("nodes %v in\n%s", nodes, list)
			}
			if out := ask("refs " + nodes[4]); !strings.Contains(out, c.want) {
				t.Errorf("want %q:\n%s", c.want, out)
			}
		})
	}
}
