package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"os/exec"

	"hdb/testprogs"
)

// TestRecordAlloc has calls of a program's own functions recorded, and is told of those
// that cannot be.
func TestRecordAlloc(t *testing.T) {
	prog, file := testprogs.Build(t, "pools"), filepath.Join(t.TempDir(), "pools.hdb")
	cmd := exec.Command(testprogs.HDB(t), "record", "-o", file, "--alloc", "app::Pool::get size=ARG2 ptr=RET", "--alloc", "nosuch size=ARG1", prog)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"calls of app::Pool::get are events of kind alloc now: 2 places", "nosuch: no such place yet, pending", "nosuch: no loaded module has it: no call of it is recorded"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	out, err := exec.Command(testprogs.HDB(t), "-batch", "-nx", "-ex", `allocs all if kind == "app::Pool::get"`, "open", file).CombinedOutput()
	if n := strings.Count(string(out), "app::Pool::get("); err != nil || n != 3 {
		t.Errorf("%d calls are recorded, the program makes 3: %v\n%s", n, err, out)
	}
	for _, spec := range []string{"foo bar", "pools.cc:12 size=ARG1", "size=ARG1"} {
		var out, errw bytes.Buffer
		none := filepath.Join(t.TempDir(), "none.hdb")
		if code := run([]string{"record", "-o", none, "--alloc", spec, prog}, os.Stdin, &out, &errw); code != exitUsage {
			t.Errorf("%q: exit %d: %s", spec, code, &errw)
		}
		if _, err := os.Stat(none); err == nil {
			t.Errorf("%q leaves a file", spec)
		}
	}
}
