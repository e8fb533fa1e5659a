package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/testprogs"
)

func TestAssertFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "a capture, or -- and a program",
		"--no-leaks":                      "a capture, or -- and a program",
		"--no-leaks --":                   "a capture, or -- and a program",
		"--no-leaks a b":                  "one capture expected",
		"--no-leaks a -- b":               "a capture and a program",
		"--no-leaks -o x a":               "nothing is recorded",
		"--no-leaks=1 a":                  "takes no value",
		"--max-peak":                      "value missing",
		"--max-peak -1 a":                 "max-peak",
		"--max-allocs 1e30 a":             "max-allocs",
		"--max-allocs nan a":              "max-allocs",
		"--bogus a":                       "no such flag",
		"-o":                              "value missing",
		"a":                               "no limit given",
		"--no-leaks --since 5% a":         "--since is for --max-live-growth",
		"--no-leaks --suppressions /no a": "no such file",
	} {
		var out, errw bytes.Buffer
		if code := run(append([]string{"assert"}, strings.Fields(args)...), os.Stdin, &out, &errw); code != exitUsage {
			t.Errorf("hdb assert %s: exit %d", args, code)
		}
		if msg := errw.String(); !strings.Contains(msg, want) || strings.Count(msg, "\n") != 1 {
			t.Errorf("hdb assert %s: %q, want %q", args, msg, want)
		}
	}
	o, err := parseAssertFlags(strings.Fields("--max-peak=1MiB --max-allocs 1e6 --strict -o f -- prog --no-leaks"))
	if err != nil || *o.Limits.MaxPeak != 1<<20 || *o.Limits.MaxAllocs != 1_000_000 || !o.Limits.Strict || o.Limits.NoLeaks || o.keep != "f" || len(o.words) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parseAssertFlags(strings.Fields("--max-peak=20k --max-leaked 20k --max-live-growth 20k --max-allocs 20k --max-temporary 1.5M f"))
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[*uint64]uint64{
		o.Limits.MaxPeak: 20 << 10, o.Limits.MaxLeaked: 20 << 10, o.Limits.MaxLiveGrowth: 20 << 10, // sizes
		o.Limits.MaxAllocs: 20_000, o.Limits.MaxTemporary: 1_500_000, // counts
	} {
		if *limit != want {
			t.Errorf("a limit is %d, want %d", *limit, want)
		}
	}
}

// TestAssertInCI plays the script of the action and the template: all files are written, and the exit code is the verdict's.
func TestAssertInCI(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(testprogs.HDB(t), filepath.Join(dir, "hdb")); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../ci/assert.sh")
	if err != nil {
		t.Fatal(err)
	}
	program := testprogs.Build(t, "phases")
	play := func(env ...string) (string, int) {
		cmd := exec.Command(script, "--no-leaks", "--", program)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "PATH="+dir+":"+os.Getenv("PATH"))...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := play("GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="); code != 3 || strings.Contains(out, "::error") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"run.hdb", "flamegraph.html", "junit.xml", "hdb.sarif", "code-quality.json", "summary.md"} {
		if st, err := os.Stat(filepath.Join(dir, "hdb-report", name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "hdb-report/run.hdb"), filepath.Join(dir, "base.hdb")); err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(dir, "step.md")
	if out, code := play("GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary, "HDB_AGAINST=base.hdb"); code != 3 || !strings.Contains(out, "::error file=") || !strings.Contains(out, "ok     against-leaks") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.HasPrefix(string(text), "### hdb assert: 1 of 3 limits failed") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestAssertRecords has a program recorded, with its own input and output. The exit
// codes are a promise to scripts.
func TestAssertRecords(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "work.c")
	text := `#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static void *volatile kept;
static void *work(void *p) { kept = malloc(123); return p; }
int main(int argc, char **argv)
{
	char line[64];
	pthread_t th;
	while (fgets(line, sizeof line, stdin))
		printf("read %s", line);
	if (argc > 1 && *argv[1] == 'k')
		abort();
	if (argc > 1 && *argv[1] == 'l') {
		pthread_create(&th, NULL, work, NULL);
		pthread_join(th, NULL);
	}
	return argc > 1 && *argv[1] == 'f' ? 7 : 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(dir, "work")
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-pthread", "-o", prog, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "allowed"), []byte("leak:^work$\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	base := exec.Command(testprogs.HDB(t), "record", "-q", "-o", "base.hdb", "./work")
	base.Dir, base.Stdin = dir, strings.NewReader("one\ntwo\n")
	if out, err := base.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		args string
		code int
		want string // on standard error
	}{
		{"--no-leaks -- ./work", 0, "ok     no-leaks: no block is live at the end; not counted: "},
		{"--no-leaks --strict --full -- ./work", 3, "_IO_file_doallocate"},
		{"--no-leaks -- ./work leak", 3, "FAILED no-leaks: 123 bytes in 1 block live at the end"},
		{"--no-leaks --suppressions allowed -- ./work leak", 0, "suppressed: 123 bytes in 1 block"},
		{"--no-leaks --summary sum.md --annotations --code-quality q.json -- ./work leak", 3, "::error file="},
		{"--against base.hdb -- ./work", 0, "ok     against-leaks: no stack leaves more at the end than in base.hdb"},
		{"--against base.hdb --tolerance 1000% -- ./work leak", 3, "123 bytes more live at the end than in base.hdb (--tolerance 1000%), from 1 stack, 1 of them new"},
		{"--against none.hdb -- ./work", 4, "--against: "},
		{"-f --against base.hdb -o base.hdb -- ./work", 4, "base.hdb: is also the input"},
		{"--no-leaks --summary no/s.md -- ./work", 4, "--summary: no/s.md: cannot be made"},
		{"--against base.hdb --tolerance 5 -- ./work", 2, "is not a share like 5%"},
		{"--no-leaks --tolerance 5% -- ./work", 2, "--tolerance is for --against"},
		{"--no-leaks -- ./work fail", 1, "FAILED program: work: exited with code 7"},
		{"--no-leaks --return-child-result -- ./work fail", 7, "exited with code 7"},
		{"--no-leaks -- ./work kill", 5, "FAILED program: work: killed by SIGABRT"},
		{"--max-peak 1 -- ./work kill", 3, "FAILED max-peak"},
		{"--no-leaks --junit no/j.xml -- ./work", 4, "no/j.xml: cannot be made"},
		{"--no-leaks -- ./none", 4, "none"},
	} {
		cmd := exec.Command(testprogs.HDB(t), append([]string{"assert"}, strings.Fields(c.args)...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("one\ntwo\n")
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"))
		if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o777); err != nil {
			t.Fatal(err)
		}
		var errw bytes.Buffer
		cmd.Stderr = &errw
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(errw.String(), c.want) {
			t.Errorf("hdb assert %s: exit %d, want %d and %q in\n%s", c.args, code, c.code, c.want, &errw)
		}
		if got, want := string(out), "read one\nread two\n"; c.code != 2 && c.code != 4 && c.code != 5 && !strings.Contains(c.args, "kill") && got != want {
			t.Errorf("hdb assert %s: output %q", c.args, got)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
			t.Errorf("hdb assert %s: %s is left behind", c.args, left[0].Name())
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 7 { // allowed, base.hdb, q.json, sum.md, tmp, work, work.c
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// TestAssertOfAPart finds nothing too much in what is left of a capture, and does
// not take that for an answer.
func TestAssertOfAPart(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.hdb")
	if out, err := exec.Command(testprogs.HDB(t), "record", "-q", "-o", whole, testprogs.Build(t, "phases")).CombinedOutput(); err != nil {
		t.Fatalf("record: %v\n%s", err, out)
	}
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "part.hdb")
	if err := os.WriteFile(part, b[:100], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--no-leaks", whole}, 3, "FAILED no-leaks: 600 bytes in 3 blocks"},
		{[]string{"--no-leaks", part}, 6, "UNDECIDED no-leaks: "},
		{[]string{"--no-leaks", "--allow-incomplete", part}, 0, "ok     no-leaks"},
		{[]string{"--max-live-growth", "0", "--since", "10%", "--allow-incomplete", part}, 0, "ok     max-live-growth"},
		{[]string{"--max-live-growth", "0", "--since", "nowhere", whole}, 2, ""},
		{[]string{"--no-leaks", filepath.Join(dir, "none")}, 4, ""},
	} {
		var out, errw bytes.Buffer
		if code := run(append([]string{"assert"}, c.args...), os.Stdin, &out, &errw); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("hdb assert %v: exit %d, want %d and %q in\n%s%s", c.args, code, c.code, c.want, &out, &errw)
		}
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := max(c.code, desk.ExitFailed) // a verdict that was not printed is lost, but for its code
		if code := run(append([]string{"assert"}, c.args...), os.Stdin, full, io.Discard); code != want {
			t.Errorf("hdb assert %v to a full disk: exit %d, want %d", c.args, code, want)
		}
		full.Close()
	}
}
