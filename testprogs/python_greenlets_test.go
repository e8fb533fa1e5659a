package testprogs

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPythonGreenlets compares the functions of Python in greenlets with what these tell.
func TestPythonGreenlets(t *testing.T) {
	script, err := filepath.Abs("testdata/python/greenlets.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if exec.Command(p, "-c", "import greenlet").Run() != nil {
			t.Logf("%s: it has no greenlet (of the system's: apt-get install python3-greenlet)", p)
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			args := []string{"--json", "-batch", "-nx", "-ex", "run"}
			for range 4 {
				args = append(args, "-ex", "py bt", "-ex", "bt 5000", "-ex", "continue")
			}
			out, _ := exec.CommandContext(ctx, HDB(t), append(args, "--args", p, script)...).Output() // its exit code is of the signal
			said, got, merged := stacks(t, out)
			if len(said) != 4 || !reflect.DeepEqual(got, said) || !reflect.DeepEqual(merged, said) {
				t.Errorf("\nwant   %v\ngot    %v\nmerged %v", said, got, merged)
			}
		})
	}
}
