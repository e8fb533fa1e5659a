package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/testprogs"
)

// unread is the write end of a pipe that nobody reads any more.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// TestBrokenPipes has nobody read what hdb prints, on its standard output and then on both
// outputs: the exit code says so, and no text. hdb is a process of its own: the runtime of Go treats SIGPIPE of these unlike
// that of other files.
func TestBrokenPipes(t *testing.T) {
	dir := t.TempDir()
	in, partial := filepath.Join(dir, "in.hdb"), filepath.Join(dir, "partial.hdb")
	writeCapture(t, in, 100)
	b, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(partial, b[:len(b)-40], 0o666); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("IN", in, "PARTIAL", partial, "PROG", testprogs.Build(t, "basic"), "DIR", dir)
	type command struct {
		words      string
		code, both int // the exit codes
	}
	commands := []command{
		{"assert --max-allocs 1 IN", desk.ExitAssertion, desk.ExitAssertion},
		{"assert --max-allocs 100M PARTIAL", desk.ExitUndecided, desk.ExitUndecided},
		{"-nx -batch -ex assert@--max-allocs@1 open IN", desk.ExitAssertion, desk.ExitAssertion},
		{"record -o DIR/recorded.hdb -f PROG", 0, 0},
		{"assert --max-allocs 1 -- PROG", desk.ExitAssertion, desk.ExitAssertion},
		{"assert --max-allocs 100M -- PROG", 0, 1}, // the verdict is told on standard error
		{"capture trim --from 10% -f -o DIR/trimmed.hdb IN", 0, 0}, {"capture anonymize -f -o DIR/anonymous.hdb IN", 0, 0},
		{"capture repair -f -o DIR/repaired.hdb IN", 0, 0}, {"capture merge -f -o DIR/merged.hdb IN IN", 0, 0},
		{"export ndjson -f -o DIR/ndjson IN", 0, 0}, {"flamegraph -f -o DIR/page IN", 0, 0},
		{"stats NONE", 4, 4},
	}
	for _, line := range []string{
		"help", "help record", "help break", "--help", "--version", "stats IN", "summary IN", "summary --json IN", "tree IN", "timeline IN", "table -o - IN",
		"flamegraph -o - IN", "export ndjson -o - IN", "export collapsed -o - IN", "capture info IN", "capture info --json IN", "capture check IN",
		"assert --max-peak 1G IN", "doctor IN", "doctor PROG", "symbolize -e PROG 0x1000", "-nx -batch -ex help", "-nx -batch --json -ex allocs@5 open IN",
		"-nx -batch -ex live@all open IN", "-nx -batch -ex echo@text open IN", "-nx -batch -ex top open IN",
	} {
		commands = append(commands, command{line, 1, 1})
	}
	for _, word := range firstWords() {
		commands = append(commands, command{word + " --help", 1, 1})
	}
	for _, c := range commands {
		args := strings.Fields(words.Replace(c.words))
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "@", " ")
		}
		var errw bytes.Buffer
		cmd := exec.Command(testprogs.HDB(t), args...)
		cmd.Stdout, cmd.Stderr = unread(t), &errw
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code || strings.Contains(errw.String(), "broken pipe") {
			t.Errorf("%q: exit code %d, want %d, and no word of a broken pipe\n%s", args, code, c.code, &errw)
		}
		cmd = exec.Command(testprogs.HDB(t), args...)
		cmd.Stdout, cmd.Stderr = unread(t), unread(t)
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.both {
			t.Errorf("%q with both outputs: exit code %d, want %d: %v", args, code, c.both, cmd.ProcessState)
		}
	}
	var checked bytes.Buffer
	if code := run([]string{"capture", "check", filepath.Join(dir, "recorded.hdb")}, os.Stdin, &checked, &checked); code != 0 || !strings.Contains(checked.String(), "whole") {
		t.Errorf("what was recorded: exit code %d\n%s", code, &checked)
	}
}
