package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestAssertUnfollowed has no limit held of a program in which no allocator function is known: neither as it runs nor from its
// capture, and leaks fails where there is no heap that can be walked either.
func TestAssertUnfollowed(t *testing.T) {
	t.Parallel()
	program := testprogs.Build(t, "unfollowed", "STRIP")
	musl := testprogs.Build(t, "basic", "CC=musl-gcc", "-static", "STRIP")
	limits := []string{"--no-leaks", "--max-allocs", "5", "--max-peak", "1M", "--max-leaked", "1M", "--max-temporary", "5", "--max-live-growth", "1M"}
	dir := t.TempDir()
	capture, junit, sarif := filepath.Join(dir, "u.hdb"), filepath.Join(dir, "j.xml"), filepath.Join(dir, "s.sarif")
	console := func(path string, commands ...string) []string {
		args := []string{"-nx", "-batch"}
		for _, c := range append([]string{"record start"}, commands...) {
			args = append(args, "-ex", c)
		}
		return append(args, path)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{append(append([]string{"assert", "-o", capture, "--junit", junit, "--sarif", sarif}, limits...), "--", program), 3, []string{
			"UNDECIDED max-peak: ", "UNDECIDED max-allocs: ", "FAILED no-leaks: ", "in 20 blocks that nothing holds", "UNDECIDED max-leaked: ", "UNDECIDED max-live-growth: ", "UNDECIDED max-temporary: ",
			"no allocator function was followed: name them with alloc add", "warning: not all events of the run were recorded: no allocator function was known"}},
		{append(append([]string{"assert"}, limits...), capture), 6, []string{"UNDECIDED no-leaks: ", "UNDECIDED max-allocs: "}},
		{[]string{"assert", "--no-leaks", "--allow-incomplete", capture}, 6, []string{"UNDECIDED no-leaks: "}},
		{[]string{"capture", "info", capture}, 0, []string{"no allocator function was known in the program"}},
		{[]string{"leaks", capture}, 6, []string{"no allocator function was known in the program"}},
		{[]string{"assert", "--no-leaks", "--", musl}, 6, []string{"UNDECIDED no-leaks: "}},
		{[]string{"assert", "--max-allocs", "5", "--", program}, 6, []string{"UNDECIDED max-allocs: "}},
		{[]string{"assert", "--no-leaks", "--", testprogs.Build(t, "static")}, 0, []string{"ok     no-leaks: "}},
		{[]string{"leaks", "--", program}, 0, []string{"in 20 blocks"}},
		{[]string{"leaks", "--", testprogs.Build(t, "mismatch"), "malloc-delete"}, 0, []string{"mismatched free: ", "about to exit"}}, // goes on past the wrong free
		{[]string{"leaks", "--", musl}, 6, []string{"no allocator function was known in the program"}},
		{console(program, "leaks --exit", "assert --no-leaks --max-allocs 5"), 3, []string{"FAILED no-leaks: ", "in 20 blocks that nothing holds", "UNDECIDED max-allocs: "}},
		{console(program, "set probe off", "leaks --exit", "assert --max-allocs 5"), 6, []string{"UNDECIDED max-allocs: "}},
		{console(program, "run", "assert --no-leaks --max-allocs 5"), 6, []string{"UNDECIDED no-leaks: ", "UNDECIDED max-allocs: "}},
		{console(program, "start", "assert --max-allocs 5"), 0, []string{"ok     max-allocs"}}, // nothing has run yet
		{console(testprogs.Build(t, "static"), "leaks --exit", "assert --max-peak 1G"), 0, []string{"ok     max-peak"}},
		{console(testprogs.Build(t, "static"), "start", "leaks --exit", "assert --max-peak 1G"), 0, []string{"ok     max-peak"}},
		{console(testprogs.Build(t, "phases"), "break report", "run", "assert --max-peak 1G"), 0, []string{"ok     max-peak"}},
	} {
		cmd := exec.Command(testprogs.HDB(t), c.args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("hdb %s: exit %d, want %d:\n%s", c.args, code, c.code, out)
		}
		for _, want := range c.want {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("hdb %s: %q is missing:\n%s", c.args, want, out)
			}
		}
	}
	var suite struct {
		Errors int `xml:"errors,attr"`
	}
	if b, err := os.ReadFile(junit); err != nil || xml.Unmarshal(b, &suite) != nil || suite.Errors != 5 {
		t.Errorf("JUnit: %v, %d errors of 5", err, suite.Errors)
	}
	if b, err := os.ReadFile(sarif); err != nil || strings.Count(string(b), "undecided: no allocator function was followed") != 5 {
		t.Errorf("SARIF: %v: %s", err, b)
	}
}
