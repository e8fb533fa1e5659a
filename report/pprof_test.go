package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pprofTool runs go tool pprof on a file.
func pprofTool(t *testing.T, path string, flags ...string) string {
	t.Helper()
	cmd := exec.Command("go", append(append([]string{"tool", "pprof", "-symbolize=none"}, flags...), path)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// TestPprofTool opens the profile in the tool itself.
func TestPprofTool(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "a.c")
	text := "static char *grab(unsigned long n) {\n  return malloc(n);\n}\nchar *keep(unsigned long n) {\n  return grab(n);\n}\n\nint main(void) {\n  keep(1);\n  keep(2);\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path := exported(t, "pprof", sampleProfile(source), Live)
	top := pprofTool(t, path, "-top")
	for _, want := range []string{"File: prog", "Build ID: f8a85d", "Type: inuse_space", "1500B total", "1300B 86.67%", "grab", "prog --flag, pid 4711"} {
		if !strings.Contains(top, want) {
			t.Errorf("-top lacks %q:\n%s", want, top)
		}
	}
	if list := pprofTool(t, path, "-list", "^keep$"); !strings.Contains(list, "1.27kB      5:  return grab(n);") {
		t.Errorf("-list has no cost on line 5:\n%s", list)
	}
	if list := pprofTool(t, path, "-sample_index=alloc_objects", "-list", "^main$"); !strings.Contains(list, "14      9:  keep(1);") {
		t.Errorf("-list has no calls on line 9:\n%s", list)
	}
	if tags := pprofTool(t, path, "-tags"); !strings.Contains(tags, "thread") || !strings.Contains(tags, "worker") {
		t.Errorf("-tags lacks the threads:\n%s", tags)
	}
	older := sampleProfile(source)
	older.Stacks = older.Stacks[1:]
	if diff := pprofTool(t, path, "-top", "-diff_base", exported(t, "pprof", older, Live)); !strings.Contains(diff, "1000B") {
		t.Errorf("the difference to a profile without 1000 bytes:\n%s", diff)
	}
}
