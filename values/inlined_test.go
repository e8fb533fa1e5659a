package values_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestInlinedLocals lists each variable of an inlined frame once, although its abstract
// function has an entry for it, too. gdb 13 lists some twice.
func TestInlinedLocals(t *testing.T) {
	source := filepath.Join("testdata", "inlinedlocals.c")
	for _, c := range []struct {
		build []string
		want  []string // the innermost frame, its caller
	}{
		{[]string{"gcc", "-O1"}, []string{"other = 36\nsum = 18\n", "deep = <optimized out>\nb = 4\n"}},
		{[]string{"gcc", "-O2", "-gdwarf-4"}, []string{"other = 36\nsum = 18\n", "deep = <optimized out>\nb = 4\n"}},
		{[]string{"clang", "-O0"}, []string{"other = 36\nsum = 18\n", "deep = 0\nb = 4\n"}},
		{[]string{"clang", "-O1"}, []string{"sum = 18\nother = <optimized out>\n", "deep = <optimized out>\nb = 4\n"}},
	} {
		prog := filepath.Join(t.TempDir(), "inlinedlocals")
		args := append(c.build[1:], "-g", source, "-o", prog)
		if out, err := exec.Command(c.build[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.build, err, out)
		}
		out, err := exec.Command(testprogs.HDB(t), "-nx", "-batch", "-ex", "break "+testprogs.StopLine(t, source), "-ex", "run",
			"-ex", "echo @@", "-ex", "info locals", "-ex", "echo @@", "-ex", "frame 1 info locals", "-ex", "echo @@", prog).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c.build, err, out)
		}
		parts := strings.Split(string(out), "@@")
		for i, want := range c.want {
			if i+1 >= len(parts) || strings.TrimPrefix(parts[i+1], "\n") != want {
				t.Errorf("%v, frame %d: want\n%sin\n%s", c.build, i, want, out)
			}
		}
	}
}
