package testprogs

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPythonGreenlets compares the functions of Python in greenlets with what these tell, at
// stops and in recorded stacks.
func TestPythonGreenlets(t *testing.T) {
	script, err := filepath.Abs("testdata/python/greenlets.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if exec.Command(p, "-c", "import greenlet").Run() != nil {
			if p == "/usr/bin/python3" {
				t.Errorf("%s has no greenlet: apt-get install python3-greenlet", p)
			} else {
				t.Logf("%s: not compared: it has no greenlet", p)
			}
			continue
		}
		for _, probe := range []string{"on", "off"} {
			t.Run(strings.TrimPrefix(p, "/")+",recorded,probe="+probe, func(t *testing.T) { recordedInPython(t, p, script, probe, 4) })
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
