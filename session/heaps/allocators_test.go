package heaps

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/symbols"
	"hdb/testprogs"
)

// TestAllocatorText has programs without symbols whose allocators are known by their constants.
func TestAllocatorText(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program.c")
	if err := os.WriteFile(source, []byte("#include <stdlib.h>\nint main(void) { void *p = malloc(10); free(p); return p == 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		compiler, name string
		args           []string
		version        bool
	}{
		{"musl-gcc", muslName, []string{"-static", "-s"}, false},
		{"gcc", "", []string{"-static", "-s"}, false},
		{"gcc", "jemalloc", []string{"-s", "-l:libjemalloc.a", "-lm", "-lstdc++"}, true},
	} {
		out := filepath.Join(t.TempDir(), "program")
		cmd := exec.Command(testprogs.Tool(t, c.compiler), append([]string{"-O0", "-fno-builtin", "-o", out, source}, c.args...)...)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, b)
		}
		o, err := symbols.Open(out, symbols.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		got := allocatorTextOf(o)
		if got.name != c.name || (got.version != "") != c.version {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}
