package values_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestThreadLocal reads thread-local variables of a program and its libraries in two
// threads, one of which has not used all of them yet.
func TestThreadLocal(t *testing.T) {
	for _, cc := range []string{"gcc", "musl-gcc"} {
		t.Run(cc, func(t *testing.T) {
			dir := t.TempDir()
			build := func(args ...string) {
				t.Helper()
				cmd := exec.Command(cc, append([]string{"-g"}, args...)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
				}
			}
			early, late := filepath.Join(dir, "libearly.so"), filepath.Join(dir, "liblate.so")
			build("-shared", "-fPIC", "-DPREFIX=early", "testdata/tlslib.c", "-o", early)
			build("-shared", "-fPIC", "-DPREFIX=late", "testdata/tlslib.c", "-o", late)
			prog := filepath.Join(dir, "tlsmain")
			build(`-DLATE="`+late+`"`, "testdata/tlsmain.c", "-o", prog, early, "-Wl,-rpath,"+dir, "-pthread")
			args := []string{"-nx", "-batch", "-ex", "break puts", "-ex", "run"}
			steps := []struct{ ask, want string }{
				{"print main_tls", " = 12"},
				{"print early_tls", " = 105"},
				{"print early_own", " = 177"},
				{"print early_bss", " = {0, 100, 0, 0}"},
				{"print late_tls", map[bool]string{true: "this thread has no copy of the variable yet", false: " = 5"}[cc == "gcc"]}, // musl makes all copies when a library is loaded
				{"set var early_tls = 200", ""},
				{"print early_tls", " = 200"},
				{"continue", "puts"},
				{"print late_tls", " = 1005"},
				{"print late_bss", " = {0, 1000, 0, 0}"},
				{"print early_tls", " = 200"},
				{"thread 1", "thread 1"},
				{"print late_tls", " = 15"},
				{"print early_tls", " = 6"},
				{"print main_tls", " = 11"},
			}
			for _, s := range steps {
				args = append(args, "-ex", "echo @@", "-ex", s.ask)
			}
			out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
			parts := strings.Split(string(out), "@@")
			if len(parts) != len(steps)+1 {
				t.Fatalf("%d answers to %d questions:\n%s", len(parts)-1, len(steps), out)
			}
			for i, s := range steps {
				if !strings.Contains(parts[i+1], s.want) {
					t.Errorf("%s: %s\nwant %s", s.ask, parts[i+1], s.want)
				}
			}
		})
	}
}
