package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// What is read is replaced by no verb, whatever it is called and however it is
// forced; another file is by force only.
func TestOutputsReplaceNoInput(t *testing.T) {
	dir := t.TempDir()
	in, link, other := filepath.Join(dir, "in.hdb"), filepath.Join(dir, "link.hdb"), filepath.Join(dir, "other")
	writeCapture(t, in, 100)
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{
		"timeline -o OUT IN", "flamegraph -o OUT IN", "table -o OUT IN", "export pprof -o OUT IN", "export ndjson -o OUT IN",
		"assert --max-peak 1G --junit OUT IN", "assert --max-peak 1G --sarif OUT IN",
		"capture trim --from peak -o OUT IN", "capture merge IN IN -o OUT", "capture anonymize -o OUT IN", "capture repair -o OUT IN",
	} {
		for _, c := range []struct {
			out, force, want string
		}{
			{in, "-f", "is also the input"}, {link, "--force", "is also the input"}, {in, "", "is also the input"}, {other, "", "exists already"}, {other, "-f", ""},
		} {
			if err := os.WriteFile(other, []byte("other"), 0o666); err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(strings.NewReplacer("OUT", c.out, "IN", in).Replace(verb + " " + c.force))
			var out, errw bytes.Buffer
			code := run(args, os.Stdin, &out, &errw)
			if (code == 0) != (c.want == "") || !strings.Contains(errw.String(), c.want) {
				t.Errorf("hdb %s: exit %d, want %q\n%s", args, code, c.want, &errw)
			}
			if now, err := os.ReadFile(in); err != nil || !bytes.Equal(now, whole) {
				t.Fatalf("hdb %s: the capture was changed: %v", args, err)
			}
			if now, err := os.ReadFile(other); err != nil || (string(now) == "other") != (c.want != "") {
				t.Errorf("hdb %s: the other file holds %.20q, %v", args, now, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRecordingsReplaceNoProgram has the program that is recorded stay, and a file
// that was recorded before.
func TestRecordingsReplaceNoProgram(t *testing.T) {
	dir := t.TempDir()
	prog, script, kept := filepath.Join(dir, "prog"), filepath.Join(dir, "script"), filepath.Join(dir, "kept")
	b, err := os.ReadFile(testprogs.Build(t, "phases"))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{prog: b, script: []byte("#!/bin/sh\n:\n"), kept: []byte("kept")} {
		if err := os.WriteFile(path, text, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"record -f -o prog ./prog": "is also the input", "record -f -o script ./script": "is also the input", "record -o kept ./prog": "exists already",
		"assert --no-leaks -f -o prog -- ./prog": "is also the input", "assert --no-leaks -o kept -- ./prog": "exists already", "assert --no-leaks --junit kept -- ./prog": "exists already",
	} {
		cmd := exec.Command(testprogs.HDB(t), strings.Fields(args)...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitTarget || !strings.Contains(string(out), want) {
			t.Errorf("hdb %s: exit %d, want %q:\n%s", args, code, want, out)
		}
	}
	if now, err := os.ReadFile(prog); err != nil || !bytes.Equal(now, b) {
		t.Errorf("the program was changed: %v", err)
	}
}

// TestOneFileIsRecordedOnce has a recording that is under way stay what it is.
func TestOneFileIsRecordedOnce(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "same.hdb"), filepath.Join(dir, "other.hdb")
	writeCapture(t, other, 100)
	cat := exec.Command(testprogs.HDB(t), "record", "-o", file, "cat")
	var errw bytes.Buffer
	cat.Stderr = &errw
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer cat.Process.Kill()
	if _, err := io.WriteString(in, "here\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "here\n" { // it runs, and is recorded
		t.Fatalf("cat: %q, %v\n%s", line, err, &errw)
	}
	for _, args := range [][]string{
		{"record", "-f", "-o", file, "true"}, {"flamegraph", "-f", "-o", file, other}, {"capture", "trim", "--from", "peak", "-f", "-o", file, other},
		{"-nx", "-batch", "-ex", "save --force " + file, "open", other},
	} {
		text, err := exec.Command(testprogs.HDB(t), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "same.hdb: is being recorded by another hdb") {
			t.Errorf("hdb %q: %v\n%s", args, err, text)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cat.Wait(); err != nil {
		t.Fatalf("record: %v\n%s", err, &errw)
	}
	var checked bytes.Buffer
	if code := run([]string{"capture", "check", file}, os.Stdin, &checked, &checked); code != 0 || !strings.Contains(checked.String(), "whole") {
		t.Errorf("exit %d: %s", code, &checked)
	}
	checked.Reset()
	if code := run([]string{"capture", "info", file}, os.Stdin, &checked, &checked); code != 0 || !regexp.MustCompile(`, by hdb [^h]`).Match(checked.Bytes()) || !regexp.MustCompile(`, kernel [0-9]`).Match(checked.Bytes()) {
		t.Errorf("exit %d: %s", code, &checked)
	}
}

// TestLostOutputFails has standard output be full, and closed by its reader, for all
// verbs that print and for a long list of the console.
func TestLostOutputFails(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.hdb")
	writeCapture(t, in, 5000)
	prog := testprogs.Build(t, "basic")
	commands := []string{
		"help", "help record", "help break", "--help", "--version", "stats IN", "summary IN", "tree IN", "timeline IN", "table -o - IN", "flamegraph -o - IN",
		"export ndjson -o - IN", "export collapsed -o - IN", "capture info IN", "capture info --json IN", "capture check IN", "assert --max-peak 1G IN",
		"doctor IN", "doctor PROG", "symbolize -e PROG 0x1000", "-nx -batch -ex help", "-nx -batch --json -ex allocs@5 open IN", "-nx -batch -ex allocs@all open IN",
		"-nx -batch -ex live@all open IN", "-nx -batch --json -ex allocs@all open IN", "-nx -batch --json -ex live@all open IN", "-nx -batch -ex echo@text open IN", "-nx -batch -ex top open IN",
	}
	for _, word := range firstWords() {
		commands = append(commands, word+" --help")
	}
	for _, c := range commands {
		args := strings.Fields(strings.NewReplacer("IN", in, "PROG", prog).Replace(c))
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "@", " ")
		}
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var errw bytes.Buffer
		if code := run(args, os.Stdin, full, &errw); code == 0 || !strings.Contains(errw.String(), "no space left on device") {
			t.Errorf("%q into a full device: exit code %d\n%s", args, code, &errw)
		}
		full.Close()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if code := run(args, os.Stdin, w, io.Discard); code == 0 {
			t.Errorf("%q into a pipe that nobody reads: exit code %d", args, code)
		}
		w.Close()
	}
}
