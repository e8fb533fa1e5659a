package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPyRefusals has hdb py say in one line why it cannot tell anything.
func TestPyRefusals(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it ends in no other way
		_ = cmd.Wait()
	}()
	sleeper := strconv.Itoa(cmd.Process.Pid)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no core file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "a process or a core file must follow"},
		{"1 2 3", exitUsage, `"3": only one process or core file expected`},
		{"--nothing 1", exitUsage, "nothing"},
		{sleeper, exitTarget, "process " + sleeper + ": no CPython"},
		{"--native " + sleeper, exitTarget, "process " + sleeper + ": no CPython"},
		{"999999999", exitTarget, "no such process"},
		{"0", exitTarget, "not a process ID"},
		{text, exitTarget, text},
		{text + ".gone", exitTarget, "no such file"},
		{"--help", 0, ""},
	} {
		var out, errw bytes.Buffer
		code := run(append([]string{"py"}, strings.Fields(c.args)...), os.Stdin, &out, &errw)
		if said := errw.String(); code != c.code || !strings.Contains(said, c.want) || strings.Count(said, "\n") > 1 {
			t.Errorf("hdb py %s: code %d, want %d\n%s%s", c.args, code, c.code, &out, said)
		}
	}
}
